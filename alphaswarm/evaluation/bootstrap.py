"""Intervals for the figures of a series that correlates in time."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core import EvidenceInvalid

__all__ = ["Statistic", "block_length", "bootstrap_interval"]

Statistic = Literal["mean", "sharpe"]

LEVEL = 0.95
RESAMPLES = 1000


def block_length(n: int, horizon: int = 1) -> int:
    """Rows of a block for `n` daily values with labels of `horizon` rows: ``max(h, ceil(n^(1/3)))``.

    The cube root is the rate at which the best block for a variance grows (Kuensch 1989); labels
    that overlap correlate over h rows.
    """
    root = round(math.cbrt(n))
    return max(horizon, root if root**3 >= n else root + 1)


def bootstrap_interval(
    values: ArrayLike,
    statistic: Statistic = "mean",
    *,
    rng: np.random.Generator,
    level: float = LEVEL,
    n: int = RESAMPLES,
    block: int | None = None,
    horizon: int = 1,
) -> tuple[float, float] | None:
    """Percentile interval from the circular block bootstrap (Politis and Romano 1992).

    A resample strings together blocks of consecutive values that start anywhere, the end of the
    series being followed by its beginning, and is cut to the length of the series. The interval
    holds the middle `level` of the resamples' statistics. It is a little too narrow for short series
    that correlate strongly.

    Args:
        values: [T], NaN where missing; missing values are dropped first.
        statistic: "mean", or "sharpe" for mean over standard deviation (ddof 1) per period, 0 for
            a resample without variation.
        rng: draws the starts, and nothing else.
        level: above 0, below 1.
        n: number of resamples.
        block: rows of a block; by the rule of `block_length` when absent.
        horizon: h, for that rule.

    Returns:
        (low, high); None with fewer than two blocks, or where the values do not vary.

    Raises:
        EvidenceInvalid: an unknown statistic, a level outside 0 to 1, or counts below 1.
    """
    if statistic not in get_args(Statistic):
        raise EvidenceInvalid(f"statistic must be one of {', '.join(get_args(Statistic))}, got {statistic!r}")
    if not 0.0 < level < 1.0:
        raise EvidenceInvalid(f"level must lie between 0 and 1, got {level}")
    series = np.asarray(values, np.float64)
    series = series[np.isfinite(series)]
    length = block_length(series.size, horizon) if block is None else block
    if n < 1 or length < 1:
        raise EvidenceInvalid(f"resamples and the rows of a block must be at least 1, got {n} and {length}")
    if series.size < 2 * length or float(np.ptp(series)) <= 1e-14 * float(np.abs(series).max()):
        return None
    starts = rng.integers(series.size, size=(n, math.ceil(series.size / length)))
    low, high = np.quantile(_resampled(series, starts, length, statistic), (0.5 - 0.5 * level, 0.5 + 0.5 * level))
    return float(low), float(high)


def _resampled(
    series: NDArray[np.float64], starts: NDArray[np.int64], length: int, statistic: Statistic
) -> NDArray[np.float64]:
    """The statistic of each resample [n], given the first rows of its blocks [n, blocks]."""
    size = series.size
    centre = series.mean()
    away = series - centre
    first = _sums(away, starts, length)
    mean = centre + first / size
    if statistic == "mean":
        return np.asarray(mean)
    variance = (_sums(away**2, starts, length) - first**2 / size) / (size - 1)
    varies = variance > (1e-14 * np.abs(series).max()) ** 2
    ratio = np.zeros(mean.size)
    np.divide(mean, np.sqrt(np.maximum(variance, 0.0)), out=ratio, where=varies)
    return ratio


def _sums(values: NDArray[np.float64], starts: NDArray[np.int64], length: int) -> NDArray[np.float64]:
    """Sum of each resample [n]: differences of running sums, the last block cut to fit."""
    running = np.concatenate([[0.0], np.cumsum(np.concatenate([values, values[:length]]))])
    last = values.size - length * (starts.shape[1] - 1)
    whole = running[length:] - running[:-length]
    cut = running[last:] - running[:-last]
    return np.asarray(whole[starts[:, :-1]].sum(axis=1) + cut[starts[:, -1]])
