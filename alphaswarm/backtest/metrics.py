"""What an equity curve amounts to. Undefined is None, never NaN.

Everywhere: `returns` are simple returns per period, `periods` the number of periods in a year, and
an `equity` curve is in units of the starting capital, which is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel

__all__ = [
    "DEFAULT_PERIODS_PER_YEAR",
    "annual_return",
    "hit_rate",
    "max_drawdown",
    "mean",
    "periods_per_year",
    "sharpe",
    "volatility",
]

# Trading days of US exchanges in a year; used where a panel does not state its own.
DEFAULT_PERIODS_PER_YEAR = 252.0

# A standard deviation this small beside the values themselves is rounding, not risk.
_ROUNDING = 1e-14

Floats = NDArray[np.float64] | Sequence[float]


def periods_per_year(panel: Panel) -> float:
    """How many rows of `panel` make a year: its own ``meta["periods_per_year"]``, else 252.

    Raises:
        DataInvalid: the panel states something that is no positive number.
    """
    stated = panel.meta.get("periods_per_year", DEFAULT_PERIODS_PER_YEAR)
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not 0 < stated < math.inf:
        raise DataInvalid(f"periods_per_year must be a positive number, got {stated!r}")
    return float(stated)


def mean(values: Floats) -> float | None:
    """Arithmetic mean; None of nothing."""
    array = np.asarray(values, np.float64)
    return float(array.mean()) if array.size else None


def volatility(returns: Floats, periods: float) -> float | None:
    """``std(returns, ddof=1) * sqrt(periods)``; None below two returns."""
    array = np.asarray(returns, np.float64)
    return float(array.std(ddof=1) * math.sqrt(periods)) if array.size > 1 else None


def sharpe(returns: Floats, periods: float) -> float | None:
    """``mean(returns) / std(returns, ddof=1) * sqrt(periods)``, no risk-free rate (Sharpe 1994).

    None below two returns or where they do not vary.
    """
    array = np.asarray(returns, np.float64)
    if array.size < 2:
        return None
    deviation = float(array.std(ddof=1))
    if deviation <= _ROUNDING * float(np.abs(array).max()):
        return None
    return float(array.mean()) / deviation * math.sqrt(periods)


def annual_return(returns: Floats, periods: float) -> float | None:
    """Compound: ``prod(1 + returns) ** (periods / n) - 1``; None of nothing, or once the capital is lost."""
    array = np.asarray(returns, np.float64)
    if not array.size or (array <= -1.0).any():
        return None
    try:
        return math.expm1(float(np.log1p(array).sum()) * periods / array.size)
    except OverflowError:  # a few rows of great gains, stretched to a year
        return None


def max_drawdown(equity: Floats) -> float | None:
    """The worst ``equity / highest equity before - 1``, 0 or below; the starting capital 1 counts as a high."""
    array = np.asarray(equity, np.float64)
    if not array.size:
        return None
    high = np.maximum(np.maximum.accumulate(array), 1.0)
    return min(0.0, float((array / high - 1.0).min()))


def hit_rate(returns: Floats) -> float | None:
    """Share of gains among the returns that are not 0; None where there are none."""
    array = np.asarray(returns, np.float64)
    moved = int(np.count_nonzero(array))
    return int(np.count_nonzero(array > 0)) / moved if moved else None
