"""Where a run's state is kept between two nodes: one small SQLite file a run."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from alphaswarm.core.errors import StoreError

__all__ = ["forget_old", "open_checkpoint"]

# Steps that stay readable; a run needs the last one only, and each holds the whole state.
KEPT_STEPS = 16


@asynccontextmanager
async def open_checkpoint(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    """A saver that reads plain values only: bytes in the file can't make it import or run anything.

    Raises:
        StoreError: the file can't be read or written as a checkpoint.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
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
        raise StoreError(f"the run's checkpoint must be a writable SQLite file: {error}") from error


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
