"""One SQL engine and transaction helper for all who keep rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, MetaData, create_engine, event, inspect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry

from alphaswarm.core.errors import StoreBusy, StoreError

__all__ = ["Store", "metadata"]

# Every table of the package is declared on this; a floor declares its own beside the code that uses them.
metadata = MetaData()

BUSY_WAIT_SECONDS = 5.0
WAL_ATTEMPTS = 100


class Store:
    """A database. SQLite runs in WAL mode with FULL sync: an acknowledged row survives a crash.

    Several processes and threads may hold one store; the tables that are missing are made at
    the start, by whoever comes first.

    Args:
        url: a path to an SQLite file, or the URL of another one. Tested with SQLite only.

    Raises:
        StoreError: the place can't be written, or holds no database.
    """

    def __init__(self, url: str | Path) -> None:
        text = str(url)
        if "://" not in text:
            try:
                Path(text).parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"a store needs a directory that can be written: {error}") from error
            text = f"sqlite:///{text}"
        self.url = text
        self._engine: Engine = create_engine(text)
        if self._engine.dialect.name == "sqlite":
            event.listen(self._engine, "connect", _sqlite_pragmas)
            event.listen(self._engine, "begin", _begin)
        database = self._engine.url.database
        is_file = self._engine.dialect.name == "sqlite" and database
        self._path = Path(str(database)).absolute() if is_file else None
        self._file: tuple[int, int] | None = None
        try:
            self._make_tables()
            self._file = self._present_file()
        except StoreError:
            self.close()
            raise

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A short transaction: committed as a whole at the end, or not at all.

        Raises:
            StoreBusy: another process kept the store locked for five seconds.
            StoreError: the store refused (disk full, damaged file, ...), or its file was deleted or replaced.
        """
        with _typed_errors(), self._engine.begin() as connection:
            yield connection
            self._check_file()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A consistent view; nothing written here is kept."""
        with _typed_errors(), self._engine.connect() as connection:
            yield connection.execution_options(alphaswarm_read=True)

    def close(self) -> None:
        """Give every connection back; the store can't be used afterwards."""
        self._engine.dispose()

    def _check_file(self) -> None:
        # SQLite writes on into a file that was deleted; who opens the path later would find none of it.
        if self._file is not None and self._present_file() != self._file:
            raise StoreError(f"{self._path} was deleted or replaced while it was open; nothing more is kept")

    def _present_file(self) -> tuple[int, int] | None:
        """Device and number of the file that lies at the store's path; None where there is none."""
        if self._path is None:
            return None
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _make_tables(self) -> None:
        with self.read() as connection:
            missing = metadata.tables.keys() - set(inspect(connection).get_table_names())
        if missing:
            # Looked up again inside the write lock: of two first starts one makes the tables.
            with self.write() as connection:
                metadata.create_all(connection)


def _sqlite_pragmas(connection: sqlite3.Connection, _record: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # we say BEGIN ourselves, below
    connection.execute(f"PRAGMA busy_timeout={int(BUSY_WAIT_SECONDS * 1000)}")
    _switch_to_wal(connection)
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    # Two first starts that both read the file can't both get it alone: SQLite then refuses one at
    # once, without waiting. An empty write transaction does wait for the other; then try again.
    for _ in range(WAL_ATTEMPTS):
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                raise
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
        else:
            return


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: waiting beats failing half-way at the first write.
    reads = connection.get_execution_options().get("alphaswarm_read", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


@contextmanager
def _typed_errors() -> Iterator[None]:
    try:
        yield
    except OverflowError as error:
        raise StoreError(f"the store keeps whole numbers of 64 bits: {error}") from error
    except DBAPIError as error:
        text = str(error.orig)
        if "locked" in text or "busy" in text:
            raise StoreBusy(f"the store stayed locked for {BUSY_WAIT_SECONDS:g} s: {text}; try again") from error
        raise StoreError(f"the store refused: {text}") from error
