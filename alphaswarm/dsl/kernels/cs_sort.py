"""Sort one day: a bucket code of 16 bits, two passes of 8 bits, and a repair of neighbours that share a code.

The code is an affine map of the value or, where most values crowd into little of the range (heavy tails), of
its bit pattern. Both keep the order, so only equal codes are undecided; they are put right by insertion. A
day on which that would be slow is sorted by all bytes of its keys.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.vectors import (
    fill,
    float_at,
    from_bits,
    int_at,
    itemsize,
    key_of,
    load,
    select,
    store,
    to_float,
    to_int,
)
from alphaswarm.dsl.kernels.words import LANE_STEP

__all__ = ["Keys", "Order", "sort_day"]

Order = NDArray[np.uint32]  # unsigned, so that no index is checked for being negative
Keys = NDArray[np.int64]

# Buckets of valid values; the last code is that of missing ones, which so come last.
BUCKETS, MISSING = 65279.0, 65535.0
# Below this variance of the values, on a scale of 0 to 1, the bit patterns spread better.
CROWDED = 1.0 / 256.0
# Elements that the repair may move, for each stock.
PATIENCE = 8
INFINITY = float("inf")


@part
def _encode(kind: Any, row: Any, keys: Any, codes: Any, width: Any) -> int:
    """Write the key and the code of each value of the row; gives how many are valid."""
    size = itemsize(kind)
    line = LANE_STEP * size
    zero, one = fill(kind, 0.0), fill(kind, 1.0)
    smallest, largest, counted = fill(kind, INFINITY), fill(kind, -INFINITY), zero
    for at in range(0, width * size, line):
        value = load(kind, row + at) + zero  # one pattern for both zeros
        smallest = select(value < smallest, value, smallest)
        largest = select(value > largest, value, largest)
        counted = counted + select(value == value, one, zero)
        store(kind, keys + at, from_bits(key_of(value)))
    low, high, count = _least(kind, codes, smallest), -_least(kind, codes, zero - largest), _sum(kind, codes, counted)
    first, scale = fill(kind, low), fill(kind, _scale(high - low))
    missing, top = fill(kind, MISSING), fill(kind, BUCKETS)
    total, squares, shrink = zero, zero, fill(kind, 1.0 / BUCKETS)
    for at in range(0, width * size, line):
        value = load(kind, row + at)
        valid = value == value
        code = _bounded((value - first) * scale, top)
        part_of_range = select(valid, code * shrink, zero)
        total = total + part_of_range
        squares = squares + part_of_range * part_of_range
        store(kind, codes + at, from_bits(to_int(select(valid, code, missing))))
    spare = codes + width * size
    mean = _sum(kind, spare, total) / max(count, 1.0)
    if not _sum(kind, spare, squares) / max(count, 1.0) - mean * mean > CROWDED and count > 1.0:
        first = to_float(key_of(fill(kind, low + 0.0)))
        last = to_float(key_of(fill(kind, high + 0.0)))
        store(kind, spare, last - first)
        scale = fill(kind, _scale(float_at(kind, spare)))
        for at in range(0, width * size, line):
            value = load(kind, row + at) + zero
            code = _bounded((to_float(key_of(value)) - first) * scale, top)
            store(kind, codes + at, from_bits(to_int(select(value == value, code, missing))))
    return int(count)


@part
def _bounded(code: Any, top: Any) -> Any:
    """No more than `top`, which also stands for what overflowed: an index must be one."""
    return select(code < top, code, top)


@part
def _scale(width: float) -> float:
    return BUCKETS / width if 0.0 < width < INFINITY else 0.0


@part
def _least(kind: Any, spare: Any, x: Any) -> float:
    store(kind, spare, x)
    least = INFINITY
    for lane in range(LANE_STEP):
        least = min(least, float_at(kind, spare + lane * itemsize(kind)))
    return least


@part
def _sum(kind: Any, spare: Any, x: Any) -> float:
    store(kind, spare, x)
    total = 0.0
    for lane in range(LANE_STEP):
        total += float_at(kind, spare + lane * itemsize(kind))
    return total


@part
def sort_day(kind: Any, row: Any, spare: Any, width: int, order: Order, other: Order, keys: Keys) -> tuple[int, int]:
    """Sort the `width` (whole vectors) values at `row`.

    Args:
        kind: what is stored.
        row: address of the values; NaN is missing.
        spare: address of room for 2 * width + LANES stored values.
        width: how many values there are.
        order: filled with the places of the valid values, smallest first.
        other: room for as many.
        keys: filled with integers in the order of the values, beside `order`.

    Returns:
        How many values are valid, and how many of them equal the one before.
    """
    size = itemsize(kind)
    codes, one = spare + width * size, np.uint32(1)
    count = _encode(kind, row, spare, codes, width)
    low, high = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    for i in range(width):
        code = int_at(kind, codes + i * size)
        low[code & 255] += one
        high[(code >> 8) & 255] += one
    before_low, before_high = np.uint32(0), np.uint32(0)
    for digit in range(256):
        here_low, here_high = low[digit], high[digit]
        low[digit], high[digit] = before_low, before_high
        before_low += here_low
        before_high += here_high
    for i in range(width):
        digit = int_at(kind, codes + i * size) & 255
        place = low[digit]
        other[place] = i
        low[digit] = place + one
    for j in range(width):
        i = other[j]
        digit = (int_at(kind, codes + i * size) >> 8) & 255
        place = high[digit]
        order[place] = i
        high[digit] = place + one
    ties = _repair(kind, spare, count, order, keys)
    if ties < 0:
        _sort_bytes(kind, spare, width, order, other)
        ties = _repair(kind, spare, count, order, keys)
    return count, ties


@part
def _repair(kind: Any, unsorted: Any, count: int, order: Order, keys: Keys) -> int:
    """Put neighbours right by insertion; gives the number of ties, or -1 where that takes too long."""
    size = itemsize(kind)
    ties, moves = 0, 0
    previous = np.int64(-0x8000000000000000)
    for j in range(count):
        i = order[j]
        key = int_at(kind, unsorted + i * size)
        if key >= previous:
            keys[j] = key
            ties += key == previous
            previous = key
            continue
        place = j
        while place > 0 and keys[place - 1] > key:
            keys[place], order[place] = keys[place - 1], order[place - 1]
            place -= 1
        keys[place], order[place] = key, i
        ties += place > 0 and keys[place - 1] == key
        moves += j - place
        if moves > PATIENCE * count:
            return -1
    return ties


@part
def _sort_bytes(kind: Any, unsorted: Any, width: int, order: Order, other: Order) -> None:
    """Sort by every byte of the keys, least significant first; missing values have the largest."""
    size = itemsize(kind)
    for i in range(width):
        order[i] = i
    starts = np.empty(256, np.uint32)
    for digit in range(size):
        flip = 128 if digit == size - 1 else 0  # the keys are signed
        starts[:] = 0
        for i in range(width):
            starts[((int_at(kind, unsorted + i * size) >> (8 * digit)) & 255) ^ flip] += 1
        before = np.uint32(0)
        for value in range(256):
            here = starts[value]
            starts[value] = before
            before += here
        for j in range(width):
            i = order[j]
            value = ((int_at(kind, unsorted + i * size) >> (8 * digit)) & 255) ^ flip
            other[starts[value]] = i
            starts[value] += 1
        for j in range(width):
            order[j] = other[j]
