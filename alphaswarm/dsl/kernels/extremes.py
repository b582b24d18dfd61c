"""Order, place and product within windows: what takes one look at each value."""

from __future__ import annotations

import math

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.columns import Flat
from alphaswarm.dsl.kernels.compensated import plus

__all__ = [
    "ARGMAX",
    "ARGMIN",
    "ENTROPY",
    "MAX",
    "MAX_DIFF",
    "MIN",
    "MIN_DIFF",
    "PRODUCT",
    "RANK",
    "SCALE",
    "extreme_value",
]

MIN, MAX, ARGMIN, ARGMAX, SCALE, MIN_DIFF, MAX_DIFF, RANK, PRODUCT, ENTROPY = range(20, 30)
ENTROPY_BINS = 10


@part
def _rank(x: Flat, start: int, stop: int, count: int) -> float:
    today = x[stop - 1]
    if math.isnan(today):
        return np.nan
    below, up_to = 0, 0
    for i in range(start, stop):
        below += x[i] < today
        up_to += x[i] <= today
    return (below + up_to + 1) / (2.0 * count)


@part
def _product(x: Flat, start: int, stop: int) -> float:
    product = 1.0
    for i in range(start, stop):
        if not math.isnan(x[i]):
            product *= x[i]
    return product


@part
def _entropy(x: Flat, start: int, stop: int, count: int, smallest: float, width: float) -> float:
    if width == 0.0:
        return 0.0
    if math.isinf(width):
        return np.nan
    bins = np.zeros(ENTROPY_BINS, np.int64)
    for i in range(start, stop):
        if not math.isnan(x[i]):
            bins[min(int((x[i] - smallest) / width * ENTROPY_BINS), ENTROPY_BINS - 1)] += 1
    high, low = 0.0, 0.0
    for held in bins:
        if held > 0:
            high, low = plus(high, low, held / count * math.log(held / count))
    return -(high + low)


@part
def extreme_value(op: int, x: Flat, start: int, stop: int, count: int) -> float:
    """The statistic `op` of the `count` >= 1 valid values of x[start:stop]; the last one is today's."""
    if op == RANK:
        return _rank(x, start, stop, count)
    if op == PRODUCT:
        return _product(x, start, stop)
    today: float = x[stop - 1]
    smallest, largest = np.inf, -np.inf
    low, high = stop - 1, stop - 1
    for i in range(start, stop):  # NaN compares false; later wins a tie
        if x[i] <= smallest:
            smallest, low = x[i], i
        if x[i] >= largest:
            largest, high = x[i], i
    if op == MIN:
        return smallest
    if op == MAX:
        return largest
    if op == ARGMIN:
        return float(stop - 1 - low)
    if op == ARGMAX:
        return float(stop - 1 - high)
    if op == MIN_DIFF:
        return today - smallest
    if op == MAX_DIFF:
        return today - largest
    if op == SCALE:
        return (today - smallest) / (largest - smallest)
    return _entropy(x, start, stop, count, smallest, largest - smallest)
