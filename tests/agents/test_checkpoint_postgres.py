"""The same run with its state in a real PostgreSQL, which many projects may share."""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from alphaswarm.agents.checkpoint import checkpoint_place, open_checkpoint
from alphaswarm.core import SpecInvalid, StoreError


def programs() -> Path:
    """Where PostgreSQL's own programs are."""
    found = shutil.which("pg_ctl")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not places:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    return places[-1]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """The URL of a server of our own, on this machine only."""
    pytest.importorskip("langgraph.checkpoint.postgres", reason="needs alphaswarm[services]")
    bin_ = programs()
    user: dict[str, Any] = {}
    if os.geteuid() == 0:  # it refuses to run as root
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("root can't run PostgreSQL, and there is no user postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    directory = Path(tempfile.mkdtemp(prefix="pg"))  # a socket's path must be short
    if user:
        shutil.chown(directory, "postgres")
    data = directory / "d"

    def call(program: str, *arguments: str) -> None:
        subprocess.run(
            [bin_ / program, "-D", data, *arguments], check=True, cwd=directory, stdout=subprocess.DEVNULL, **user
        )

    try:
        call("initdb", "-A", "trust", "-U", "postgres", "--no-sync")
        options = f"-p {port} -k {directory} -c listen_addresses=127.0.0.1 -c fsync=off"
        call("pg_ctl", "-o", options, "-l", str(directory / "log"), "-w", "start")
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            call("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def test_a_run_kept_there_is_stopped_and_goes_on_as_if_it_had_not_been(
    new_study: Callable[[], Any], postgres: str
) -> None:
    whole_study, study = new_study(), new_study()
    whole = whole_study.research(whole_study.start(budget=12))

    def stop(researcher: Any, event: dict[str, Any]) -> None:
        if event["phase"] == "evaluate" and event["round"] == 1:
            researcher.stop()

    run = study.start(budget=12)
    there = {"checkpoint": postgres, "thread": "project a: r0001"}
    stopped = study.research(run, watch=stop, **there)
    assert stopped["outcome"] == "stopped"
    assert not (study.workspace.path / "runs" / run / "checkpoint.sqlite").exists()
    resumed = study.research(run, **there)
    assert resumed["candidates"] == whole["candidates"]
    assert resumed["counts"] == whole["counts"]
    assert study.research(run, **there) == resumed
    # Another project's run of the same id is another thread.
    other = new_study()
    assert other.research(other.start(budget=2), checkpoint=postgres, thread="project b: r0001")["counts"]["new"] == 2


def test_old_steps_are_forgotten_and_bytes_there_run_nothing(
    new_study: Callable[[], Any], postgres: str, tmp_path: Path
) -> None:
    import psycopg

    study = new_study()
    study.research(study.start(budget=12), checkpoint=postgres, thread="c")
    with psycopg.connect(postgres) as rows:
        (steps,) = rows.execute("SELECT count(*) FROM checkpoints WHERE thread_id = 'c'").fetchone() or (0,)
        kinds = {kind for (kind,) in rows.execute("SELECT DISTINCT type FROM checkpoint_blobs WHERE thread_id = 'c'")}
    assert steps < 30
    assert kinds <= {"msgpack", "empty", "null"}

    async def load() -> None:
        async with open_checkpoint(postgres) as saver:
            with pytest.raises(NotImplementedError):
                saver.serde.loads_typed(("pickle", b"cos\nsystem\n(S'true'\ntR."))

    asyncio.run(load())


def test_a_server_that_is_not_there_is_a_typed_error_without_the_password() -> None:
    pytest.importorskip("langgraph.checkpoint.postgres", reason="needs alphaswarm[services]")

    async def go() -> None:
        async with open_checkpoint("postgresql+psycopg://me:secret-word@127.0.0.1:9/runs"):
            pass

    with pytest.raises(StoreError, match=r"at 127\.0\.0\.1/runs can't be used") as caught:
        asyncio.run(go())
    assert "secret-word" not in str(caught.value)


def test_where_checkpoints_are(tmp_path: Path) -> None:
    file = tmp_path / "checkpoint.sqlite"
    assert checkpoint_place({}, tmp_path) == file
    assert checkpoint_place({"ALPHASWARM_DB": "ledger.db"}, tmp_path) == file
    url = "postgresql://host/runs"
    assert checkpoint_place({"ALPHASWARM_DB": url}, tmp_path) == url
    assert checkpoint_place({"ALPHASWARM_DB": "x.db", "ALPHASWARM_CHECKPOINT_URL": url}, tmp_path) == url
    with pytest.raises(SpecInvalid, match=r"postgresql://, got the scheme 'mysql'"):
        checkpoint_place({"ALPHASWARM_CHECKPOINT_URL": "mysql://host/runs"}, tmp_path)
