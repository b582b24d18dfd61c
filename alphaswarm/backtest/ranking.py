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

# A bucket with more elements than this is spread over buckets of its own.
_CROWD = 12
# The bucket sort gives a row up when it has spread so many elements per name.
_SPREAD_LIMIT = 8


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

    def among(self, keep: NDArray[np.bool_]) -> RankedRows:
        """The ranks of the names that `keep` [T, N] marks among each other, without sorting again.

        What ties stays tied, whatever the names that are left.
        """
        shape = self.ranks.shape
        if keep.shape != shape:
            raise DataInvalid(f"the names to keep must be marked in the shape of the ranks {shape}, got {keep.shape}")
        ranks = np.full(shape, np.nan)
        order, tie = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        count = np.zeros(shape[0], np.int64)
        _among(self.order, self.tie, self.count, keep, ranks, order, tie, count)
        return RankedRows(ranks, order, tie, count)


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
    start = np.empty(buckets, np.int32)
    code = np.empty(names, np.int32)
    name = np.empty(names + 1, np.int32)
    raw = np.empty(names + 1, np.float64)
    key = np.empty(names, np.float64)
    crowds = np.empty((names, 2), np.int64)
    for t in range(values.shape[0]):
        n = 0
        for i in range(names):
            ranks[t, i] = np.nan
            raw[n] = values[t, i]
            name[n] = i
            n += np.isfinite(values[t, i])
        count[t] = n
        if n == 0:
            continue
        if not _bucket_sort(raw, name, n, start, code, key, order[t], crowds):
            for i in range(names):
                name[i] = i
            slow = np.argsort(values[t])  # infinity and NaN: an unlikely row need not be fast
            k = 0
            for i in slow:
                if np.isfinite(values[t, i]):
                    key[k] = values[t, i]
                    order[t, k] = i
                    k += 1
        scale = _decimals(key, n)
        # two far below 2**53 that are more than 1 apart round to different numbers: most need no rounding
        plain = max(abs(key[0]), abs(key[n - 1])) * scale < 2.0**50
        group = 0
        first = 0
        for k in range(1, n + 1):
            if k < n and not (plain and (key[k] - key[k - 1]) * scale > 2.0) and _tied(key[k - 1], key[k], scale):
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
    n: int,
    start: NDArray[np.int32],
    code: NDArray[np.int32],
    key: NDArray[np.float64],
    order: NDArray[np.int32],
    crowds: NDArray[np.int64],
) -> bool:
    """Sort `raw` and `name` [:n], which are used up, into `key` and `order`; False where the row suits it badly.

    Buckets of equal width, and where the values crowd in some (a row with outliers), buckets within these.
    """
    crowds[0, 0] = 0
    crowds[0, 1] = n
    waiting = 1
    spread = 0
    while waiting > 0:
        waiting -= 1
        first = crowds[waiting, 0]
        size = crowds[waiting, 1] - first
        if spread > 0:
            for k in range(size):
                raw[k] = key[first + k]
                name[k] = order[first + k]
        spread += size
        if spread > _SPREAD_LIMIT * n:
            return False
        low, high = _extremes(raw[:size])
        buckets = min(2 * size, start.size)
        step = (buckets - 1) / (high - low) if high > low else 0.0
        if not (np.isfinite(step) and np.isfinite(high - low)):
            return False
        for k in range(size):
            code[k] = np.int32((raw[k] - low) * step)
        start[:buckets] = 0
        for k in range(size):
            start[code[k]] += 1
        total = 0
        most = 0
        for b in range(buckets):
            members = start[b]
            start[b] = total
            total += members
            most = max(most, members)
        if most > _CROWD and high > low:
            waiting = _crowded(start[:buckets], size, first, crowds, waiting)
        for k in range(size):
            place = start[code[k]]
            start[code[k]] = place + 1
            key[first + place] = raw[k]
            order[first + place] = name[k]
    _repair(key, order, n)
    return True


@jit
def _crowded(start: NDArray[np.int32], size: int, first: int, crowds: NDArray[np.int64], waiting: int) -> int:
    """Put the buckets that hold too many of the `size` elements from `first` on with those that are waiting."""
    for b in range(start.size):
        stop = start[b + 1] if b + 1 < start.size else size
        if stop - start[b] > _CROWD:
            crowds[waiting, 0] = first + start[b]
            crowds[waiting, 1] = first + stop
            waiting += 1
    return waiting


@jit
def _repair(key: NDArray[np.float64], order: NDArray[np.int32], n: int) -> None:
    """Buckets are in order, so only neighbours within one are out of place."""
    for k in range(1, n):
        value = key[k]
        if key[k - 1] <= value:
            continue
        who = order[k]
        j = k - 1
        while j >= 0 and key[j] > value:
            key[j + 1] = key[j]
            order[j + 1] = order[j]
            j -= 1
        key[j + 1] = value
        order[j + 1] = who


@jit
def _extremes(values: NDArray[np.float64]) -> tuple[float, float]:
    # four of each side by side: the processor need not wait for one to compare the next
    a = b = c = d = values[0]
    e = f = g = h = values[0]
    whole = values.size - values.size % 4
    for k in range(0, whole, 4):
        a, e = min(a, values[k]), max(e, values[k])
        b, f = min(b, values[k + 1]), max(f, values[k + 1])
        c, g = min(c, values[k + 2]), max(g, values[k + 2])
        d, h = min(d, values[k + 3]), max(h, values[k + 3])
    for k in range(whole, values.size):
        a, e = min(a, values[k]), max(e, values[k])
    return min(min(a, b), min(c, d)), max(max(e, f), max(g, h))


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
def _among(
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: NDArray[np.int64],
    keep: NDArray[np.bool_],
    ranks: NDArray[np.float64],
    order_left: NDArray[np.int32],
    tie_left: NDArray[np.int32],
    count_left: NDArray[np.int64],
) -> None:
    for t in range(count.size):
        n = 0
        group = -1
        last = -1
        first = 0
        for k in range(count[t] + 1):
            if k < count[t] and not keep[t, order[t, k]]:
                continue
            if k == count[t] or tie[t, k] != last:
                for j in range(first, n):
                    ranks[t, order_left[t, j]] = 0.5 * (first + 1 + n)
                if k == count[t]:
                    break
                last = tie[t, k]
                first = n
                group += 1
            order_left[t, n] = order[t, k]
            tie_left[t, n] = group
            n += 1
        count_left[t] = n


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
