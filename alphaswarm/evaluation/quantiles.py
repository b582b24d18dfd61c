"""What the names earned by the quantile the factor put them in."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest.ranking import MIN_NAMES, RankedRows, rank_rows, rerank
from alphaswarm.core import EvidenceInvalid
from alphaswarm.core.jit import jit

__all__ = ["QUANTILES", "quantile_return_series", "quantile_returns", "quantile_series_of_ranks"]

QUANTILES = 5


def quantile_returns(
    factor: ArrayLike, labels: ArrayLike, n: int = QUANTILES, *, min_names: int = MIN_NAMES
) -> NDArray[np.float64]:
    """Mean label of each quantile, averaged over the dates; 0 holds the lowest factor values.

    Arguments and errors as in `quantile_return_series`.

    Returns:
        float64 [n]; NaN for a quantile that never held a name.
    """
    series = quantile_return_series(factor, labels, n, min_names=min_names)
    held = np.isfinite(series)
    total = np.where(held, series, 0.0).sum(axis=0)
    means: NDArray[np.float64] = np.divide(total, held.sum(axis=0), out=np.full(n, np.nan), where=held.any(axis=0))
    return means


def quantile_return_series(
    factor: ArrayLike, labels: ArrayLike, n: int = QUANTILES, *, min_names: int = MIN_NAMES
) -> NDArray[np.float64]:
    """Mean label of each quantile, date by date.

    The quantile of a name is ``ceil(n * rank / count)``, its average rank among the names where
    factor and label are finite. Dates with fewer than `min_names` of them are missing, and so are
    those where the factor has no differences.

    Args:
        factor: [T, N].
        labels: [T, N].
        n: number of quantiles, 2 or more.
        min_names: the smallest cross-section that counts.

    Returns:
        float64 [T, n]; NaN where missing, or where ties leave a quantile empty.

    Raises:
        EvidenceInvalid: fewer than two quantiles, or shapes that differ.
    """
    values = np.ascontiguousarray(factor, np.float64)
    targets = np.ascontiguousarray(labels, np.float64)
    if values.ndim != 2 or values.shape != targets.shape:
        raise EvidenceInvalid(f"factor and labels must share a shape [T, N], got {values.shape} and {targets.shape}")
    return quantile_series_of_ranks(rank_rows(values), targets, n, min_names=min_names)


def quantile_series_of_ranks(
    ranked: RankedRows, labels: NDArray[np.float64], n: int = QUANTILES, *, min_names: int = MIN_NAMES
) -> NDArray[np.float64]:
    """`quantile_return_series` of a factor that is ranked already."""
    if n < 2:
        raise EvidenceInvalid(f"quantile returns need at least 2 quantiles, got {n}")
    finite = np.where(np.isfinite(labels), labels, np.nan)
    return _quantile_means(ranked.ranks, ranked.order, ranked.tie, ranked.count, finite, n, min_names)


@jit
def _quantile_means(
    ranks: NDArray[np.float64],
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: NDArray[np.int64],
    labels: NDArray[np.float64],
    n: int,
    min_names: int,
) -> NDArray[np.float64]:
    days, names = ranks.shape
    out = np.full((days, n), np.nan)
    among = np.empty(names)
    total = np.empty(n)
    members = np.empty(n, np.int64)
    for t in range(days):
        common = 0
        for i in range(names):
            if not (np.isnan(ranks[t, i]) or np.isnan(labels[t, i])):
                common += 1
        if common < max(min_names, 1):
            continue
        if common == count[t]:
            among[:] = ranks[t]
        else:
            rerank(order[t], tie[t], count[t], labels[t], among)
        total[:] = 0.0
        members[:] = 0
        varies = False
        for i in range(names):
            if not np.isnan(among[i]):
                varies = varies or among[i] != 0.5 * (common + 1)
                quantile = int(np.ceil(n * among[i] / common)) - 1
                total[quantile] += labels[t, i]
                members[quantile] += 1
        if varies:
            for q in range(n):
                if members[q] > 0:
                    out[t, q] = total[q] / members[q]
    return out
