"""Operators across the symbols of one day: the whole market (`cs_*`) or within groups (`group_*`).

Members are visited from both ends of their order at once. So permuting the symbols permutes the
result and a change of sign changes its sign, and neither changes another bit of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.columns import Flat
from alphaswarm.dsl.kernels.compensated import plus
from alphaswarm.dsl.kernels.cs_rank import TILE, gather_days, scatter_days
from alphaswarm.dsl.kernels.cs_sort import COUNTERS, Order, sort_day
from alphaswarm.dsl.kernels.moments import deviation_scale, mean_of_sum
from alphaswarm.dsl.kernels.order import median_distance, middle_value, quantile_value
from alphaswarm.dsl.kernels.vectors import fill, float_at, int32_at, itemsize, store, store_float
from alphaswarm.dsl.kernels.words import BLOCK, BLOCKS, CODES, GROUPS, LANE_STEP, OP, ROWS, SCRATCH, A, P, number

__all__ = ["CROSS", "cross"]

RANK = 0
DEMEAN, ZSCORE, SCALE = range(10, 13)
MEAN, SUM, STD, COUNT = range(20, 24)
WINSORIZE, MAD_CLIP, QUANTILE_CLIP = range(30, 33)
FIRST_RELATIVE, FIRST_NUMBER, FIRST_CLIP = DEMEAN, MEAN, WINSORIZE
# Makes the median absolute deviation of a normal sample estimate its standard deviation.
MAD_TO_STD = 1.4826
CROSS = {
    "cs_demean": DEMEAN,
    "cs_mad_clip": MAD_CLIP,
    "cs_quantile_clip": QUANTILE_CLIP,
    "cs_scale": SCALE,
    "cs_winsorize": WINSORIZE,
    "cs_zscore": ZSCORE,
    "group_count": COUNT,
    "group_mean": MEAN,
    "group_neutralize": DEMEAN,
    "group_rank": RANK,
    "group_scale": SCALE,
    "group_std": STD,
    "group_sum": SUM,
    "group_zscore": ZSCORE,
}


@part
def _sum(values: Flat, start: int, stop: int, sign: float) -> tuple[float, float]:
    """Compensated sum of sorted values, as a rounded part and what the rounding lost.

    With `sign` -1 the values below zero count with the other sign: the sum of absolute values.
    """
    high, low = 0.0, 0.0
    first, last = start, stop - 1
    while first <= last:
        one = values[first] if values[first] >= 0.0 else sign * values[first]
        other = values[last] if values[last] >= 0.0 else sign * values[last]
        if first == last:
            other = 0.0
        pair, lost = plus(one, 0.0, other)
        high, low = plus(high, low, pair)
        low += lost
        first += 1
        last -= 1
    return high, low


@part
def _std(values: Flat, start: int, stop: int, middle: float, rest: float, scale: float) -> float:
    """Standard deviation (ddof 1) of the scaled sorted values; NaN for one value."""
    high, low = 0.0, 0.0
    first, last = start, stop - 1
    while first <= last:
        one, other = ((values[first] - middle) - rest) * scale, ((values[last] - middle) - rest) * scale
        high, low = plus(high, low, one * one + (other * other if first < last else 0.0))
        first += 1
        last -= 1
    return math.sqrt((high + low) / (stop - start - 1))


@part
def _mean(values: Flat, start: int, stop: int) -> tuple[float, float, float]:
    """Mean of sorted values, what its rounding left, and the scale for their deviations."""
    high, low = _sum(values, start, stop, 1.0)
    smallest, largest = values[start], values[stop - 1]
    middle, rest = mean_of_sum(high, low, stop - start, smallest, largest)
    return middle, rest, deviation_scale(middle, smallest, largest)


@part
def _one_number(op: int, values: Flat, start: int, stop: int) -> float:
    if op == COUNT:
        return float(stop - start)
    if op == SUM:
        high, low = _sum(values, start, stop, 1.0)
        return high + low
    middle, rest, scale = _mean(values, start, stop)
    return middle if op == MEAN else _std(values, start, stop, middle, rest, scale) / scale


@part
def _relative(op: int, parameter: float, values: Flat, start: int, stop: int, out: Flat) -> None:
    if op == SCALE:
        high, low = _sum(values, start, stop, -1.0)
        for i in range(start, stop):
            out[i] = values[i] / (high + low) * parameter
        return
    middle, rest, scale = _mean(values, start, stop)
    if op == DEMEAN:
        for i in range(start, stop):
            out[i] = values[i] - middle
        return
    width = _std(values, start, stop, middle, rest, scale)
    for i in range(start, stop):
        out[i] = ((values[i] - middle) - rest) * scale / width


@part
def _clipped(op: int, parameter: float, values: Flat, start: int, stop: int, out: Flat) -> None:
    count = stop - start
    if op == WINSORIZE:
        middle, rest, scale = _mean(values, start, stop)
        # one value alone is its own mean: nothing to clip
        reach = parameter * (_std(values, start, stop, middle, rest, scale) / scale) if count > 1 else 0.0
        low, high = middle - reach, middle + reach
    elif op == MAD_CLIP:
        middle = middle_value(values, start, count)
        reach = parameter * MAD_TO_STD * median_distance(values, start, count)
        low, high = middle - reach, middle + reach
    else:
        low = quantile_value(values, start, count, parameter)
        high = quantile_value(values, start, count, 1.0 - parameter)
    for i in range(start, stop):
        out[i] = min(max(values[i], low), high)


@part
def _ranked(values: Flat, start: int, stop: int, out: Flat) -> None:
    first = start
    while first < stop:
        last = first
        while last + 1 < stop and values[last + 1] == values[first]:
            last += 1
        for i in range(first, last + 1):
            out[i] = ((first - start) + (last - start) + 2) / (2.0 * (stop - start))
        first = last + 1


@part
def _apply(op: int, parameter: float, values: Flat, start: int, stop: int, out: Flat) -> None:
    """Fill `out` beside the sorted `values` of one group."""
    if op < FIRST_RELATIVE:
        _ranked(values, start, stop, out)
    elif op < FIRST_NUMBER:
        _relative(op, parameter, values, start, stop, out)
    elif op < FIRST_CLIP:
        out[start:stop] = _one_number(op, values, start, stop)
    else:
        _clipped(op, parameter, values, start, stop, out)


@part
def _by_group(codes: Any, groups: int, count: int, order: Order, other: Order, ends: Order) -> None:
    """Bring the sorted places `order` into the order of their groups; group g ends at ends[g + 1]."""
    ends[:] = 0
    for j in range(count):
        code = int32_at(codes + 4 * order[j])
        if code >= 0:
            ends[code + 1] += np.uint32(1)
    for group in range(groups):
        ends[group + 1] += ends[group]
    for j in range(count):
        code = int32_at(codes + 4 * order[j])
        if code >= 0:
            other[ends[code]] = order[j]
            ends[code] += np.uint32(1)
    for group in range(groups, 0, -1):
        ends[group] = ends[group - 1]
    ends[0] = 0


def cross(kind: Any, words: Any) -> None:
    """Apply OP to the members of each group, or to all, on each of ROWS days."""
    size, groups = itemsize(kind), words[GROUPS]
    width = words[BLOCKS] * BLOCK
    rows = words[SCRATCH]
    results = rows + TILE * width * size
    spare = results + TILE * width * size
    order, other, ends = np.empty(width, np.uint32), np.empty(width, np.uint32), np.empty(groups + 1, np.uint32)
    keys, values, out = np.empty(width, np.int64), np.empty(width), np.empty(width)
    counters = np.zeros(COUNTERS, np.uint32)
    for first in range(0, words[ROWS], TILE):
        days = min(TILE, words[ROWS] - first)
        gather_days(kind, words, words[A], first, days, rows)
        for day in range(days):
            row, result = rows + day * width * size, results + day * width * size
            for at in range(0, width * size, LANE_STEP * size):
                store(kind, result + at, fill(kind, np.nan))
            count, _ = sort_day(kind, row, spare, width, order, other, keys, counters)
            if words[CODES] == 0:
                ends[0], ends[1] = 0, count
                other, order = order, other
            else:
                _by_group(words[CODES] + 4 * (first + day) * width, groups, count, order, other, ends)
            for j in range(ends[groups]):
                values[j] = float_at(kind, row + other[j] * size)
            for group in range(groups):
                if ends[group + 1] > ends[group]:
                    _apply(words[OP], number(words, P), values, ends[group], ends[group + 1], out)
            for j in range(ends[groups]):
                value = out[j]
                store_float(kind, result + other[j] * size, value)
                value = float_at(kind, result + other[j] * size)
                store_float(kind, result + other[j] * size, value + (value - value))
        scatter_days(kind, words, results, first, days)
