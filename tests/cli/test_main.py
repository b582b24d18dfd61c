"""The program as a program: quick help, `python -m`, exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

import alphaswarm
from alphaswarm.cli.exit_codes import ExitCode
from alphaswarm.core import Reason

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

HEAVY = ("numpy", "pandas", "numba", "scipy", "sqlalchemy", "chromadb", "mcp", "langgraph", "openai")


def test_python_m_and_help() -> None:
    done = subprocess.run([sys.executable, "-m", "alphaswarm", "--help"], capture_output=True, text=True, check=True)
    for group in ("agent", "alpha", "backtest", "data", "mcp", "rag", "init", "report", "doctor"):
        assert group in done.stdout
    assert done.stderr == ""


def test_the_version_is_told(shell: Shell) -> None:
    outcome = shell("--version")
    assert (outcome.code, outcome.out, outcome.err) == (0, f"{alphaswarm.__version__}\n", "")


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; sys.argv = ['alphaswarm', '--help']\n"
        "from alphaswarm.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_no_arguments_shows_help() -> None:
    done = subprocess.run([sys.executable, "-m", "alphaswarm"], capture_output=True, text=True, check=False)
    assert "Usage" in done.stdout + done.stderr
    assert done.returncode in {0, 2}


USAGE = [
    ("agent", "run", "--budget", "0"),
    ("agent", "run", "--budget", "1e3"),
    ("agent", "run", "--budget", "99999999"),
    ("agent", "run", "--seed", "18446744073709551615"),
    ("agent", "run", "--seed", "-1"),
    ("agent", "run", "--panl", "tiny"),
    ("agent", "nothing"),
    ("agent",),
    ("alpha", "list", "--limit", "18446744073709551615"),
    ("nothing",),
    ("report",),
    ("report", "r0001", "r0002"),
    ("mcp", "serve"),
    (),
]


@pytest.mark.parametrize("arguments", USAGE)
def test_a_usage_error_is_a_document_too(shell: Shell, arguments: tuple[str, ...]) -> None:
    outcome = shell(*arguments, "--json")
    assert outcome.code == ExitCode.USAGE
    assert outcome.json["error"]["reason"] == Reason.ARGUMENT_INVALID
    assert outcome.json["error"]["message"]
    assert outcome.err == ""
    assert not Path(".alphaswarm").exists()


def test_a_usage_error_for_people_is_on_stderr(shell: Shell) -> None:
    outcome = shell("agent", "run", "--budget", "0")
    assert outcome.code == ExitCode.USAGE
    assert outcome.out == ""
    assert "Usage: " in outcome.err
    assert "--budget" in outcome.err


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_what_the_system_refuses_is_typed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alphaswarm.data.load_table", raising(OSError(28, "No space left on device", "/a/b.csv")))
    outcome = shell("data", "import", "x.csv", "--name", "x", "--json")
    assert outcome.code == ExitCode.PROVIDER
    assert outcome.json["error"] == {
        "reason": "STORE",
        "message": "the system refused: /a/b.csv: No space left on device",
    }
    text = shell("data", "import", "x.csv", "--name", "x")
    assert (text.code, text.out) == (ExitCode.PROVIDER, "")
    assert text.err == "STORE: the system refused: /a/b.csv: No space left on device\n"


def test_a_disk_that_is_full_while_writing_is_typed(
    shell: Shell, market_file: Path, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = shell("agent", "run", "--panel", tiny, "--budget", "2", "--json").json
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", raising(OSError(28, "No space left on device")))
        for command in (("report", body["run_id"]), ("data", "import", str(market_file), "--name", "other")):
            outcome = shell(*command, "--json")
            assert outcome.code == ExitCode.PROVIDER
            assert outcome.json["error"]["reason"] == "STORE"
            assert "No space left on device" in outcome.json["error"]["message"]
    assert shell("report", body["run_id"], "--json").code == 0


def test_a_workspace_that_can_not_be_written_is_typed(shell: Shell, market_file: Path) -> None:
    Path("file").write_text("in the way")
    for command in (("agent", "list"), ("data", "import", str(market_file), "--name", "other")):
        outcome = shell(*command, "--workspace", "file/ws", "--json")
        assert outcome.code == ExitCode.PROVIDER
        assert "Not a directory" in outcome.json["error"]["message"]


def test_a_fault_of_ours_is_a_document_and_a_traceback(shell: Shell, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("alphaswarm.data.load_table", raising(ZeroDivisionError("ours")))
    with pytest.raises(ZeroDivisionError):
        shell("data", "import", "x.csv", "--name", "x", "--json")
    assert json.loads(capsys.readouterr().out)["error"]["reason"] == Reason.INTERNAL


@pytest.mark.parametrize("stop", [KeyboardInterrupt(), typer.Abort()])
def test_ctrl_c_anywhere_is_5(shell: Shell, monkeypatch: pytest.MonkeyPatch, stop: BaseException) -> None:
    monkeypatch.setattr("alphaswarm.data.load_table", raising(stop))
    outcome = shell("data", "import", "x.csv", "--name", "x", "--json")
    assert outcome.code == ExitCode.PARTIAL
    assert outcome.json["error"]["reason"] == Reason.INTERRUPTED
    assert outcome.err == ""
    text = shell("data", "import", "x.csv", "--name", "x")
    assert (text.code, text.out) == (ExitCode.PARTIAL, "")
    assert text.err.startswith("INTERRUPTED: ")


@pytest.mark.parametrize("module", ["typer", "alphaswarm.cli.app", "numpy", "sqlalchemy"])
def test_ctrl_c_while_loading_is_5(module: str) -> None:
    program = (
        "import sys\n"
        "class Interrupts:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupts())\n"
        "sys.argv = ['alphaswarm', 'agent', 'list', '--json']\n"
        "from alphaswarm.cli.main import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.PARTIAL, done.stderr
    assert json.loads(done.stdout)["error"]["reason"] == "INTERRUPTED"
    assert done.stderr == ""
