"""What an equity curve amounts to. Undefined is None, never NaN.

Everywhere: `returns` are simple returns per period, `periods` the number of periods in a year, and
an `equity` curve is in units of the starting capital, which is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, EvidenceInvalid, Panel, make_rng
from alphaswarm.core.calendar import rows_per_year

__all__ = [
    "DEFAULT_PERIODS_PER_YEAR",
    "TAIL",
    "against",
    "annual_return",
    "calmar",
    "expected_shortfall",
    "hit_rate",
    "max_drawdown",
    "max_drawdown_duration",
    "mean",
    "periods_per_year",
    "profit_factor",
    "profit_factor_interval",
    "sharpe",
    "sortino",
    "value_at_risk",
    "volatility",
]

# Trading days of US exchanges in a year: for plain returns, and a panel of one row, which show no calendar.
DEFAULT_PERIODS_PER_YEAR = 252.0

# The share of the worst periods that value at risk and expected shortfall look at.
TAIL = 0.05

# Of the interval of the profit factor.
LEVEL = 0.95
RESAMPLES = 1000

# A standard deviation this small beside the values themselves is rounding, not risk.
_ROUNDING = 1e-14

Floats = NDArray[np.float64] | Sequence[float]


def periods_per_year(panel: Panel) -> float:
    """How many rows of `panel` make a year: its own ``meta["periods_per_year"]``, else what its dates say.

    Raises:
        DataInvalid: the panel states something that is no positive number.
    """
    stated = panel.meta.get("periods_per_year")
    if stated is None:
        stated = rows_per_year(panel.dates) or DEFAULT_PERIODS_PER_YEAR
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


def sortino(returns: Floats, periods: float) -> float | None:
    """``mean(returns) / sqrt(mean(min(returns, 0)^2)) * sqrt(periods)`` (Sortino and Price 1994), target 0.

    The downside is averaged over all returns, gains counting 0. None below two returns, or without a loss.
    """
    array = np.asarray(returns, np.float64)
    downside = float(np.sqrt(np.mean(np.minimum(array, 0.0) ** 2))) if array.size > 1 else 0.0
    return float(array.mean()) / downside * math.sqrt(periods) if downside > 0.0 else None


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
    return min(0.0, float((array / _highs(array) - 1.0).min()))


def max_drawdown_duration(equity: Floats) -> int | None:
    """The most rows in a row below a high reached before, recovered or not; the starting capital 1 counts as a high.

    None of nothing.
    """
    array = np.asarray(equity, np.float64)
    if not array.size:
        return None
    ends = np.flatnonzero(np.r_[True, array >= _highs(array), True])  # the start, rows at a high, the end
    return int(np.diff(ends).max()) - 1


def calmar(returns: Floats, equity: Floats, periods: float) -> float | None:
    """``annual_return / abs(max_drawdown)`` over the whole history; None where either is undefined or never down.

    Young (1991) takes the last three years of both; cut them out for that.
    """
    growth, worst = annual_return(returns, periods), max_drawdown(equity)
    return growth / -worst if growth is not None and worst else None


def hit_rate(returns: Floats) -> float | None:
    """Share of gains among the returns that are not 0; None where there are none."""
    array = np.asarray(returns, np.float64)
    moved = int(np.count_nonzero(array))
    return int(np.count_nonzero(array > 0)) / moved if moved else None


def profit_factor(returns: Floats) -> float | None:
    """Sum of the gains by the sum of the losses, without its sign; None without a loss."""
    array = np.asarray(returns, np.float64)
    lost = float(-np.minimum(array, 0.0).sum())
    return float(np.maximum(array, 0.0).sum()) / lost if lost > 0.0 else None


def profit_factor_interval(
    returns: Floats, *, seed: int = 0, level: float = LEVEL, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """Percentile interval of `profit_factor` from the circular block bootstrap (Politis and Romano 1992).

    A resample strings together blocks of ``ceil(n^(1/3))`` returns that start anywhere, the last followed by the first,
    and is cut to n. The interval holds the middle `level` of the resamples' profit factors.

    Args:
        returns: [T].
        seed: the starts are drawn from it.
        level: above 0, below 1.
        resamples: how many.

    Returns:
        (low, high); None with fewer than two blocks, or where the middle reaches resamples without a loss.

    Raises:
        EvidenceInvalid: a level outside 0 to 1, or no resample.
    """
    if not 0.0 < level < 1.0 or resamples < 1:
        raise EvidenceInvalid(f"level must lie between 0 and 1 and resamples be 1 or more, got {level}, {resamples}")
    array = np.asarray(returns, np.float64)
    length = math.ceil(round(math.cbrt(array.size), 9))
    if length < 1 or array.size < 2 * length:
        return None
    starts = make_rng(seed, "profit factor").integers(array.size, size=(resamples, math.ceil(array.size / length)))
    gained = _resampled(np.maximum(array, 0.0), starts, length)
    lost = _resampled(np.maximum(-array, 0.0), starts, length)
    factors = np.full(resamples, np.inf)
    np.divide(gained, lost, out=factors, where=lost > 0.0)
    # an order statistic: no mean of a number and infinity
    low, high = np.quantile(factors, (0.5 - 0.5 * level, 0.5 + 0.5 * level), method="higher")
    return (float(low), float(high)) if math.isfinite(high) else None


def value_at_risk(returns: Floats, tail: float = TAIL) -> float | None:
    """Historical: the quantile `tail` of the returns, as a return, so a loss is negative; None of nothing.

    Interpolated linearly between the two returns it falls between.

    Raises:
        EvidenceInvalid: a tail outside 0 to 1.
    """
    array = np.asarray(returns, np.float64)
    if not 0.0 < tail < 1.0:
        raise EvidenceInvalid(f"the tail must be a share between 0 and 1, got {tail}")
    return float(np.quantile(array, tail)) if array.size else None


def expected_shortfall(returns: Floats, tail: float = TAIL) -> float | None:
    """Historical CVaR: the mean of the returns that are no better than `value_at_risk`, as a return.

    Raises:
        EvidenceInvalid: a tail outside 0 to 1.
    """
    at_risk = value_at_risk(returns, tail)
    if at_risk is None:
        return None
    array = np.asarray(returns, np.float64)
    return float(array[array <= at_risk].mean())


def against(returns: Floats, benchmark: Floats, periods: float) -> dict[str, float | None]:
    """`alpha` and `beta` to a benchmark, from the regression of returns on its returns (Jensen 1968).

    ``beta = cov / var(benchmark)``, ``alpha = (mean(returns) - beta * mean(benchmark)) * periods``: a sum over the
    year, not compound, no risk-free rate. None below two rows or where the benchmark does not vary.

    Args:
        returns: [T].
        benchmark: [T], the same rows; rows where either is NaN are left out.
        periods: rows in a year.

    Raises:
        EvidenceInvalid: lengths that differ.
    """
    ours, theirs = np.asarray(returns, np.float64), np.asarray(benchmark, np.float64)
    if ours.shape != theirs.shape:
        raise EvidenceInvalid(f"returns and benchmark must be of the same rows, got {ours.shape} and {theirs.shape}")
    both = np.isfinite(ours) & np.isfinite(theirs)
    ours, theirs = ours[both], theirs[both]
    if ours.size < 2 or float(theirs.std()) <= _ROUNDING * float(np.abs(theirs).max()):
        return {"alpha": None, "beta": None}
    away = theirs - theirs.mean()
    beta = float(away @ (ours - ours.mean()) / (away @ away))
    return {"alpha": float(ours.mean() - beta * theirs.mean()) * periods, "beta": beta}


def _highs(equity: NDArray[np.float64]) -> NDArray[np.float64]:
    """The highest equity up to each row, the starting capital among them."""
    return np.maximum(np.maximum.accumulate(equity), 1.0)


def _resampled(values: NDArray[np.float64], starts: NDArray[np.int64], length: int) -> NDArray[np.float64]:
    """Sum of each resample [n] of values of 0 or more: its blocks' sums, the last cut to fit."""
    around = np.concatenate([values, values[:length]])
    whole = np.lib.stride_tricks.sliding_window_view(around, length).sum(axis=1)
    rest = values.size - length * (starts.shape[1] - 1)
    cut = np.lib.stride_tricks.sliding_window_view(around, rest).sum(axis=1)
    total: NDArray[np.float64] = whole[starts[:, :-1]].sum(axis=1) + cut[starts[:, -1]]
    return total
