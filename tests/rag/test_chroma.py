from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock, Timeout
from sqlalchemy import func, select, update

from alphaswarm.core import Store, StoreBusy
from alphaswarm.rag import Document, Memory
from alphaswarm.rag.chroma import ChromaIndex
from alphaswarm.rag.embed import EMBEDDER, STRUCTURE_SIZE
from alphaswarm.rag.embedder import HashedWords
from alphaswarm.rag.shelf import Filters
from alphaswarm.rag.store import documents

Make = Callable[..., Document]


def fill(store: Store, memory: Memory, document: Make, formulas: tuple[str, ...], copies: int = 1) -> None:
    with store.write() as connection:
        for copy in range(copies):
            for place, formula in enumerate(formulas):
                day = f"20{10 + copy % 10}-01-{1 + place:02d}"
                text = f"idea {copy} about {('price', 'volume', 'risk')[place % 3]}"
                given = document(f"{copy}-{place}", f"{formula} + {copy}" if copy else formula, text, as_of=day)
                memory.remember(given, connection)


def ids(memory: Memory, text: str) -> list[str]:
    return [found.id for found in memory.query(text).results]


def damaged(memory_dir: Path) -> Path:
    return memory_dir / f"chroma-{EMBEDDER}"


def test_reindex_needs_the_index_to_itself(
    memory: Memory, store: Store, document: Make, formulas, tmp_path: Path
) -> None:
    fill(store, memory, document, formulas)  # an empty memory opens no index
    memory.query("x")
    other = Memory(store, tmp_path / "rag")
    with pytest.raises(StoreBusy):
        other.reindex()
    assert other.stats()["index"] == "exact"


def test_reindex_renews_old_vectors(memory: Memory, store: Store, document: Make, formulas) -> None:
    fill(store, memory, document, formulas)
    with store.write() as connection:
        connection.execute(update(documents).values(embedder="old", vector=b"\x00" * 16))
    assert ids(memory, formulas[0])[0] == "0-0"
    stats = memory.reindex()
    assert stats["corpora"]["alpha_factors"] == stats["documents"] == len(formulas)
    with store.read() as connection:
        assert connection.execute(select(func.count()).where(documents.c.embedder == "old")).scalar() == 0
    assert memory.query(formulas[0]).index == "chroma"


def no_vectors(place: Path) -> None:
    for file in place.glob("*/data_level0.bin"):
        file.write_bytes(file.read_bytes()[:100])
    for directory in place.glob("*/"):
        shutil.rmtree(directory)


@pytest.mark.parametrize(
    "harm",
    [
        lambda place: (place / "chroma.sqlite3").write_bytes(b"garbage" * 999),
        lambda place: (place / "chroma.sqlite3").write_bytes(b""),
        lambda place: (place / "state.json").write_text("{"),
        lambda place: (place / "state.json").unlink(),
        lambda place: (place / "state.json").write_text('{"embedder": "other", "last": {}}'),
        lambda place: (place / "state.json").write_text(
            '{"embedder": "ast-words-2", "last": {"alpha_factors": 10000}}'
        ),
        lambda place: shutil.rmtree(place),
        no_vectors,
    ],
    ids=["garbage", "empty", "torn state", "no state", "other embedder", "state ahead", "gone", "no vectors"],
)
def test_a_damaged_index_is_rebuilt(store: Store, document: Make, formulas, tmp_path: Path, harm) -> None:
    memory = Memory(store, tmp_path / "rag")
    fill(store, memory, document, formulas)
    before = memory.query(formulas[3])
    memory.close()
    harm(damaged(tmp_path / "rag"))
    again = Memory(store, tmp_path / "rag")
    after = again.query(formulas[3])
    assert after.index == "chroma"
    assert after == before
    again.close()


def test_an_index_of_another_ledger_is_rebuilt(document: Make, formulas, tmp_path: Path) -> None:
    for name, part in (("a", formulas[:6]), ("b", formulas[6:])):
        store = Store(tmp_path / f"{name}.db")
        memory = Memory(store, tmp_path / "rag")
        fill(store, memory, document, part)
        assert memory.query(part[0]).results[0].expression == part[0]
        memory.close()
        store.close()


INDEXER = """
import sys
from pathlib import Path
from alphaswarm.core import Store
from alphaswarm.rag import Document, Memory
store = Store(Path(sys.argv[1]) / "ledger.db")
memory = Memory(store, Path(sys.argv[1]) / "rag")
for number in range(10_000):
    memory.remember(Document("alpha_factors", f"{number:05d}", text=f"word{number} idea", as_of="2012-12-31"))
    memory.query(f"word{number}")
    print(number, flush=True)
"""


def test_kill_while_indexing_loses_nothing(store: Store, tmp_path: Path) -> None:
    for wanted in (3, 40):
        with subprocess.Popen([sys.executable, "-c", INDEXER, str(tmp_path)], stdout=subprocess.PIPE) as process:
            for line in process.stdout:
                if int(line) >= wanted:
                    break
            os.kill(process.pid, signal.SIGKILL)
        memory = Memory(store, tmp_path / "rag")
        for number in range(wanted + 1):
            answer = memory.query(f"word{number}", k=1)
            assert answer.results[0].id == f"{number:05d}"
            assert answer.index == "chroma"
        memory.close()


def test_the_lock_is_held_until_closed(memory: Memory, store: Store, document: Make, formulas, tmp_path: Path) -> None:
    fill(store, memory, document, formulas)
    lock = FileLock(tmp_path / "rag" / "index.lock")
    memory.query("x")
    with pytest.raises(Timeout):
        lock.acquire(timeout=0)
    memory.close()
    lock.acquire(timeout=0)
    lock.release()


def test_a_catch_up_that_was_cut_short_is_done_again(store: Store, memory: Memory, document: Make, tmp_path) -> None:
    fill(store, memory, document, ("cs_rank(close)", "cs_rank(open)"))
    index = ChromaIndex(store, tmp_path / "rag", HashedWords())
    state = (index.directory / "state.json").read_bytes()
    with store.write() as connection:
        memory.remember(document("late", "cs_rank(volume)"), connection)
    vector = np.zeros(STRUCTURE_SIZE, np.float32)
    assert index.candidates("alpha_factors", "structure", vector, 10, Filters()) is not None
    index.close()
    (damaged(tmp_path / "rag") / "state.json").write_bytes(state)  # as if killed before it was written
    again = ChromaIndex(store, tmp_path / "rag", HashedWords())
    assert sorted(again.candidates("alpha_factors", "structure", vector, 10, Filters())) == ["0-0", "0-1", "late"]
    again.close()
    assert not damaged(tmp_path / "rag").with_name(f"{damaged(tmp_path / 'rag').name}.old").exists()


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EIO, errno.EACCES])
def test_a_disk_that_refuses_costs_the_index_not_the_answer(
    store: Store, document: Make, formulas, tmp_path: Path, monkeypatch, fault: int
) -> None:
    def refuse(*_) -> None:
        raise OSError(fault, os.strerror(fault))

    memory = Memory(store, tmp_path / "rag")
    fill(store, memory, document, formulas)
    with monkeypatch.context() as patch:
        patch.setattr("alphaswarm.rag.chroma.atomic_write", refuse)
        answer = memory.query(formulas[2])
        assert answer.index == "exact"
        assert os.strerror(fault) in answer.notice
    again = memory.query(formulas[2])
    assert again.index == "chroma"
    assert again.results == answer.results
    memory.close()


def test_an_index_that_fails_while_asked_is_rebuilt(store: Store, document: Make, formulas, tmp_path: Path) -> None:
    memory = Memory(store, tmp_path / "rag")
    fill(store, memory, document, formulas)
    before = memory.query(formulas[2])
    memory._index._client.delete_collection("alpha_factors")
    after = memory.query(formulas[2])
    assert after.index == "chroma"
    assert after == before
    memory.close()
