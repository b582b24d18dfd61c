"""Daily rank correlation of a factor with labels: the factor is sorted once, its ranks are never written."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import jit, part
from alphaswarm.dsl.kernels.cs_rank import TILE, gather_days, twice_ranks
from alphaswarm.dsl.kernels.cs_sort import Order, sort_day
from alphaswarm.dsl.kernels.vectors import float_at, int32_at, itemsize, store_double
from alphaswarm.dsl.kernels.words import BLOCK, BLOCKS, CODES, NATURAL, ROWS, SCRATCH, A

__all__ = ["label_ranks", "rank_ic"]

# One row of labels holds how many there are, twice the rank of each stock (0 where missing) and the stocks in the
# order of their labels.
Ranks = NDArray[np.int32]


@jit
def label_ranks(values: NDArray[np.float64], ranks: Ranks) -> None:
    """Fill `ranks` [T, 1 + 2 * width] from labels [T, width], NaN where missing."""
    width = values.shape[1]
    for t in range(values.shape[0]):
        order = np.argsort(values[t])
        count = 0
        while count < width and not math.isnan(values[t, order[count]]):
            count += 1
        ranks[t, 0] = count
        ranks[t, 1:] = 0
        first = 0
        while first < count:
            last = first
            while last + 1 < count and values[t, order[last + 1]] == values[t, order[first]]:
                last += 1
            for j in range(first, last + 1):
                ranks[t, 1 + order[j]] = first + last + 2
                ranks[t, 1 + width + j] = order[j]
            first = last + 1


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


def rank_ic(kind: Any, words: Any) -> None:
    """Correlation of the average ranks of factor and labels, over the stocks that have both, on each of ROWS days."""
    size, width = itemsize(kind), words[BLOCKS] * BLOCK
    rows = words[SCRATCH]
    spare = rows + TILE * width * size
    order, other = np.empty(width, np.uint32), np.empty(width, np.uint32)
    starts, twice, label = np.empty(width, np.uint32), np.empty(width, np.uint32), np.empty(width, np.uint32)
    keys = np.empty(width, np.int64)
    for first in range(0, words[ROWS], TILE):
        days = min(TILE, words[ROWS] - first)
        gather_days(kind, words, words[A], first, days, rows)
        for day in range(days):
            row = rows + day * width * size
            labels = words[CODES] + 4 * (first + day) * (1 + 2 * width)
            count, ties = sort_day(kind, row, spare, width, order, other, keys)
            if ties == 0:
                for j in range(count):
                    twice[j] = 2 * j + 2
            else:
                twice_ranks(count, keys, starts, twice)
            if count == int32_at(labels):
                for i in range(width):
                    label[i] = int32_at(labels + 4 * (1 + i))
            else:
                _among(kind, row, labels, width, label)
            ff, fl, ll = 0, 0, 0
            for j in range(count):
                f, g = int(twice[j]), int(label[order[j]])
                ff += f * f
                fl += f * g
                ll += g * g
            total = float(count) * (count + 1.0)
            spread = (count * float(ff) - total * total) * (count * float(ll) - total * total)
            value = (count * float(fl) - total * total) / math.sqrt(spread) if spread > 0.0 else np.nan
            store_double(words[NATURAL] + (first + day) * 8, value)
