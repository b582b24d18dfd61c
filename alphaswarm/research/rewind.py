"""The ledger as it was when a run began, in a directory of its own: what a replay starts from."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import make_url

from alphaswarm.core import SpecInvalid, Store, StoreError
from alphaswarm.research.judge import SETTINGS
from alphaswarm.research.runs import Run

__all__ = ["rewind"]

# Tables that only grow, each with the column that says when.
GROWING = {
    "verdicts": "created",
    "finalists": "created",
    "vault_reads": "created",
    "pool": "created",
    "selections": "opened",
    "backtests": "created",
    "other_backtests": "created",
    "notes": "created",
}


def rewind(store: Store, workspace: Path, run: Run, directory: Path) -> None:
    """Write into `directory` the ledger of `store` without what came after `run` began; `run` itself stays, open.

    What other runs kept while this one was at work is left out too: a replay then differs in what it counts.

    Args:
        store: of the project.
        workspace: its directory, whose ``gates.yaml`` is taken along.
        run: whose beginning is gone back to.
        directory: empty.

    Raises:
        SpecInvalid: the ledger is in another kind of database.
        StoreError: it can't be copied.
    """
    url = make_url(store.url)
    if url.get_backend_name() != "sqlite" or not url.database:
        raise SpecInvalid("only runs of a ledger in SQLite can be replayed")
    try:
        with (
            closing(sqlite3.connect(url.database)) as source,
            closing(sqlite3.connect(directory / "ledger.db")) as copy,
        ):
            source.backup(copy)
            _cut(copy, run)
            copy.commit()
        if (workspace / SETTINGS).exists():
            shutil.copyfile(workspace / SETTINGS, directory / SETTINGS)
    except (sqlite3.Error, OSError) as error:
        raise StoreError(f"the ledger can't be copied: {error}") from error


def _cut(copy: sqlite3.Connection, run: Run) -> None:
    # The copy may forget: what guards the ledger against that is taken off here, and here only.
    for (trigger,) in copy.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        copy.execute(f'DROP TRIGGER "{trigger}"')
    # Moments are kept as ISO text in UTC, which sorts as they do. Table and column names are the constants above.
    since = (run.started,)
    for table, column in GROWING.items():
        copy.execute(f"DELETE FROM {table} WHERE {column} >= ?", since)  # noqa: S608
    later = "SELECT id FROM trials WHERE created >= ?"
    copy.execute(f"DELETE FROM documents WHERE corpus = 'alpha_factors' AND id IN ({later})", since)  # noqa: S608
    copy.execute("DELETE FROM trials WHERE created >= ?", since)
    copy.execute(
        "DELETE FROM documents WHERE corpus = 'backtest_summaries'"
        " AND id NOT IN (SELECT id FROM backtests UNION SELECT id FROM other_backtests)"
    )
    copy.execute("DELETE FROM runs WHERE started > ?", since)
    # Whatever else belongs to what is gone: the schema says so.
    while orphans := copy.execute("PRAGMA foreign_key_check").fetchall():
        for table, row, *_ in orphans:
            copy.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))  # noqa: S608
    copy.execute(
        "UPDATE runs SET finished = NULL, outcome = NULL, trials_total = NULL, holder = NULL, expires = NULL"
        " WHERE id = ?",
        (run.id,),
    )
