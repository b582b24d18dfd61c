"""The ledger's tables. Trials and notes are only ever added to; the database itself refuses more."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Connection, Float, ForeignKey, Index, Integer, String, Table, Text, event

from alphaswarm.core.store import metadata

__all__ = ["backtests", "notes", "runs", "settings", "trials", "windows"]

KEY = String(64)  # sha256 in hexadecimal

# What was decided when the workspace was made.
settings = Table(
    "settings", metadata, Column("name", String(40), primary_key=True), Column("value", String(200), nullable=False)
)

# Fixed per panel name at first use: first and last dates, YYYY-MM-DD, both included.
windows = Table(
    "windows",
    metadata,
    Column("panel", String(200), primary_key=True),
    Column("role", String(20), primary_key=True),
    Column("start", String(10), nullable=False),
    Column("end", String(10), nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", String(20), nullable=False, unique=True),
    Column("panel", String(200), nullable=False),
    Column("panel_digest", KEY, nullable=False),
    Column("horizon", Integer, nullable=False),
    Column("fill", String(20), nullable=False),
    Column("proposer", String(40), nullable=False),
    Column("budget", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("intent", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("started", String(40), nullable=False),
    Column("finished", String(40)),
    Column("outcome", Text),
    Column("trials_total", Integer),  # N when the run ended: later trials don't move its hurdle
    Column("holder", String(300)),  # who holds the lease, and until when (seconds since 1970)
    Column("expires", Float),
)

trials = Table(
    "trials",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("id", KEY, nullable=False, unique=True),
    Column("status", String(20), nullable=False),
    Column("text", Text, nullable=False),  # as first proposed, escaped to ASCII
    Column("expression", Text, nullable=False),
    Column("digest", KEY, nullable=False),
    Column("panel", String(200), nullable=False),
    Column("panel_digest", KEY, nullable=False),
    Column("horizon", Integer, nullable=False),
    Column("fill", String(20), nullable=False),
    Column("role", String(20), nullable=False),
    Column("start", String(10), nullable=False),
    Column("end", String(10), nullable=False),
    Column("as_of", String(10), nullable=False),  # last market date looked at
    Column("evidence", Text),
    Column("rank_ic_t", Float),
    Column("warnings", Text, nullable=False),
    Column("reason", String(40)),
    Column("message", Text),
    Column("place", Integer),
    Column("first_run", String(20), ForeignKey("runs.id")),
    Column("created", String(40), nullable=False),
    Index("trials_of_panel", "panel", "digest", "horizon", "fill"),
    Index("trials_by_digest", "digest"),
    sqlite_autoincrement=True,
)

# What was said about a trial, by whom; keyed by content, so that saying it again does nothing.
notes = Table(
    "notes",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("key", KEY, nullable=False, unique=True),
    Column("trial", KEY, ForeignKey("trials.id"), nullable=False),
    Column("run", String(20), ForeignKey("runs.id")),
    Column("source", Text, nullable=False),
    Column("rationale", Text, nullable=False),
    Column("critique", Text, nullable=False),
    Column("parents", Text, nullable=False),
    Column("created", String(40), nullable=False),
    Index("notes_of_trial", "trial", "seq"),
    Index("notes_of_run", "run", "seq"),
    sqlite_autoincrement=True,
)

backtests = Table(
    "backtests",
    metadata,
    Column("id", KEY, primary_key=True),
    Column("trial", KEY, ForeignKey("trials.id"), nullable=False),
    Column("body", Text, nullable=False),
    Column("created", String(40), nullable=False),
)


def _forbid_changes(table: Table, connection: Connection, **_: Any) -> None:
    if connection.dialect.name != "sqlite":
        return
    for change in ("UPDATE", "DELETE"):
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table.name}_no_{change.lower()} BEFORE {change} ON {table.name} "
            f"BEGIN SELECT RAISE(ABORT, '{table.name} are append-only'); END"
        )


for _table in (trials, notes, backtests):
    event.listen(_table, "after_create", _forbid_changes)
