"""The ledger's tables. What was tried, said and judged is only ever added to; the database itself refuses more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    event,
    inspect,
)
from sqlalchemy.dialects import postgresql, sqlite

from alphaswarm.core.store import Store, metadata

__all__ = [
    "add_columns",
    "backtests",
    "finalists",
    "insert_once",
    "lineages",
    "notes",
    "other_backtests",
    "pool",
    "runs",
    "selections",
    "series",
    "settings",
    "trials",
    "vault_reads",
    "verdicts",
    "windows",
]

KEY = String(64)  # sha256 in hexadecimal

# What was decided when the workspace was made.
settings = Table(
    "settings", metadata, Column("name", String(40), primary_key=True), Column("value", String(200), nullable=False)
)

# Which data a panel holds, each time that they are new, and to which older data they belong.
lineages = Table(
    "lineages",
    metadata,
    Column("panel", String(200), primary_key=True),
    Column("panel_digest", KEY, primary_key=True),
    Column("lineage", String(200), nullable=False, index=True),  # name of the first panel of these data
    Column("symbols", LargeBinary, nullable=False),  # zlib of a JSON list, in the order of the columns
    Column("dates", LargeBinary, nullable=False),  # zlib of int64 nanoseconds, in the order of the rows
    Column("cells", LargeBinary, nullable=False),  # zlib of packed bits by row: whether a cell is there
    Column("created", String(40), nullable=False),
)

# Fixed per lineage at first use: first and last dates, YYYY-MM-DD, both included.
windows = Table(
    "windows",
    metadata,
    Column("panel", String(200), primary_key=True),
    Column("role", String(20), primary_key=True),
    Column("start", String(10), nullable=False),
    Column("end", String(10), nullable=False),
)

# Windows that finalists are judged on; number 1 is the selection of `windows`, later ones hold later rows.
selections = Table(
    "selections",
    metadata,
    Column("lineage", String(200), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("start", String(10), nullable=False),
    Column("end", String(10), nullable=False),
    Column("opened", String(40), nullable=False),
    Column("reason", Text, nullable=False),
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
    Column("strength", Float),  # |t| by which trials are ordered: of the residual evidence, else of the RankIC
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

# Backtests of weights that no trial stands for: a file's, a baseline's, the pool's.
other_backtests = Table(
    "other_backtests",
    metadata,
    Column("id", KEY, primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("body", Text, nullable=False),
    Column("created", String(40), nullable=False),
)

# The daily figures of an evaluated trial by row of its window: each blob is zlib of float64, NaN where missing.
series = Table(
    "series",
    metadata,
    Column("trial", KEY, ForeignKey("trials.id"), primary_key=True),
    Column("gross", LargeBinary, nullable=False),
    Column("turnover", LargeBinary, nullable=False),
    Column("neutral", LargeBinary, nullable=False),
)

# What was ever sent to a selection window, written before it is judged there; `k` counts it and all before it.
finalists = Table(
    "finalists",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("key", KEY, nullable=False, unique=True),
    Column("lineage", String(200), nullable=False),
    Column("selection", Integer, nullable=False),
    Column("digest", KEY, nullable=False),
    Column("horizon", Integer, nullable=False),
    Column("fill", String(20), nullable=False),
    Column("sign", Integer, nullable=False),
    Column("k", Integer, nullable=False),
    Column("run", String(20), ForeignKey("runs.id")),
    Column("body", Text, nullable=False),  # what was said of it before: the verdict is completed from this
    Column("created", String(40), nullable=False),
    Index("finalists_of_selection", "lineage", "selection"),
    sqlite_autoincrement=True,
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("key", KEY, nullable=False, unique=True),
    Column("trial", KEY, ForeignKey("trials.id"), nullable=False),
    Column("run", String(20), ForeignKey("runs.id")),
    Column("body", Text, nullable=False),
    Column("created", String(40), nullable=False),
    Index("verdicts_of_trial", "trial", "seq"),
    sqlite_autoincrement=True,
)

# What happened to the pool, in order; its content is what the events amount to.
pool = Table(
    "pool",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("key", KEY, nullable=False, unique=True),
    Column("event", String(20), nullable=False),
    Column("lineage", String(200), nullable=False),
    Column("trial", KEY, ForeignKey("trials.id")),
    Column("body", Text, nullable=False),
    Column("created", String(40), nullable=False),
    sqlite_autoincrement=True,
)

# Every look into a vault; the key says what was released, so that the second look is refused.
vault_reads = Table(
    "vault_reads",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("key", KEY, nullable=False, unique=True),
    Column("lineage", String(200), nullable=False),
    Column("body", Text, nullable=False),
    Column("created", String(40), nullable=False),
    sqlite_autoincrement=True,
)


def add_columns(store: Store) -> None:
    """Give a ledger that an earlier version made the columns that it lacks; they are empty in old rows."""
    with store.read() as connection:
        lacking = _lacks_strength(connection)
    if lacking:
        with store.write() as connection:
            if _lacks_strength(connection):  # nobody else came first
                connection.exec_driver_sql("ALTER TABLE trials ADD COLUMN strength FLOAT")


def insert_once(connection: Connection, table: Table, row: Mapping[str, Any]) -> bool:
    """Insert unless the key is there; whether it was inserted."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    return bool(connection.execute(dialect.insert(table).values(dict(row)).on_conflict_do_nothing()).rowcount)


def _lacks_strength(connection: Connection) -> bool:
    return trials.c.strength.name not in {column["name"] for column in inspect(connection).get_columns(trials.name)}


def _forbid_changes(table: Table, connection: Connection, **_: Any) -> None:
    if connection.dialect.name != "sqlite":
        return
    for change in ("UPDATE", "DELETE"):
        connection.exec_driver_sql(
            f"CREATE TRIGGER {table.name}_no_{change.lower()} BEFORE {change} ON {table.name} "
            f"BEGIN SELECT RAISE(ABORT, '{table.name} are append-only'); END"
        )


for _table in (
    lineages,
    selections,
    trials,
    notes,
    backtests,
    other_backtests,
    series,
    finalists,
    verdicts,
    pool,
    vault_reads,
):
    event.listen(_table, "after_create", _forbid_changes)
