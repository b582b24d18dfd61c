"""`BacktestRecord`: a backtest on the search window, kept under its content key."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, select

from alphaswarm.core import Clock, Store, Summary, UnknownName, canonical_json
from alphaswarm.research.tables import backtests, insert_once, other_backtests
from alphaswarm.research.trial import TrialWindow

__all__ = ["BacktestRecord", "Backtests", "Position"]

SHORTEST_PREFIX = 4
CURVES = {"dates", "equity", "turnover", "gross", "net", "costs"}


class Position(BaseModel):
    """What was held in one symbol, as fractions of equity; shorts are negative."""

    model_config = ConfigDict(frozen=True)

    symbol: str
    mean: float = Field(description="mean of the window's days")
    last: float
    most: float = Field(description="the largest in absolute value")


class BacktestRecord(BaseModel):
    """Weights held over the search window: an expression's, the pool's, a file's or a baseline's.

    The daily figures are of the close of each of `dates`, in units of the starting capital where they are
    money; `equity` starts from 1, `turnover` is by day, both sides, drift included.
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="key of what was run: whose weights, panel, window, rule, engine and all its settings")
    kind: Literal["expression", "pool", "weights", "baseline"] = "expression"
    name: str = Field("", description="what is held, in a few words")
    trial: str | None = Field(description="the trial of an expression; weights of other origin have none")
    expression: str
    digest: str = Field(description="of the expression, the pool's content, or the file's weights")
    panel: str
    panel_digest: str
    window: TrialWindow
    as_of: str
    horizon: int | None = Field(description="rows of the label; null where no factor is held")
    fill: str
    cost_bp: float | None = Field(description="of a traded dollar; null where costs are not proportional")
    engine: str
    rule: dict[str, Any] = Field({}, description="from the factor to weights")
    settings: dict[str, Any] = Field({}, description="of the engine, every one that changes the result")
    words: str = Field("", description="how it was held and traded, in one line")
    periods: float = Field(252.0, description="rows in a year, from the panel's calendar")
    metrics: dict[str, float | None]
    dates: list[str]
    equity: list[float]
    turnover: list[float]
    gross: list[float] = []
    net: list[float] = []
    costs: list[float] = []
    positions: list[Position] = Field([], description="those that were the largest on average")
    fills: int = Field(0, description="orders filled; an engine that trades fractions of equity places none")
    decisions: int = Field(0, description="rows on which weights were decided")
    decisions_digest: str = Field("", description="sha256 of the log of w_t, the same on paper and live")
    result_digest: str
    warnings: list[str]

    @property
    def title(self) -> str:
        """What is held, for people."""
        return self.name or self.expression

    def summary(self) -> Summary:
        """The record without its curves."""
        return Summary("backtest", self.model_dump(mode="json", exclude=CURVES | {"positions"}))


class Backtests:
    """The stored backtests of a workspace."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def get(self, prefix: str) -> BacktestRecord:
        """The backtest whose id begins so.

        Raises:
            UnknownName: there is none, or several begin so.
        """
        found = self.beginning(prefix)
        if found is None:
            raise UnknownName(
                f"no backtest has an id that begins with {prefix!r} (at least {SHORTEST_PREFIX} of 0-9, a-f)"
            )
        return found

    def beginning(self, prefix: str) -> BacktestRecord | None:
        """The backtest whose id begins so; None where there is none.

        Raises:
            UnknownName: several begin so.
        """
        if len(prefix) < SHORTEST_PREFIX or not set(prefix) <= set("0123456789abcdef"):
            return None
        rows: list[tuple[str, str]] = []
        with self._store.read() as connection:
            for table in (backtests, other_backtests):
                query = select(table.c.id, table.c.body).where(table.c.id.startswith(prefix)).limit(4)
                rows += [(key, body) for key, body in connection.execute(query)]
        if len(rows) > 1:
            raise UnknownName(
                f"{prefix!r} begins several backtests: {', '.join(key[:12] for key, _ in rows)}; say more"
            )
        return BacktestRecord.model_validate_json(rows[0][1]) if rows else None

    def find(self, key: str) -> BacktestRecord | None:
        """The backtest with this id, if it was run before."""
        with self._store.read() as connection:
            for table in (backtests, other_backtests):
                body = connection.execute(select(table.c.body).where(table.c.id == key)).scalar()
                if body is not None:
                    return BacktestRecord.model_validate_json(body)
        return None

    def all(self, panel: str | None = None, limit: int | None = None) -> list[BacktestRecord]:
        """Backtests, of one panel if asked, the newest first."""
        found: list[tuple[str, str, str]] = []
        with self._store.read() as connection:
            for table in (backtests, other_backtests):
                query = select(table.c.created, table.c.id, table.c.body)
                found += [(created, key, body) for created, key, body in connection.execute(query)]
        found.sort(reverse=True)
        records = (BacktestRecord.model_validate_json(body) for _, _, body in found)
        kept = [record for record in records if panel is None or record.panel == panel]
        return kept[:limit]

    def add(self, connection: Connection, record: BacktestRecord) -> bool:
        """Keep a record; False when its key is there already."""
        row = {
            "id": record.id,
            "body": canonical_json(record.model_dump(mode="json")).decode(),
            "created": self._clock.now().isoformat(),
        }
        if record.trial is not None:
            return insert_once(connection, backtests, {**row, "trial": record.trial})
        return insert_once(connection, other_backtests, {**row, "kind": record.kind})
