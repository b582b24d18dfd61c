"""Sort one day: a bucket code of 16 bits, two passes of 8 bits, and a repair of neighbours that share a code.

The code is an affine map of the value or, where most values crowd into little of the range (heavy tails), of
its bit pattern. Both keep the order, so only equal codes are undecided; they are put right by insertion. A
day on which that is slow is sorted by all bytes of its keys, and so are the next few days at once.

Each pass moves elements from both ends towards the middle: two counters for a bucket, so that with few distinct
values an element seldom waits for the one before.
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
    integers,
    itemsize,
    key_of,
    load,
    select,
    store,
    to_float,
    to_int,
)
from alphaswarm.dsl.kernels.words import LANE_STEP

__all__ = ["COUNTERS", "Keys", "Order", "sort_day"]

Order = NDArray[np.uint32]  # unsigned, so that no index is checked for being negative
Keys = NDArray[np.int64]

# Buckets of valid values; the last code is that of missing ones, which so come last.
BUCKETS, MISSING = 65279.0, 65535.0
# Below this variance of the values, on a scale of 0 to 1, the bit patterns spread better.
CROWDED = 1.0 / 256.0
# Elements that the repair may move, for each stock: about what sorting by bytes costs.
PATIENCE = 3
# Days that are sorted by bytes after one that had to be.
WARY = 15
# Buckets of one digit. Room for the counters of two digits from both ends, and one more for the wary days.
DIGIT = 256
COUNTERS = 4 * DIGIT + 1
LARGEST_KEY = 2**63 - 1
INFINITY = float("inf")


@part
def _encode(kind: Any, row: Any, keys: Any, codes: Any, width: Any) -> int:
    """Write the key and the code of each value of the row; gives how many are valid."""
    size = itemsize(kind)
    line = LANE_STEP * size
    zero, one, last = fill(kind, 0.0), fill(kind, 1.0), LARGEST_KEY >> (64 - 8 * size)
    smallest, largest, counted = fill(kind, INFINITY), fill(kind, -INFINITY), zero
    for at in range(0, width * size, line):
        value = load(kind, row + at) + zero  # one pattern for both zeros
        smallest = select(value < smallest, value, smallest)
        largest = select(value > largest, value, largest)
        counted = counted + select(value == value, one, zero)
        key = key_of(value)
        store(kind, keys + at, from_bits(select(value == value, key, integers(value, last))))
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
def sort_day(
    kind: Any, row: Any, spare: Any, width: int, order: Order, other: Order, keys: Keys, counters: Order
) -> tuple[int, int]:
    """Sort the `width` (whole vectors) values at `row`.

    Args:
        kind: what is stored.
        row: address of the values; NaN is missing.
        spare: address of room for 2 * width + LANES stored values.
        width: how many values there are.
        order: filled with the places of the valid values, smallest first.
        other: room for as many.
        keys: filled with integers in the order of the values, beside `order`.
        counters: `COUNTERS` of them, 0 at the first of the days that share them.

    Returns:
        How many values are valid, and how many of them equal the one before.
    """
    size = itemsize(kind)
    codes = spare + width * size
    count = _encode(kind, row, spare, codes, width)
    ties = -1
    if counters[COUNTERS - 1] == 0:
        _sort_codes(kind, codes, width, order, other, counters)
        ties = _repair(kind, spare, count, order, keys)
        counters[COUNTERS - 1] = WARY if ties < 0 else 0
    else:
        counters[COUNTERS - 1] -= np.uint32(1)
    if ties < 0:
        _sort_bytes(kind, spare, width, order, other, counters)
        ties = _repair(kind, spare, count, order, keys)
    return count, ties


@part
def _sort_codes(kind: Any, codes: Any, width: int, order: Order, other: Order, counters: Order) -> None:
    """Bring the places of the values into the order of their codes."""
    size, one, half = itemsize(kind), np.uint32(1), width // 2
    # where each digit begins and, DIGIT later, ends: first of the low digits, then of the high ones
    for k in range(4 * DIGIT):
        counters[k] = 0
    for i in range(half):
        code, last = int_at(kind, codes + i * size), int_at(kind, codes + (width - 1 - i) * size)
        counters[code & 255] += one
        counters[2 * DIGIT + ((code >> 8) & 255)] += one
        counters[DIGIT + (last & 255)] += one
        counters[3 * DIGIT + ((last >> 8) & 255)] += one
    low, high = np.uint32(0), np.uint32(0)
    for digit in range(DIGIT):
        here_low = counters[digit] + counters[DIGIT + digit]
        here_high = counters[2 * DIGIT + digit] + counters[3 * DIGIT + digit]
        counters[digit], counters[2 * DIGIT + digit] = low, high
        low += here_low
        high += here_high
        counters[DIGIT + digit], counters[3 * DIGIT + digit] = low, high
    for i in range(half):
        digit = int_at(kind, codes + i * size) & 255
        place = counters[digit]
        other[place] = i
        counters[digit] = place + one
        back = width - 1 - i
        digit = DIGIT + (int_at(kind, codes + back * size) & 255)
        place = counters[digit] - one
        other[place] = back
        counters[digit] = place
    for j in range(half):
        i = other[j]
        digit = 2 * DIGIT + ((int_at(kind, codes + i * size) >> 8) & 255)
        place = counters[digit]
        order[place] = i
        counters[digit] = place + one
        i = other[width - 1 - j]
        digit = 3 * DIGIT + ((int_at(kind, codes + i * size) >> 8) & 255)
        place = counters[digit] - one
        order[place] = i
        counters[digit] = place


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
def _sort_bytes(kind: Any, unsorted: Any, width: int, order: Order, other: Order, counters: Order) -> None:
    """Sort by every byte of the keys, least significant first; missing values have the largest."""
    size, one = itemsize(kind), np.uint32(1)
    sign = np.int64(1) << (8 * size - 1)  # the keys are signed
    for i in range(width):
        order[i] = i
    for digit in range(size):
        for value in range(DIGIT):
            counters[value] = 0
        for i in range(width):
            counters[((int_at(kind, unsorted + i * size) ^ sign) >> (8 * digit)) & 255] += one
        if counters[((int_at(kind, unsorted) ^ sign) >> (8 * digit)) & 255] == width:
            continue  # all alike
        before = np.uint32(0)
        for value in range(DIGIT):
            here = counters[value]
            counters[value] = before
            before += here
        for j in range(width):
            i = order[j]
            value = ((int_at(kind, unsorted + i * size) ^ sign) >> (8 * digit)) & 255
            place = counters[value]
            other[place] = i
            counters[value] = place + one
        for j in range(width):
            order[j] = other[j]
