"""Daily rank correlation of a factor with labels: the factor is sorted once, its ranks are never written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import entry, part
from alphaswarm.dsl.kernels.cs_rank import FEW, TILE, gather_days
from alphaswarm.dsl.kernels.cs_sort import COUNTERS, Keys, Order, sort_day
from alphaswarm.dsl.kernels.interpreter import run_days
from alphaswarm.dsl.kernels.layout import aligned
from alphaswarm.dsl.kernels.vectors import float_at, int32_at, itemsize, store_double, store_int32
from alphaswarm.dsl.kernels.words import (
    BLOCK,
    BLOCKS,
    CODES,
    KERNEL,
    LANE_STEP,
    NATURAL,
    ROWS,
    SCRATCH,
    WORDS,
    A,
)

__all__ = ["label_ranks", "rank_ic", "rank_labels"]

# A row of ranks holds how many labels there are, twice the rank of each stock (0 where missing) and the stocks in
# the order of their labels.


def rank_labels(kind: Any, words: Any) -> None:
    """Write a row of ranks for each of ROWS rows A of labels."""
    size, width = itemsize(kind), words[BLOCKS] * BLOCK
    order, other, keys = np.empty(width, np.uint32), np.empty(width, np.uint32), np.empty(width, np.int64)
    counters = np.zeros(COUNTERS, np.uint32)
    for t in range(words[ROWS]):
        ranks = words[NATURAL] + t * (1 + 2 * width) * 4
        count, _ = sort_day(kind, words[A] + t * width * size, words[SCRATCH], width, order, other, keys, counters)
        for i in range(1 + width):
            store_int32(ranks + 4 * i, 0)
        store_int32(ranks, count)
        first = 0
        while first < count:
            stop = first + 1
            while stop < count and keys[stop] == keys[first]:
                stop += 1
            for j in range(first, stop):
                store_int32(ranks + 4 * (1 + int(order[j])), first + stop + 1)
                store_int32(ranks + 4 * (1 + width + j), int(order[j]))
            first = stop


def label_ranks(labels: NDArray[np.float64], width: int) -> NDArray[np.int32]:
    """What `rank_ic` reads of labels [T, N], NaN where missing: one row of ranks for each day."""
    rows, columns = labels.shape
    wide = np.dtype(np.float64)
    padded = aligned(rows * width, wide).reshape(rows, width)
    padded[:, :columns], padded[:, columns:] = labels, np.nan
    ranks = np.empty((rows, 1 + 2 * width), np.int32)
    room = aligned(2 * width + LANE_STEP, wide)
    words = np.zeros((1, WORDS), np.int64)
    words[0, [ROWS, BLOCKS, A]] = rows, width // BLOCK, padded.ctypes.data
    words[0, [SCRATCH, NATURAL, KERNEL]] = room.ctypes.data, ranks.ctypes.data, entry(rank_labels, "float64", "int64")
    run_days(words, 1)
    return ranks


@part
def _among(kind: Any, row: Any, labels: Any, width: int, twice: Order) -> None:
    """Twice the rank of each label among the stocks whose factor is valid."""
    size = itemsize(kind)
    before, j, count = 0, 0, int32_at(labels)
    while j < count:
        tie = int32_at(labels + 4 * (1 + int32_at(labels + 4 * (1 + width + j))))
        stop, members = j, 0
        while stop < count:
            stock = int32_at(labels + 4 * (1 + width + stop))
            if int32_at(labels + 4 * (1 + stock)) != tie:
                break
            members += not math.isnan(float_at(kind, row + stock * size))
            stop += 1
        for k in range(j, stop):
            twice[int32_at(labels + 4 * (1 + width + k))] = 2 * before + members + 1
        before += members
        j = stop


@part
def _without_ties(count: int, order: Order, label: Any) -> tuple[int, int, int]:
    """Sums of squares and products of twice the ranks, from 2 on, of a factor in `order` and of those at `label`."""
    fl, ll = 0, 0
    for j in range(count):
        g = int32_at(label + 4 * int(order[j]))
        fl += (j + 1) * g
        ll += g * g
    return 2 * count * (count + 1) * (2 * count + 1) // 3, 2 * fl, ll


@part
def _by_runs(count: int, order: Order, keys: Keys, label: Any) -> tuple[int, int, int]:
    """As `_without_ties` for a factor of few distinct values, one run of equal ones after the other."""
    ff, fl, ll, first = 0, 0, 0, 0
    while first < count:
        stop, together, key = first, 0, keys[first]
        while stop < count and keys[stop] == key:
            g = int32_at(label + 4 * int(order[stop]))
            together += g
            ll += g * g
            stop += 1
        f = first + stop + 1
        ff += (stop - first) * f * f
        fl += f * together
        first = stop
    return ff, fl, ll


@part
def _with_ties(count: int, order: Order, keys: Keys, label: Any) -> tuple[int, int, int]:
    """As `_without_ties` for a factor with ties: twice a rank is the first place of its run plus the last one.

    A run of m takes (m ** 3 - m) / 3 from the sum of squares (Kendall, 1945): that is the sum of k * (k + 1) over its
    places k = 0 .. m - 1.
    """
    fl, ll, less = 0, 0, 0
    start, previous = 0, keys[0]
    for j in range(count):
        start = start if keys[j] == previous else j
        previous = keys[j]
        g = int32_at(label + 4 * int(order[j]))
        fl += (start + 1) * g
        ll += g * g
        less += (j - start) * (j - start + 1)
    stop, following = count - 1, keys[count - 1]
    for j in range(count - 1, -1, -1):
        stop = stop if keys[j] == following else j
        following = keys[j]
        fl += (stop + 1) * int32_at(label + 4 * int(order[j]))
    return 2 * count * (count + 1) * (2 * count + 1) // 3 - less, fl, ll


def rank_ic(kind: Any, words: Any) -> None:
    """Correlation of the average ranks of factor and labels, over the stocks that have both, on each of ROWS days."""
    size, width = itemsize(kind), words[BLOCKS] * BLOCK
    rows = words[SCRATCH]
    spare = rows + TILE * width * size
    order, other = np.empty(width, np.uint32), np.empty(width, np.uint32)
    among, keys, counters = np.empty(width, np.uint32), np.empty(width, np.int64), np.zeros(COUNTERS, np.uint32)
    for first in range(0, words[ROWS], TILE):
        days = min(TILE, words[ROWS] - first)
        gather_days(kind, words, words[A], first, days, rows)
        for day in range(days):
            row = rows + day * width * size
            labels = words[CODES] + 4 * (first + day) * (1 + 2 * width)
            count, ties = sort_day(kind, row, spare, width, order, other, keys, counters)
            label = labels + 4
            if count < int32_at(labels):
                _among(kind, row, labels, width, among)
                label = np.int64(among.ctypes.data)
            if ties == 0:
                ff, fl, ll = _without_ties(count, order, label)
            elif FEW * (count - ties) < count:
                ff, fl, ll = _by_runs(count, order, keys, label)
            else:
                ff, fl, ll = _with_ties(count, order, keys, label)
            total = float(count) * (count + 1.0)
            spread = (count * float(ff) - total * total) * (count * float(ll) - total * total)
            value = (count * float(fl) - total * total) / math.sqrt(spread) if spread > 0.0 else np.nan
            store_double(words[NATURAL] + (first + day) * 8, value)
