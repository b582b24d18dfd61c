"""Average ranks of every row of a factor: sorted once, used by weights, rank IC and quantiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core import DataInvalid
from alphaswarm.core.jit import jit

__all__ = ["MIN_NAMES", "RankedRows", "rank_rows", "rerank"]

# Fewer names than this make no cross-section: under independence a rank correlation over n names
# has standard deviation 1/sqrt(n - 1), 0.19 at 30, some ten times what a real factor shows.
MIN_NAMES = 30

# Values that agree to this many decimals tie. Two orders of summing the same returns differ in
# the last bits, and these must not decide who is ahead.
TIE_DECIMALS = 12
# But a factor that is small by nature (return over dollar volume: 1e-10) keeps so many digits.
TIE_DIGITS = 8

# The bucket sort gives a row up when repairing it moves more than this many elements per name.
_REPAIR_LIMIT = 8


@dataclass(frozen=True, eq=False)
class RankedRows:
    """The ranks of a [T, N] array, row by row. NaN and infinity are missing.

    Attributes:
        ranks: float64 [T, N], 1 = smallest, ties share their average; NaN where missing.
        order: int32 [T, N], the names of the row from smallest to largest; `count` of them.
        tie: int32 [T, N], beside `order`: the number of the group of equal values, from 0.
        count: int64 [T], how many names the row ranks.
    """

    ranks: NDArray[np.float64]
    order: NDArray[np.int32]
    tie: NDArray[np.int32]
    count: NDArray[np.int64]

    def rows(self, start: int, stop: int) -> RankedRows:
        """Rows `start` to `stop` (exclusive), without copying."""
        return RankedRows(self.ranks[start:stop], self.order[start:stop], self.tie[start:stop], self.count[start:stop])


def rank_rows(values: ArrayLike) -> RankedRows:
    """Rank each row of `values` [T, N] on its own.

    Values tie when they agree after rounding to 12 decimals; in a row of scale above 1 to 12 digits
    of that scale, below 1e-4 to 8 digits of it. The scale of a row is the larger of its two
    quartiles in absolute value (of its extremes, where both are 0), taken up to a power of ten.
    Turning the sign of a row mirrors its ranks exactly.

    Raises:
        DataInvalid: `values` is not a [T, N] array of numbers.
    """
    array = np.ascontiguousarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise DataInvalid(f"a factor must have shape [T, N], got {array.ndim} dimensions")
    ranks = np.empty(array.shape, np.float64)
    order = np.zeros(array.shape, np.int32)
    tie = np.zeros(array.shape, np.int32)
    count = np.zeros(array.shape[0], np.int64)
    _rank_rows(array, ranks, order, tie, count)
    for filled in (ranks, order, tie, count):
        filled.setflags(write=False)
    return RankedRows(ranks, order, tie, count)


@jit
def _rank_rows(
    values: NDArray[np.float64],
    ranks: NDArray[np.float64],
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: NDArray[np.int64],
) -> None:
    names = values.shape[1]
    buckets = 1
    while buckets < 2 * names:
        buckets *= 2
    start = np.empty(buckets + 1, np.int32)
    code = np.empty(names, np.int32)
    name = np.empty(names, np.int32)
    raw = np.empty(names, np.float64)
    key = np.empty(names, np.float64)
    for t in range(values.shape[0]):
        n = 0
        for i in range(names):
            ranks[t, i] = np.nan
            if np.isfinite(values[t, i]):
                raw[n] = values[t, i]
                name[n] = i
                n += 1
        count[t] = n
        if n == 0:
            continue
        if not _bucket_sort(raw[:n], name, start, code, key, order[t]):
            slow = np.argsort(raw[:n])
            for k in range(n):
                key[k] = raw[slow[k]]
                order[t, k] = name[slow[k]]
        scale = _decimals(key, n)
        group = 0
        first = 0
        for k in range(1, n + 1):
            if k < n and _tied(key[k - 1], key[k], scale):
                continue
            average = 0.5 * (first + 1 + k)
            for j in range(first, k):
                tie[t, j] = group
                ranks[t, order[t, j]] = average
            group += 1
            first = k


@jit
def _bucket_sort(
    raw: NDArray[np.float64],
    name: NDArray[np.int32],
    start: NDArray[np.int32],
    code: NDArray[np.int32],
    key: NDArray[np.float64],
    order: NDArray[np.int32],
) -> bool:
    """Sort `raw` into `key` and `order`; False, with both unfinished, where the row suits it badly."""
    n = raw.size
    low = raw[0]
    high = raw[0]
    for k in range(n):
        low = min(low, raw[k])
        high = max(high, raw[k])
    step = (start.size - 2) / (high - low) if high > low else 0.0
    if not (np.isfinite(step) and np.isfinite(high - low)):
        return False
    start[:] = 0
    for k in range(n):
        bucket = np.int32((raw[k] - low) * step)
        code[k] = bucket
        start[bucket + 1] += 1
    for b in range(start.size - 1):
        start[b + 1] += start[b]
    for k in range(n):
        place = start[code[k]]
        start[code[k]] = place + 1
        key[place] = raw[k]
        order[place] = name[k]
    # buckets are in order, so only neighbours within one are out of place
    moves = 0
    for k in range(1, n):
        value = key[k]
        who = order[k]
        j = k - 1
        while j >= 0 and key[j] > value:
            key[j + 1] = key[j]
            order[j + 1] = order[j]
            j -= 1
        key[j + 1] = value
        order[j + 1] = who
        moves += k - 1 - j
        if moves > _REPAIR_LIMIT * n:
            return False
    return True


@jit
def _tied(low: float, high: float, scale: float) -> bool:
    # an outlier may overflow when scaled; to itself it is equal all the same
    return low == high or (np.isfinite(high * scale) and np.rint(low * scale) == np.rint(high * scale))


@jit
def _decimals(key: NDArray[np.float64], n: int) -> float:
    """The factor that brings sorted values to whole units of the last decimal that counts."""
    quarter = (n - 1) // 4
    size = max(abs(key[quarter]), abs(key[n - 1 - quarter]))
    if size == 0.0:
        size = max(abs(key[0]), abs(key[n - 1]))
    if size == 0.0:
        return 1.0
    power = np.ceil(np.log10(size))
    decimals = max(min(TIE_DECIMALS, TIE_DECIMALS - power), TIE_DIGITS - power)
    return float(10.0 ** min(decimals, 300.0))  # beyond lie only denormal numbers


@jit
def rerank(
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: int,
    keep: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Average ranks of one sorted row among those of its names where `keep` [N] is not NaN.

    Without sorting again: a walk along `order`. Other places of `out` [N] become NaN.
    """
    out[:] = np.nan
    rank = 0
    k = 0
    while k < count:
        stop = k
        members = 0
        while stop < count and tie[stop] == tie[k]:
            if not np.isnan(keep[order[stop]]):
                members += 1
            stop += 1
        average = rank + 0.5 * (members + 1)
        for j in range(k, stop):
            if not np.isnan(keep[order[j]]):
                out[order[j]] = average
        rank += members
        k = stop
