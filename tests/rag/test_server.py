"""The index on a real Chroma server: `chroma run` on 127.0.0.1."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from alphaswarm.core import SpecInvalid, Store
from alphaswarm.rag import Document, Memory

Make = Callable[..., Document]
WAIT_SECONDS = 60.0


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own, gone afterwards."""
    command = Path(sys.executable).with_name("chroma")
    if not command.exists():
        pytest.skip("there is no command 'chroma' beside this Python")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    where = tmp_path_factory.mktemp("server")
    with (where / "log").open("wb") as log:
        process = subprocess.Popen(
            [command, "run", "--path", str(where / "data"), "--host", "127.0.0.1", "--port", str(port)],
            stdout=log,
            stderr=log,
            cwd=where,
        )
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(int(WAIT_SECONDS / 0.2)):
            try:
                httpx.get(f"{address}/api/v2/heartbeat", timeout=2)
                break
            except httpx.HTTPError:
                if process.poll() is not None:
                    pytest.fail((where / "log").read_text())
                time.sleep(0.2)
        else:
            pytest.fail(f"the server did not answer: {(where / 'log').read_text()}")
        yield address
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(where / "data", ignore_errors=True)


@pytest.fixture
def on_server(url: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("ALPHASWARM_CHROMA_URL", url)
    return url


def test_several_share_a_server_and_answer_alike(
    on_server: str, store: Store, document: Make, formulas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Memory(store, tmp_path / "rag"), Memory(store, tmp_path / "rag")
    for place, formula in enumerate(formulas):
        (first, second)[place % 2].remember(document(str(place), formula, f"idea {place}"))
    for question in (*formulas, "idea 7", "volatility"):
        answers = [memory.query(question, k=4) for memory in (first, second)]
        assert [answer.index for answer in answers] == ["chroma server"] * 2
        assert answers[0] == answers[1]
    first.remember(replace(document("0", formulas[0], "pears"), as_of="2013-01-01"))
    assert second.query("pears").results[0].id == "0"
    assert second.query("pears", as_of="2012-12-31").results == ()
    monkeypatch.delenv("ALPHASWARM_CHROMA_URL")
    exact = Memory(store, tmp_path / "other")
    assert exact.query(formulas[3], k=4).results == second.query(formulas[3], k=4).results
    for memory in (first, second, exact):
        memory.close()


def test_workspaces_on_one_server_are_apart(on_server: str, document: Make, tmp_path: Path) -> None:
    for name in ("a", "b"):
        store = Store(tmp_path / name / "ledger.db")
        memory = Memory(store, tmp_path / name / "rag")
        memory.remember(document(name, "cs_rank(close)", "same words"))
        assert [found.id for found in memory.query("same words").results] == [name]
        assert memory.query("same words").index == "chroma server"
        memory.close()
        store.close()


def test_what_was_lost_on_the_server_is_made_again(
    on_server: str, store: Store, document: Make, tmp_path: Path
) -> None:
    first, second = Memory(store, tmp_path / "rag"), Memory(store, tmp_path / "rag")
    first.remember(document("1", "cs_rank(close)", "apples"))
    assert second.query("apples").index == first.query("apples").index == "chroma server"
    for collection in first._index._client.list_collections():
        first._index._client.delete_collection(collection.name)
    for memory in (first, second, first):
        answer = memory.query("apples")
        assert (answer.index, answer.results[0].id) == ("chroma server", "1")
    assert first.reindex()["index"] == "chroma server"
    assert second.query("apples").results[0].id == "1"
    first.close()
    second.close()


def test_a_server_that_is_not_there_costs_the_index_only(
    store: Store, document: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and never listened on
        monkeypatch.setenv("ALPHASWARM_CHROMA_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        memory = Memory(store, tmp_path / "rag")
        memory.remember(document("1", "cs_rank(close)", "apples"))
        answer = memory.query("apples")
        assert (answer.index, answer.results[0].id) == ("exact", "1")
        assert "failed" in answer.notice
        memory.close()


@pytest.mark.parametrize("bad", ["127.0.0.1:8000", "ftp://127.0.0.1", "http://user:key@127.0.0.1:8000", "http:///x"])
def test_what_is_no_address(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str) -> None:
    monkeypatch.setenv("ALPHASWARM_CHROMA_URL", bad)
    with pytest.raises(SpecInvalid, match="must look like") as refused:
        Memory(store, tmp_path / "rag").stats()
    assert "key" not in str(refused.value)
