"""`FactorSeries`: the daily series behind `Evidence`, for pictures and for comparing factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from alphaswarm.trading import ProportionalCosts

__all__ = ["FactorSeries"]


@dataclass(frozen=True, eq=False)
class FactorSeries:
    """One factor on the D dates of a window; row d is the decision at close d. NaN is missing.

    Attributes:
        dates: datetime64[ns] [D].
        decision: bool [D], whether the label of `horizon` rows ends inside the window.
        ic: [D], Pearson correlation with the label of `horizon` rows.
        rank_ic: [D], Spearman correlation with it.
        decay: horizon to rank IC [D].
        evidence: [D], correlation of the factor's rank with the risk-adjusted residual, see `Exposures`.
        residual_rank_ic: [D], Spearman correlation with the residual of the label of `horizon` rows.
        quantiles: [D, 5], mean one-row label by fifth of the factor.
        coverage: [D], finite factor values by finite closes of the universe.
        rank_autocorr: [D], rank correlation with the row before.
        active: bool [D], whether the book holds or trades and its return lies inside the window.
        gross: [D], what the weights decided at d earn in the row after their fill.
        turnover: [D], ``sum(abs(W_d - W_{d-1}))``.
        neutral: [D], what the weights earn of the residual of the one-row label: `gross` without common risks.
        missing_returns: returns the book needed and the data did not have.
        horizon: rows from fill to exit, also the number of tranches.
        fill: when decisions are carried out.
        cost_bp: the default cost.
        periods: rows in a year.
        min_names: the smallest cross-section that counts.
        no_residual: figure to reason, where residuals are missing or lack an exposure.
    """

    dates: NDArray[np.datetime64]
    decision: NDArray[np.bool_]
    ic: NDArray[np.float64]
    rank_ic: NDArray[np.float64]
    decay: Mapping[int, NDArray[np.float64]]
    evidence: NDArray[np.float64]
    residual_rank_ic: NDArray[np.float64]
    quantiles: NDArray[np.float64]
    coverage: NDArray[np.float64]
    rank_autocorr: NDArray[np.float64]
    active: NDArray[np.bool_]
    gross: NDArray[np.float64]
    turnover: NDArray[np.float64]
    neutral: NDArray[np.float64]
    missing_returns: int
    horizon: int
    fill: str
    cost_bp: float
    periods: float
    min_names: int
    no_residual: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for array in (*vars(self).values(), *self.decay.values()):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)

    def net(self, bp: float) -> NDArray[np.float64]:
        """`gross` less the cost of `turnover` at `bp` basis points, [D]."""
        return self.gross - ProportionalCosts(bp).charge(self.turnover)

    def equity(self, bp: float) -> NDArray[np.float64]:
        """The compounded net result at `bp` basis points, [D], from a capital of 1; flat where not active."""
        return np.asarray(np.cumprod(1.0 + np.where(self.active, self.net(bp), 0.0)))
