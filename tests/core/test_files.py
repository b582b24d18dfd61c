"""Atomic writes: old or new, never a part."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from alphaswarm.core import StoreError, atomic_write

WRITER = """
import sys
from pathlib import Path
from alphaswarm.core.files import atomic_write
path = Path(sys.argv[1])
for number in range(1_000_000):
    atomic_write(path, str(number).encode() * 20_000)
    print(number, flush=True)
"""


def test_replaces_and_makes_directories(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file"
    atomic_write(path, b"one")
    atomic_write(path, b"two")
    assert path.read_bytes() == b"two"
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


@pytest.mark.parametrize("call", ["fsync", "open", "replace"])
def test_a_fault_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    path = tmp_path / "file"
    atomic_write(path, b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    owner = os if call == "fsync" else Path
    with monkeypatch.context() as patch:
        patch.setattr(owner, call, fail)
        with pytest.raises(StoreError, match=r"file can't be written: No space left on device"):
            atomic_write(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_the_first_fault_is_the_one_that_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "open", no_space)
    monkeypatch.setattr(Path, "unlink", read_only)
    with pytest.raises(StoreError, match="No space"):
        atomic_write(tmp_path / "file", b"new")


def test_a_place_that_can_not_be_made_is_typed(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreError, match="Not a directory"):
        atomic_write(tmp_path / "file" / "deep" / "file", b"new")


def test_a_killed_writer_leaves_a_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for lines in (1, 7, 20):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE) as writer:
            acknowledged = -1
            for _ in range(lines):
                acknowledged = int(writer.stdout.readline())
            writer.send_signal(signal.SIGKILL)
        content = path.read_bytes()
        assert len(content) % 20_000 == 0
        number = content[: len(content) // 20_000]
        assert content == number * 20_000
        assert int(number) >= acknowledged
