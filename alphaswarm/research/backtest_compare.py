"""`BacktestComparison`: stored backtests side by side, and how much they are one bet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from alphaswarm.core import AlphaSwarmError, Reason
from alphaswarm.research.backtests import BacktestRecord
from alphaswarm.research.trial import TrialWindow

__all__ = ["MOST_COMPARED", "BacktestComparison", "ComparedBacktest", "compare_backtests"]

MOST_COMPARED = 20
# Correlations of fewer days say nothing.
LEAST_DAYS = 20

Array = NDArray[np.float64]


class ComparedBacktest(BaseModel):
    """One of them."""

    model_config = ConfigDict(frozen=True)

    id: str
    kind: str
    name: str
    engine: str
    words: str
    horizon: int | None
    fill: str
    cost_bp: float | None
    metrics: dict[str, float | None]
    alpha: float | None = Field(description="a year, from the regression on the benchmark's daily returns")
    beta: float | None


class BacktestComparison(BaseModel):
    """Figures and correlations on the search window.

    `correlations` are of the daily returns after costs, in the order of `backtests`, over the days on which
    both are invested.
    """

    model_config = ConfigDict(frozen=True)

    panel: str
    window: TrialWindow
    benchmark: str | None = Field(description="id of the first baseline, to which alpha and beta are")
    backtests: list[ComparedBacktest]
    correlations: list[list[float | None]]


def compare_backtests(records: Sequence[BacktestRecord]) -> BacktestComparison:
    """Compare backtests of one panel.

    Raises:
        AlphaSwarmError: fewer than two, too many, or of different data or windows.
    """
    from alphaswarm.backtest import metrics

    if not 2 <= len(records) <= MOST_COMPARED:
        raise AlphaSwarmError(
            f"2 to {MOST_COMPARED} backtests can be compared, got {len(records)}", Reason.ARGUMENT_INVALID
        )
    first = records[0]
    for record in records:
        if (record.panel_digest, record.window) != (first.panel_digest, first.window):
            raise AlphaSwarmError(
                f"backtests of one panel and window can be compared; {first.id[:12]} is of {first.panel}, "
                f"{first.window.start} to {first.window.end}, and {record.id[:12]} of {record.panel}, "
                f"{record.window.start} to {record.window.end}",
                Reason.ARGUMENT_INVALID,
            )
    benchmark = next((record for record in records if record.kind == "baseline"), None)
    returns = {record.id: _returns(record) for record in records}
    compared = []
    for record in records:
        alpha = beta = None
        if benchmark is not None and record is not benchmark:
            ours, theirs = _together(returns[record.id], returns[benchmark.id])
            found = metrics.against(ours, theirs, record.periods)
            alpha, beta = found["alpha"], found["beta"]
        known = record.model_dump(include=set(ComparedBacktest.model_fields) - {"name"})
        compared.append(ComparedBacktest(name=record.title, alpha=alpha, beta=beta, **known))
    return BacktestComparison(
        panel=first.panel,
        window=first.window,
        benchmark=None if benchmark is None else benchmark.id,
        backtests=compared,
        correlations=[[_correlation(returns[a.id], returns[b.id]) for b in records] for a in records],
    )


def _returns(record: BacktestRecord) -> Array:
    """Daily returns [D]; NaN on days without a position, before or after."""
    equity = np.array(record.equity)
    found = np.full(equity.size, np.nan)
    before = equity[:-1]
    np.divide(equity[1:], before, out=found[1:], where=before > 0.0)
    found -= 1.0
    held = np.array(record.gross) > 0.0
    idle = ~held
    idle[1:] &= ~held[:-1]
    found[idle] = np.nan
    return found


def _together(ours: Array, theirs: Array) -> tuple[Array, Array]:
    both = np.isfinite(ours) & np.isfinite(theirs)
    return ours[both], theirs[both]


def _correlation(ours: Array, theirs: Array) -> float | None:
    one, other = _together(ours, theirs)
    if one.size < LEAST_DAYS or not (one.std() > 0.0 and other.std() > 0.0):
        return None
    return float(np.clip(np.corrcoef(one, other)[0, 1], -1.0, 1.0))
