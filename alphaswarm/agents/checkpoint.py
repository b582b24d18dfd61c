"""Where a run's state is kept between two nodes: one small SQLite file a run, or a PostgreSQL database."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from urllib.parse import urlsplit

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from alphaswarm.core.errors import ProviderError, SpecInvalid, StoreError

__all__ = ["DamagedCheckpoint", "checkpoint_place", "forget_old", "open_checkpoint", "set_aside_damaged"]

URL_VARIABLE = "ALPHASWARM_CHECKPOINT_URL"
LEDGER_VARIABLE = "ALPHASWARM_DB"
FILE = "checkpoint.sqlite"
SCHEMES = ("postgresql", "postgres", "postgresql+psycopg")
CONNECT_SECONDS = 10

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


def checkpoint_place(environ: Mapping[str, str], directory: Path) -> Path | str:
    """The URL of the database that keeps checkpoints, else the file in a run's `directory`.

    ``ALPHASWARM_CHECKPOINT_URL`` names it; a ledger in PostgreSQL (``ALPHASWARM_DB``) has them with it.

    Raises:
        SpecInvalid: a URL of another kind of database.
    """
    url = environ.get(URL_VARIABLE, "")
    if url and urlsplit(url).scheme not in SCHEMES:
        raise SpecInvalid(f"{URL_VARIABLE} must begin with postgresql://, got the scheme {urlsplit(url).scheme!r}")
    ledger = environ.get(LEDGER_VARIABLE, "")
    return url or (ledger if urlsplit(ledger).scheme in SCHEMES else directory / FILE)


@asynccontextmanager
async def open_checkpoint(place: Path | str) -> AsyncIterator[BaseCheckpointSaver[str]]:
    """A saver that reads plain values only: bytes in it can't make it import or run anything.

    Args:
        place: a file, or the URL of a PostgreSQL database.

    Raises:
        DamagedCheckpoint: the file's content is no checkpoint.
        StoreError: the place can't be read or written.
        ProviderError: PostgreSQL is asked for, and its client is not installed.
    """
    if isinstance(place, Path):
        async with _open_file(place) as saver:
            yield saver
    else:
        async with _open_postgres(place) as saver:
            yield saver


@asynccontextmanager
async def _open_postgres(url: str) -> AsyncIterator[BaseCheckpointSaver[str]]:
    try:
        import psycopg
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
        from psycopg.rows import dict_row
    except ImportError as error:
        raise ProviderError(
            f"checkpoints in PostgreSQL need {error.name}: pip install 'alphaswarm[services]'"
        ) from error
    parts = urlsplit(url)
    where = f"{parts.hostname or 'localhost'}{parts.path}"  # no user, no password
    plainly = parts._replace(scheme="postgresql").geturl()
    try:
        connection = await psycopg.AsyncConnection.connect(
            plainly, autocommit=True, prepare_threshold=0, row_factory=dict_row, connect_timeout=CONNECT_SECONDS
        )
        async with connection:
            saver = AsyncPostgresSaver(connection, serde=_plain())
            await saver.setup()
            yield saver
    except psycopg.Error as error:
        said = str(error).strip().splitlines()
        raise StoreError(f"the checkpoints in PostgreSQL at {where} can't be used: {said[0] if said else ''}") from None


@asynccontextmanager
async def _open_file(path: Path) -> AsyncIterator[AsyncSqliteSaver]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the run's directory can't be made: {error.strerror or error}") from error
    try:
        # A file that can't be opened is found here: the asynchronous connection would leave a thread behind.
        with closing(sqlite3.connect(path)) as first:
            first.execute("PRAGMA schema_version")
        async with aiosqlite.connect(path) as connection:
            await connection.execute("PRAGMA busy_timeout=5000")
            await connection.execute("PRAGMA synchronous=FULL")
            yield AsyncSqliteSaver(connection, serde=_plain())
    except sqlite3.Error as error:
        # An error that has no code of SQLite's is about text that is none.
        damaged = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF in DAMAGE
        kind = DamagedCheckpoint if damaged else StoreError
        raise kind(f"the run's checkpoint must be a writable SQLite file: {error}") from error


async def set_aside_damaged(
    place: Path | str, read: Callable[[BaseCheckpointSaver[str]], Awaitable[None]]
) -> Path | None:
    """Rename a checkpoint that can't be read, so that its run can begin again from the ledger.

    A database is left as it is: what of it can't be read is for its owner to look at.

    Args:
        place: of the checkpoint; none there is fine.
        read: reads what is needed of it.

    Returns:
        Where the damaged file is now; None when there is nothing wrong.

    Raises:
        StoreError: the file could not be read at all, or not be renamed.
    """
    if isinstance(place, str):
        return None
    path = place
    if not path.exists():
        return None
    try:
        async with _open_file(path) as saver:
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


async def forget_old(saver: BaseCheckpointSaver[str], run: str) -> None:
    """Drop all but the last steps of `run`, so that what is kept does not grow with the square of the run."""
    if not isinstance(saver, AsyncSqliteSaver):
        await saver.aprune([run], strategy="keep_latest")
        return
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


def _plain() -> JsonPlusSerializer:
    # Nothing outside the library's own list of harmless containers is ever built from what is kept.
    return JsonPlusSerializer(pickle_fallback=False, allowed_json_modules=None, allowed_msgpack_modules=None)
