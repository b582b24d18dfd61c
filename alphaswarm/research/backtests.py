"""`BacktestRecord`: a backtest on the search window, kept under its content key."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection, select

from alphaswarm.core import Clock, Store, UnknownName, canonical_json
from alphaswarm.research.ledger import insert_once
from alphaswarm.research.tables import backtests
from alphaswarm.research.trial import Trial, TrialWindow

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from alphaswarm.research.panels import OpenPanel

__all__ = ["BacktestRecord", "Backtests", "backtest_key", "run_engine"]

SHORTEST_PREFIX = 4


class BacktestRecord(BaseModel):
    """An expression's rank weights, held in staggered parts over the search window.

    `equity` starts from 1 on the first of `dates`; `turnover` is by day, both sides, drift included.
    """

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="key of what was run: expression, panel, horizon, cost and engine")
    trial: str = Field(description="the trial of the same expression, panel and horizon")
    expression: str
    digest: str
    panel: str
    panel_digest: str
    window: TrialWindow
    as_of: str
    horizon: int
    fill: str
    cost_bp: float
    engine: str
    metrics: dict[str, float | None]
    dates: list[str]
    equity: list[float]
    turnover: list[float]
    result_digest: str
    warnings: list[str]


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
        rows: list[tuple[str, str]] = []
        if len(prefix) >= SHORTEST_PREFIX and set(prefix) <= set("0123456789abcdef"):
            query = select(backtests.c.id, backtests.c.body).where(backtests.c.id.startswith(prefix)).limit(4)
            with self._store.read() as connection:
                rows = [(key, body) for key, body in connection.execute(query)]
        if len(rows) > 1:
            raise UnknownName(
                f"{prefix!r} begins several backtests: {', '.join(key[:12] for key, _ in rows)}; say more"
            )
        if not rows:
            raise UnknownName(
                f"no backtest has an id that begins with {prefix!r} (at least {SHORTEST_PREFIX} of 0-9, a-f)"
            )
        return BacktestRecord.model_validate_json(rows[0][1])

    def find(self, key: str) -> BacktestRecord | None:
        """The backtest with this id, if it was run before."""
        with self._store.read() as connection:
            body = connection.execute(select(backtests.c.body).where(backtests.c.id == key)).scalar()
        return None if body is None else BacktestRecord.model_validate_json(body)

    def add(self, connection: Connection, record: BacktestRecord) -> bool:
        """Keep a record; False when its key is there already."""
        row = {
            "id": record.id,
            "trial": record.trial,
            "body": canonical_json(record.model_dump(mode="json")).decode(),
            "created": self._clock.now().isoformat(),
        }
        return insert_once(connection, backtests, row)


def backtest_key(trial: str, cost_bp: float, engine: str) -> str:
    """The content key: a trial's key says expression, panel, horizon and fill."""
    body = {"cost_bp": float(cost_bp), "engine": engine, "trial": trial}
    return hashlib.sha256(canonical_json(body)).hexdigest()


def run_engine(
    opened: OpenPanel, factor: NDArray[np.float64], trial: Trial, *, cost_bp: float, engine: str
) -> BacktestRecord:
    """Hold the factor's staggered rank weights on the rows that research may see, and keep the figures.

    Args:
        opened: the panel with its search window.
        factor: [rows seen, N].
        trial: the trial of the same expression, panel, horizon and fill.
        cost_bp: proportional cost in basis points.
        engine: "vector".
    """
    from alphaswarm.backtest import VectorEngine, rank_weights, stagger
    from alphaswarm.trading import ProportionalCosts

    rows = opened.window.rows(opened.seen.dates)
    weights = stagger(rank_weights(factor), trial.horizon)
    weights[: rows.start] = 0.0
    result = VectorEngine(costs=ProportionalCosts(cost_bp), fill="close_t1").run(opened.seen, weights)
    shown: Any = opened.seen.dates[rows].astype("datetime64[D]").astype(str).tolist()
    return BacktestRecord(
        id=backtest_key(trial.id, cost_bp, engine),
        trial=trial.id,
        expression=trial.expression,
        digest=trial.digest,
        panel=trial.panel,
        panel_digest=trial.panel_digest,
        window=trial.window,
        as_of=trial.as_of,
        horizon=trial.horizon,
        fill=trial.fill,
        cost_bp=cost_bp,
        engine=engine,
        metrics=dict(result.metrics),
        dates=shown,
        equity=result.equity[rows].tolist(),
        turnover=result.turnover[rows].tolist(),
        result_digest=result.digest,
        warnings=trial.warnings,
    )
