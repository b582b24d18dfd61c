"""Where a run's state is kept between two nodes: one small SQLite file a run."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from alphaswarm.core.errors import StoreError

__all__ = ["DamagedCheckpoint", "forget_old", "open_checkpoint", "set_aside_damaged"]

# Steps that stay readable; a run needs the last one only, and each holds the whole state.
KEPT_STEPS = 16
# What SQLite says of a file that is no database, no longer one, or another program's. Any other code is about
# the surroundings: the file may be whole.
DAMAGE = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_FORMAT,
        sqlite3.SQLITE_NOTADB,
    }
)
# What reading plain values from bytes that are none may raise.
NO_VALUES = (ValueError, TypeError, LookupError, AttributeError, NotImplementedError, RecursionError)


class DamagedCheckpoint(StoreError):
    """The file can be read, but not as a checkpoint."""


@asynccontextmanager
async def open_checkpoint(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """A saver that reads plain values only: bytes in the file can't make it import or run anything.

    Raises:
        DamagedCheckpoint: the file's content is no checkpoint.
        StoreError: the file can't be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the run's directory can't be made: {error.strerror or error}") from error
    # Nothing outside the library's own list of harmless containers is ever built from the file.
    plain = JsonPlusSerializer(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)
    try:
        # A file that can't be opened is found here: the asynchronous connection would leave a thread behind.
        with closing(sqlite3.connect(path)) as first:
            first.execute("PRAGMA schema_version")
        async with aiosqlite.connect(path) as connection:
            await connection.execute("PRAGMA busy_timeout=5000")
            await connection.execute("PRAGMA synchronous=FULL")
            yield AsyncSqliteSaver(connection, serde=plain)
    except sqlite3.Error as error:
        # An error that has no code of SQLite's is about text that is none.
        damaged = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in DAMAGE
        kind = DamagedCheckpoint if damaged else StoreError
        raise kind(f"the run's checkpoint must be a writable SQLite file: {error}") from error


async def set_aside_damaged(path: Path, read: Callable[[AsyncSqliteSaver], Awaitable[None]]) -> Path | None:
    """Rename a checkpoint that can't be read, so that its run can begin again from the ledger.

    Args:
        path: of the checkpoint; none there is fine.
        read: reads what is needed of it.

    Returns:
        Where the damaged file is now; None when there is nothing wrong.

    Raises:
        StoreError: the file could not be read at all, or not be renamed.
    """
    if not path.exists():
        return None
    try:
        async with open_checkpoint(path) as saver:
            async with saver.conn.execute("PRAGMA quick_check(1)") as found:
                if await found.fetchone() != ("ok",):
                    raise DamagedCheckpoint("pages of the run's checkpoint are damaged")
            await read(saver)
    except (DamagedCheckpoint, *NO_VALUES):
        aside = path.with_name(f"{path.name}.damaged")
        try:
            # What belongs to the file goes first: left behind, it would be taken for the next one's.
            for suffix in ("-wal", "-shm", "-journal", ""):
                part = path.with_name(path.name + suffix)
                if part.exists():
                    part.replace(aside.with_name(aside.name + suffix))
        except OSError as error:
            raise StoreError(f"a damaged checkpoint can't be renamed: {error.strerror or error}") from error
        return aside
    return None


async def forget_old(saver: AsyncSqliteSaver, run: str) -> None:
    """Drop all but the last steps of `run`, so that the file does not grow with the square of the run."""
    async with saver.lock:
        cursor = await saver.conn.execute(
            "SELECT checkpoint_id FROM checkpoints WHERE thread_id=? ORDER BY checkpoint_id DESC LIMIT 1 OFFSET ?",
            (run, KEPT_STEPS),
        )
        row = await cursor.fetchone()
        if row is None:
            return
        for table in ("writes", "checkpoints"):
            # Table names are the two constants above.
            await saver.conn.execute(f"DELETE FROM {table} WHERE thread_id=? AND checkpoint_id<=?", (run, row[0]))  # noqa: S608
        await saver.conn.commit()
