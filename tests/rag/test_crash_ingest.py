"""Processes that die while they remember and index, and two that start at once on one memory."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import Store, StoreBusy, make_rng
from alphaswarm.rag import Document, Memory

# A server that has everything imported hands out processes in milliseconds.
FORK = multiprocessing.get_context("forkserver")
FORK.set_forkserver_preload(["chromadb", "alphaswarm.rag", "alphaswarm.dsl", "numpy"])

# What is under way when the process is killed.
POINTS = ("opening", "writing", "indexing")
FORMULAS = ("ts_mean(close, {n})", "cs_rank(-ts_sum(returns, {n}))", "ts_corr(close, volume, {n})")


def made(number: int) -> Document:
    from alphaswarm.dsl import parse

    tree = parse(FORMULAS[number % 3].format(n=2 + number % 400))
    return Document("alpha_factors", f"{number:06d}", str(tree), tree.digest, f"idea{number}", as_of="2012-12-31")


def ingest(directory: str, first: int, point: str, out: Connection) -> None:
    """Remember one document after the other and say so after each; index them now and then."""
    os.environ["ALPHASWARM_EMBEDDER"] = "words"
    out.send("begin")
    store = Store(Path(directory) / "ledger.db")
    memory = Memory(store, Path(directory) / "rag")
    if point == "indexing":
        memory.query("price")
    for number in range(first, first + 10_000):
        memory.remember(made(number))
        out.send(number)
        if point == "indexing" and number % 3 == 0:
            memory.query(f"idea{number}", k=1)


def kill_often(tmp_path: Path, times: int) -> None:
    rng = make_rng(4, "ingest")
    Store(tmp_path / "ledger.db").close()
    acknowledged = -1
    for attempt in range(times):
        point = POINTS[attempt % len(POINTS)]
        mine, theirs = FORK.Pipe(duplex=False)
        process = FORK.Process(target=ingest, args=(str(tmp_path), acknowledged + 1, point, theirs))
        process.start()
        theirs.close()
        assert mine.recv() == "begin"
        if point == "opening":
            time.sleep(float(rng.uniform(0.0, 0.05)))
        else:
            for _ in range(int(rng.integers(1, 12))):
                acknowledged = mine.recv()
            time.sleep(float(rng.uniform(0.0, 0.03)))
        os.kill(process.pid, signal.SIGKILL)
        try:
            while True:  # what was said before the end
                acknowledged = mine.recv()
        except EOFError:
            pass
        process.join()
        mine.close()
        with sqlite3.connect(tmp_path / "ledger.db") as connection:
            ids = [row[0] for row in connection.execute("SELECT id FROM documents ORDER BY seq")]
        connection.close()
        # each acknowledged one once; at most the one under way besides
        assert ids == [f"{number:06d}" for number in range(len(ids))]
        assert acknowledged + 1 <= len(ids) <= acknowledged + 2
        acknowledged = len(ids) - 1
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    store = Store(tmp_path / "ledger.db")
    memory = Memory(store, tmp_path / "rag")
    try:
        assert memory.stats()["index"] == "chroma"
        assert memory.stats()["documents"] == acknowledged + 1
        for number in range(0, acknowledged + 1, max(1, acknowledged // 50)):
            found = memory.query(f"idea{number}", k=1)
            assert (found.index, found.results[0].id) == ("chroma", f"{number:06d}")
    finally:
        memory.close()
        store.close()


def test_thirty_kills_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path, 30)


@pytest.mark.slow
def test_three_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    kill_often(tmp_path, 300)


def start(directory: str, gate: object, number: int, out: Connection) -> None:
    """Open the index at the gate; say who got it, keep it for a moment, and ask it something."""
    os.environ["ALPHASWARM_EMBEDDER"] = "words"
    store = Store(Path(directory) / "ledger.db")
    memory = Memory(store, Path(directory) / "rag")
    gate.wait()
    memory.remember(made(number))
    answer = memory.query(f"idea{number}", k=3)
    refused = ""
    if answer.index == "exact":
        try:
            memory.reindex()
        except StoreBusy as error:
            refused = str(error)
    out.send(json.dumps([answer.index, answer.notice, refused, [hit.id for hit in answer.results]]))
    gate.wait()
    memory.close()
    store.close()


def start_twice(tmp_path: Path, times: int) -> None:
    for attempt in range(times):
        gate = FORK.Barrier(2)
        pipes, processes = [], []
        for side in range(2):
            mine, theirs = FORK.Pipe(duplex=False)
            processes.append(FORK.Process(target=start, args=(str(tmp_path), gate, 2 * attempt + side, theirs)))
            processes[-1].start()
            theirs.close()
            pipes.append(mine)
        said = [json.loads(pipe.recv()) for pipe in pipes]
        for process, pipe in zip(processes, pipes, strict=True):
            process.join()
            pipe.close()
            assert process.exitcode == 0
        assert sorted(index for index, *_ in said) == ["chroma", "exact"]
        ((_, notice, refused, _),) = [entry for entry in said if entry[0] == "exact"]
        assert "another process" in notice
        assert "another process" in refused
        assert [entry[3][0] for entry in said] == [f"{2 * attempt + side:06d}" for side in range(2)]
    assert not list((tmp_path / "rag").glob("*.old"))  # nothing was ever damaged
    store = Store(tmp_path / "ledger.db")
    memory = Memory(store, tmp_path / "rag")
    assert memory.stats()["documents"] == 2 * times
    assert np.all([memory.query(f"idea{n}", k=1).results[0].id == f"{n:06d}" for n in range(2 * times)])
    assert memory.stats()["index"] == "chroma"
    memory.close()
    store.close()


def test_of_two_starts_one_gets_the_index(tmp_path: Path) -> None:
    start_twice(tmp_path, 5)


@pytest.mark.slow
def test_fifty_starts_of_two(tmp_path: Path) -> None:
    start_twice(tmp_path, 50)
