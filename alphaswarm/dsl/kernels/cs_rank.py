"""Ranks across the symbols of one day.

A few days are gathered from the blocks at a time, so that memory is read in long pieces.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.cs_sort import COUNTERS, Keys, Order, sort_day
from alphaswarm.dsl.kernels.probit import probit
from alphaswarm.dsl.kernels.vectors import (
    copy_value,
    fill,
    float_at,
    itemsize,
    load,
    load_bytes,
    select,
    store,
    store_float,
)
from alphaswarm.dsl.kernels.words import (
    BLOCK,
    BLOCK_BYTES,
    BLOCKS,
    COLUMNS,
    LANE_STEP,
    MEMBERS,
    NATURAL,
    OP,
    OUT,
    ROWS,
    SCRATCH,
    A,
    P,
    number,
)

__all__ = ["RANKS", "SCRATCH_ROWS", "TILE", "cs_rank", "gather_days", "scatter_days", "twice_ranks"]

RANKS = ("cs_rank", "cs_rank01", "cs_quantile_transform", "cs_bucket")
NAN = float("nan")
# Runs of equal values longer than this, on average, are cheaper to follow than every place on its own.
FEW = 8
# Days that are gathered together.
TILE = 8
# Rows of `width` stored values that a kernel of the cross-section needs as scratch: the days, their results, a
# table of values and room for sorting.
SCRATCH_ROWS = 2 * TILE + 7


@part
def gather_days(kind: Any, words: Any, source: Any, first: Any, days: Any, rows: Any) -> None:
    """Write `days` days of all blocks, members only, one after the other to `rows`."""
    size = itemsize(kind)
    width, line = words[BLOCKS] * BLOCK, BLOCK * size
    nan = fill(kind, NAN)
    for block in range(words[BLOCKS]):
        x = source + block * words[BLOCK_BYTES] + first * line
        for day in range(days):
            to = rows + (day * width + block * BLOCK) * size
            for lane in range(0, BLOCK, LANE_STEP):
                value = load(kind, x + day * line + lane * size)
                if words[MEMBERS] != 0:
                    member = load_bytes(words[MEMBERS] + (first + day) * width + block * BLOCK + lane)
                    value = select(member, value, nan)
                store(kind, to + lane * size, value)


@part
def scatter_days(kind: Any, words: Any, rows: Any, first: Any, days: Any) -> None:
    """The inverse of `gather_days`, to blocks, to the caller's own rows, or to both."""
    size = itemsize(kind)
    width, line = words[BLOCKS] * BLOCK, BLOCK * size
    if words[OUT] != 0:
        for block in range(words[BLOCKS]):
            out = words[OUT] + block * words[BLOCK_BYTES] + first * line
            for day in range(days):
                come = rows + (day * width + block * BLOCK) * size
                for lane in range(0, line, LANE_STEP * size):
                    store(kind, out + day * line + lane, load(kind, come + lane))
    if words[NATURAL] != 0:
        columns = words[COLUMNS]
        whole = columns - columns % LANE_STEP
        for day in range(days):
            come, out = rows + day * width * size, words[NATURAL] + (first + day) * columns * size
            for at in range(0, whole * size, LANE_STEP * size):
                store(kind, out + at, load(kind, come + at))
            for at in range(whole * size, columns * size, size):
                store_float(kind, out + at, float_at(kind, come + at))


@part
def _tabulate(kind: Any, op: Any, parameter: Any, count: int, table: Any) -> None:
    """Store at `table` what each possible rank becomes, addressed by twice the rank."""
    for twice in range(2, 2 * count + 1):
        if op == 0:
            value = twice / (2.0 * count)
        elif op == 1:
            value = (twice - 2) / (2.0 * (count - 1))
        elif op == 2:
            value = probit((twice - 1) / (2.0 * count))
        else:
            value = float((twice - 1) * int(parameter) // (2 * count))
        store_float(kind, table + twice * itemsize(kind), value)


@part
def twice_ranks(count: int, keys: Keys, starts: Order, twice: Order) -> None:
    """Twice the average rank, from 2 on, beside each sorted place; for a day with ties."""
    # one choice in each loop, which is no branch: ties come as they please
    start, previous = 0, keys[0]
    for j in range(count):
        start = start if keys[j] == previous else j
        previous = keys[j]
        starts[j] = start
    stop, following = count - 1, keys[count - 1]
    for j in range(count - 1, -1, -1):
        stop = stop if keys[j] == following else j
        following = keys[j]
        twice[j] = starts[j] + stop + 2


@part
def _write_runs(kind: Any, count: int, order: Order, keys: Keys, table: Any, result: Any) -> None:
    """Write the ranks of a day with few distinct values, one run of equal ones after the other."""
    size = itemsize(kind)
    first = 0
    while first < count:
        stop = first + 1
        while stop < count and keys[stop] == keys[first]:
            stop += 1
        value = table + (first + stop + 1) * size
        for j in range(first, stop):
            copy_value(kind, result + order[j] * size, value)
        first = stop


def cs_rank(kind: Any, words: Any) -> None:
    """Functions of the average rank on each of ROWS days."""
    size, width = itemsize(kind), words[BLOCKS] * BLOCK
    rows = words[SCRATCH]
    results = rows + TILE * width * size
    table = results + TILE * width * size
    spare = table + (2 * width + LANE_STEP) * size
    order, other = np.empty(width, np.uint32), np.empty(width, np.uint32)
    starts, twice = np.empty(width, np.uint32), np.empty(width, np.uint32)
    keys, counters = np.empty(width, np.int64), np.zeros(COUNTERS, np.uint32)
    nan = fill(kind, NAN)
    known = -1
    for first in range(0, words[ROWS], TILE):
        days = min(TILE, words[ROWS] - first)
        gather_days(kind, words, words[A], first, days, rows)
        for day in range(days):
            result = results + day * width * size
            count, ties = sort_day(kind, rows + day * width * size, spare, width, order, other, keys, counters)
            if count != known:
                _tabulate(kind, words[OP], number(words, P), count, table)
                known = count
            if count < width:
                for at in range(0, width * size, LANE_STEP * size):
                    store(kind, result + at, nan)
            if ties == 0:
                for j in range(count):
                    copy_value(kind, result + order[j] * size, table + (2 * j + 2) * size)
            elif FEW * (count - ties) < count:
                _write_runs(kind, count, order, keys, table, result)
            else:
                twice_ranks(count, keys, starts, twice)
                for j in range(count):
                    copy_value(kind, result + order[j] * size, table + twice[j] * size)
        scatter_days(kind, words, results, first, days)
