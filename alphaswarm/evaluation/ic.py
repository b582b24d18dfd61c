"""Information coefficients: how well a factor orders, day by day, what came after."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest.ranking import MIN_NAMES, RankedRows, rank_rows, rerank
from alphaswarm.core import EvidenceInvalid
from alphaswarm.core.jit import jit

__all__ = [
    "ic_series",
    "information_ratio",
    "newey_west_lags",
    "newey_west_t",
    "rank_correlation",
    "rank_ic_series",
    "rank_value_correlation",
]


def ic_series(factor: ArrayLike, labels: ArrayLike, *, min_names: int = MIN_NAMES) -> NDArray[np.float64]:
    """Pearson correlation of factor and label, date by date.

    Over the names where both are finite. A date with fewer than `min_names` of them, or where
    either side has no differences (after the rounding of `rank_rows`), is missing: NaN, not 0.

    Args:
        factor: [T, N].
        labels: [T, N], see `forward_returns`.
        min_names: the smallest cross-section that counts.

    Returns:
        float64 [T].

    Raises:
        EvidenceInvalid: the shapes differ.
    """
    values, targets = _pair(factor, labels)
    defined = rank_correlation(rank_rows(values), rank_rows(targets), min_names=min_names)
    return pearson_where(defined, values, targets)


def rank_ic_series(factor: ArrayLike, labels: ArrayLike, *, min_names: int = MIN_NAMES) -> NDArray[np.float64]:
    """Spearman correlation, date by date: Pearson of average ranks taken among the common names.

    Arguments, result and errors as in `ic_series`.
    """
    values, targets = _pair(factor, labels)
    return rank_correlation(rank_rows(values), rank_rows(targets), min_names=min_names)


def rank_correlation(a: RankedRows, b: RankedRows, *, min_names: int = MIN_NAMES) -> NDArray[np.float64]:
    """Spearman correlation of row t of `a` with row t of `b`, [T]; see `rank_ic_series`."""
    return _rank_correlation(a.ranks, a.order, a.tie, a.count, b.ranks, b.order, b.tie, b.count, min_names)


def rank_value_correlation(
    ranked: RankedRows, values: NDArray[np.float64], *, min_names: int = MIN_NAMES
) -> NDArray[np.float64]:
    """Pearson correlation of row t's average ranks with row t of `values` [T, N], [T].

    Ranked among the names that have both. Missing as in `rank_ic_series`.
    """
    return _rank_value_correlation(ranked.ranks, ranked.order, ranked.tie, ranked.count, values, min_names)


def pearson_where(
    defined: NDArray[np.float64], factor: NDArray[np.float64], labels: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Pearson correlation by row [T], NaN on the dates where `defined` [T] is NaN."""
    return _pearson(defined, factor, labels)


def newey_west_lags(n: int, horizon: int = 1) -> int:
    """How many lags a series of `n` daily values with labels of `horizon` rows needs.

    ``max(h - 1, floor(4 (n / 100)^(2/9)))``: overlapping labels correlate over h - 1 rows; the other
    term is the rule of Newey and West (1994) for the Bartlett kernel.
    """
    return max(horizon - 1, int(4.0 * (n / 100.0) ** (2.0 / 9.0)))


def newey_west_t(series: ArrayLike, lags: int | None = None, *, horizon: int = 1) -> float | None:
    """The mean over its standard error, allowing for correlation in time (Newey and West 1987).

    ``t = mean / sqrt(S / n)``, ``S = g_0 + 2 sum_{l=1..L} (1 - l / (L + 1)) g_l`` with
    ``g_l = sum(e_t e_{t-l}) / n``. Missing dates are dropped first.

    Args:
        series: [T], NaN where missing.
        lags: L; by the rule of `newey_west_lags` when absent.
        horizon: h, for that rule.

    Returns:
        None with fewer than L + 2 values, or where they do not vary.

    Raises:
        EvidenceInvalid: a negative number of lags.
    """
    values = np.asarray(series, np.float64)
    values = values[np.isfinite(values)]
    n = values.size
    number = newey_west_lags(n, horizon) if lags is None else lags
    if number < 0:
        raise EvidenceInvalid(f"the number of lags must be 0 or more, got {number}")
    if n < number + 2:
        return None
    mean = float(values.mean())
    errors = values - mean
    long_run = float(errors @ errors)
    for lag in range(1, number + 1):
        long_run += 2.0 * (1.0 - lag / (number + 1)) * float(errors[lag:] @ errors[:-lag])
    long_run /= n
    if long_run <= (1e-14 * float(np.abs(values).max())) ** 2:  # only rounding is left
        return None
    return mean / math.sqrt(long_run / n)


def information_ratio(series: ArrayLike) -> float | None:
    """``mean / std(ddof=1)`` of a daily series (ICIR), not annualised; None where undefined."""
    values = np.asarray(series, np.float64)
    values = values[np.isfinite(values)]
    if values.size < 2:
        return None
    deviation = float(values.std(ddof=1))
    if deviation <= 1e-14 * float(np.abs(values).max()):
        return None
    return float(values.mean()) / deviation


def _pair(factor: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values = np.ascontiguousarray(factor, np.float64)
    targets = np.ascontiguousarray(labels, np.float64)
    if values.ndim != 2 or values.shape != targets.shape:
        raise EvidenceInvalid(f"factor and labels must share a shape [T, N], got {values.shape} and {targets.shape}")
    return values, targets


@jit
def _rank_correlation(
    ranks_a: NDArray[np.float64],
    order_a: NDArray[np.int32],
    tie_a: NDArray[np.int32],
    count_a: NDArray[np.int64],
    ranks_b: NDArray[np.float64],
    order_b: NDArray[np.int32],
    tie_b: NDArray[np.int32],
    count_b: NDArray[np.int64],
    min_names: int,
) -> NDArray[np.float64]:
    days, names = ranks_a.shape
    out = np.full(days, np.nan)
    among_a = np.empty(names)
    among_b = np.empty(names)
    for t in range(days):
        common = 0
        for i in range(names):
            if not (np.isnan(ranks_a[t, i]) or np.isnan(ranks_b[t, i])):
                common += 1
        if common < max(min_names, 2):
            continue
        if common == count_a[t]:
            among_a[:] = ranks_a[t]
        else:
            rerank(order_a[t], tie_a[t], count_a[t], ranks_b[t], among_a)
        if common == count_b[t]:
            among_b[:] = ranks_b[t]
        else:
            rerank(order_b[t], tie_b[t], count_b[t], ranks_a[t], among_b)
        middle = 0.5 * (common + 1)
        ab = 0.0
        aa = 0.0
        bb = 0.0
        for i in range(names):
            a = among_a[i] - middle
            b = among_b[i] - middle
            if not (np.isnan(a) or np.isnan(b)):
                ab += a * b
                aa += a * a
                bb += b * b
        if aa > 0.0 and bb > 0.0:
            out[t] = min(1.0, max(-1.0, ab / np.sqrt(aa * bb)))
    return out


@jit
def _rank_value_correlation(
    ranks: NDArray[np.float64],
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: NDArray[np.int64],
    values: NDArray[np.float64],
    min_names: int,
) -> NDArray[np.float64]:
    days, names = ranks.shape
    out = np.full(days, np.nan)
    among = np.empty(names)
    for t in range(days):
        common = 0
        mean = 0.0
        for i in range(names):
            if not (np.isnan(ranks[t, i]) or np.isnan(values[t, i])):
                common += 1
                mean += values[t, i]
        if common < max(min_names, 2):
            continue
        mean /= common
        if common == count[t]:
            among[:] = ranks[t]
        else:
            rerank(order[t], tie[t], count[t], values[t], among)
        middle = 0.5 * (common + 1)
        ab = 0.0
        aa = 0.0
        bb = 0.0
        for i in range(names):
            a = among[i] - middle
            b = values[t, i] - mean
            if not (np.isnan(a) or np.isnan(b)):
                ab += a * b
                aa += a * a
                bb += b * b
        if aa > 0.0 and bb > 0.0:
            out[t] = min(1.0, max(-1.0, ab / np.sqrt(aa * bb)))
    return out


@jit
def _pearson(
    defined: NDArray[np.float64], factor: NDArray[np.float64], labels: NDArray[np.float64]
) -> NDArray[np.float64]:
    days, names = factor.shape
    out = np.full(days, np.nan)
    for t in range(days):
        if np.isnan(defined[t]):
            continue
        n = 0
        size_a = 0.0
        size_b = 0.0
        for i in range(names):
            if np.isfinite(factor[t, i]) and np.isfinite(labels[t, i]):
                n += 1
                size_a = max(size_a, abs(factor[t, i]))
                size_b = max(size_b, abs(labels[t, i]))
        # in units of the largest value, so that squares neither vanish nor overflow
        mean_a = 0.0
        mean_b = 0.0
        for i in range(names):
            if np.isfinite(factor[t, i]) and np.isfinite(labels[t, i]):
                mean_a += factor[t, i] / size_a / n
                mean_b += labels[t, i] / size_b / n
        ab = 0.0
        aa = 0.0
        bb = 0.0
        for i in range(names):
            if np.isfinite(factor[t, i]) and np.isfinite(labels[t, i]):
                a = factor[t, i] / size_a - mean_a
                b = labels[t, i] / size_b - mean_b
                ab += a * b
                aa += a * a
                bb += b * b
        if aa > 0.0 and bb > 0.0:
            out[t] = min(1.0, max(-1.0, ab / np.sqrt(aa * bb)))
    return out
