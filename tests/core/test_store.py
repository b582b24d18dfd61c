from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, Integer, String, Table, insert, select, text

from alphaswarm.core.errors import StoreBusy, StoreError
from alphaswarm.core.store import Store, metadata

things = Table("test_things", metadata, Column("id", Integer, primary_key=True), Column("name", String))

STARTER = """
import sys
from sqlalchemy import Column, Integer, MetaData, Table, insert
from alphaswarm.core.store import Store, metadata
tables = [Table(f"t{i}", metadata, Column("id", Integer, primary_key=True)) for i in range(12)]
sys.stdin.readline()
store = Store(sys.argv[1])
with store.write() as connection:
    connection.execute(insert(tables[-1]).values())
"""


@pytest.fixture
def store(tmp_path: Path):
    store = Store(tmp_path / "s.db")
    yield store
    store.close()


def test_committed_rows_are_seen_by_another_store(store: Store, tmp_path: Path) -> None:
    with store.write() as connection:
        connection.execute(insert(things).values(name="a"))
    other = Store(tmp_path / "s.db")
    with other.read() as connection:
        assert connection.execute(select(things.c.name)).scalars().all() == ["a"]
    other.close()


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    with pytest.raises(StoreError, match="no column"), store.write() as connection:
        _insert_then_fail(connection)
    with store.read() as connection:
        assert connection.execute(select(things)).all() == []


def _insert_then_fail(connection: Connection) -> None:
    connection.execute(insert(things).values(name="a"))
    connection.execute(text("INSERT INTO test_things (absent) VALUES (1)"))


def test_writes_inside_read_are_not_kept(store: Store) -> None:
    with store.read() as connection:
        connection.execute(insert(things).values(name="a"))
    with store.read() as connection:
        assert connection.execute(select(things)).all() == []


def test_sqlite_runs_wal_with_full_sync(store: Store) -> None:
    with store.read() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2


def test_a_locked_store_says_busy(store: Store, tmp_path: Path) -> None:
    holder = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with store.read() as connection:
        connection.execute(text("PRAGMA busy_timeout=10"))  # the pooled connection keeps it
    with pytest.raises(StoreBusy, match="try again"), store.write() as connection:
        pass
    holder.close()


def test_a_full_disk_is_a_store_error_and_loses_nothing(store: Store) -> None:
    with store.write() as connection:
        connection.execute(insert(things).values(name="kept"))
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()
        connection.execute(text(f"PRAGMA max_page_count={pages + 2}"))
    with pytest.raises(StoreError, match="full"), store.write() as connection:
        connection.execute(insert(things).values(name="x" * 100_000))
    with store.write() as connection:
        connection.execute(text("PRAGMA max_page_count=1000000"))
        connection.execute(insert(things).values(name="later"))
    with store.read() as connection:
        assert connection.execute(select(things.c.name)).scalars().all() == ["kept", "later"]


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreError, match="not a database"):
        Store(tmp_path / "s.db")


def test_a_place_that_can_not_be_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="directory"):
        Store(tmp_path / "file" / "s.db")


@pytest.mark.parametrize("instead", [None, b"another file"])
def test_a_file_that_is_gone_acknowledges_nothing(store: Store, tmp_path: Path, instead: bytes | None) -> None:
    with store.write() as connection:
        connection.execute(insert(things).values(name="a"))
    for path in tmp_path.glob("s.db*"):
        path.unlink()
    if instead is not None:
        (tmp_path / "s.db").write_bytes(instead)
    with pytest.raises(StoreError, match="deleted or replaced"), store.write() as connection:
        connection.execute(insert(things).values(name="b"))
    with store.read() as connection:  # the write was taken back where it went, too
        assert connection.execute(select(things.c.name)).scalars().all() == ["a"]


def test_a_relative_path_and_memory_are_told_apart_from_a_lost_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    for url in ("s.db", "sqlite://", "sqlite:///:memory:"):
        monkeypatch.chdir(tmp_path)
        store = Store(url)
        monkeypatch.chdir(tmp_path / "elsewhere")
        with store.write() as connection:
            connection.execute(insert(things).values(name="a"))
        store.close()


def test_a_number_that_does_not_fit_is_typed(store: Store) -> None:
    with pytest.raises(StoreError, match="64 bits"), store.write() as connection:
        connection.execute(insert(things).values(id=2**64))


def test_processes_that_start_together_share_one_store(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    started = [
        subprocess.Popen([sys.executable, "-c", STARTER, str(path)], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(4)
    ]
    for process in started:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in started:
        _, error = process.communicate(timeout=60)
        assert process.returncode == 0, error.decode()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM t11").fetchone() == (4,)
    connection.close()
