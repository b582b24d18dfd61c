"""`mean_z`: how far the mean of a daily series lies from 0, on the scale that hurdles are drawn on."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtr

from alphaswarm.core import EvidenceInvalid

__all__ = ["cosine_count", "mean_z"]

# Fewer cosines say too little of the variance to test anything.
MIN_COSINES = 4
# A probability has to stay above 0 for z to be a number; 37.5 is the largest that there is.
SMALLEST = float(np.finfo(np.float64).tiny)


def cosine_count(n: int, horizon: int = 1) -> int:
    """How many cosines say how much the mean of `n` daily values varies, labels spanning `horizon` rows.

    ``min(0.4 n^(2/3), n / (3 h))``, rounded down: the rule of Lazarus, Lewis, Stock and Watson (2018), and no more
    than stay slow beside a label, over which neighbouring values correlate whatever the factor does.
    """
    return int(min(0.4 * n ** (2.0 / 3.0), n / (3.0 * max(horizon, 1))))


def mean_z(series: ArrayLike, *, horizon: int = 1) -> float | None:
    """The mean of a series against 0, as a standard normal variable would be if the true mean is 0.

    The mean's variance is that of the series at frequencies near 0, read off its first B cosines::

        c_j = sqrt(2 / n) sum_t e_t cos(pi j (t + 1/2) / n),    S = sum_j c_j^2 / B,    t = mean / sqrt(S / n)

    t has Student's distribution with B degrees of freedom (Mueller 2007), and z is the normal quantile of its
    probability. A Newey-West t is compared with normal quantiles too, but with few lags it leaves out part of what
    overlapping labels share, and with many its variance is itself a guess: of noise under labels of 5 rows it varies
    by 1.15 to 1.25. z is smaller and keeps its word; `newey_west_t` is the figure that others publish.

    Args:
        series: [T], NaN where missing; missing dates are dropped first.
        horizon: h, rows that a label spans.

    Returns:
        None where fewer than 4 cosines are left (see `cosine_count`), or where the values do not vary.

    Raises:
        EvidenceInvalid: a horizon below 1.
    """
    if horizon < 1:
        raise EvidenceInvalid(f"the horizon must be at least 1 row, got {horizon}")
    values = np.asarray(series, np.float64)
    values = values[np.isfinite(values)]
    n = values.size
    number = cosine_count(n, horizon)
    if number < MIN_COSINES:
        return None
    mean = float(values.mean())
    weights = (_cosines(n, number) * (values - mean)).sum(axis=1)  # not `@`: its bits depend on the number of threads
    variance = float((weights**2).sum()) / number
    if variance <= (1e-14 * float(np.abs(values).max())) ** 2:  # only rounding is left
        return None
    t = mean / np.sqrt(variance / n)
    return float(np.copysign(ndtri(max(stdtr(number, -abs(t)), SMALLEST)), t))


def _cosines(n: int, number: int) -> NDArray[np.float64]:
    """The first `number` cosines of length one over `n` rows [number, n]."""
    phase = np.pi * (np.arange(n) + 0.5) / n
    return np.asarray(np.sqrt(2.0 / n) * np.cos(np.arange(1, number + 1)[:, None] * phase), np.float64)
