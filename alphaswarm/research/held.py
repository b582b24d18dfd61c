"""`Held`: a trial on the side that its evidence takes, as the report shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from alphaswarm.research.trial import Trial

__all__ = ["Held"]


@dataclass(frozen=True)
class Held:
    """Headline figures of a trial on the side that its evidence takes: one that points down is held turned round.

    Attributes:
        sign: 1 as written, -1 turned round.
        z: of the evidence on residual returns; t of the RankIC where there is none.
        rank_ic_t: of the RankIC.
        residual_t: of the RankIC with residual returns.
        breakeven_bp: of the book that is held so.
        net_sharpe: of that book at the cost asked for.
    """

    sign: int
    z: float | None
    rank_ic_t: float | None
    residual_t: float | None
    breakeven_bp: float | None
    net_sharpe: float | None

    @classmethod
    def of(cls, trial: Trial, cost_bp: float) -> Held:
        """The figures of an evaluated trial."""
        z = trial.rank_ic_t if trial.evidence_z is None else trial.evidence_z
        sign = -1 if z is not None and z < 0 else 1
        curve = {float(cost): value for cost, value in trial.net_sharpe.items()}
        net = curve.get(cost_bp) if sign > 0 else _turned_sharpe(trial.breakeven_bp, curve, cost_bp)

        def turned(value: float | None) -> float | None:
            return None if value is None else sign * value

        return cls(
            sign=sign,
            z=turned(z),
            rank_ic_t=turned(trial.rank_ic_t),
            residual_t=turned(trial.residual_rank_ic_t),
            breakeven_bp=turned(trial.breakeven_bp),
            net_sharpe=net,
        )


def _turned_sharpe(breakeven: float | None, curve: Mapping[float, float | None], cost: float) -> float | None:
    """The Sharpe ratio at `cost` of the book turned round, from the cost curve of the book as written.

    At c a book of turnover k and break-even b earns k (b - c), and its variance is a parabola in c. Turned round it
    earns k (-b - c), and its variance is that of the parabola at -c.
    """
    if breakeven is None:
        return None
    known = [(c, (breakeven - c) / sharpe) for c, sharpe in sorted(curve.items()) if sharpe]
    if len(known) < 3:
        return None
    costs, spreads = np.array(known).T
    variance = float(np.polyval(np.polyfit(costs, spreads**2, 2), -cost))
    return (-breakeven - cost) / float(np.sqrt(variance)) if variance > 0 else None
