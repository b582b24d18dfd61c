"""Sums, means and central moments of windows.

Each window is summed anew and compensated, so nothing drifts, a spike that has left leaves no
trace and the order of the values changes no bit. Deviations are taken from the mean in a second pass (Chan, Golub and
LeVeque, 1983), less what its rounding left. Equal values deviate by exactly 0.
"""

from __future__ import annotations

import math

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.columns import Flat
from alphaswarm.dsl.kernels.compensated import plus

__all__ = [
    "AV_DIFF",
    "IR",
    "KURT",
    "MAD",
    "MEAN",
    "MOMENT",
    "SKEW",
    "STD",
    "SUM",
    "VAR",
    "ZSCORE",
    "center",
    "deviation_scale",
    "mean_of_sum",
    "moment_value",
    "spread",
    "total",
]

SUM, MEAN, AV_DIFF, VAR, STD, ZSCORE, IR, SKEW, KURT, MAD, MOMENT = range(11)
# Deviations outside this range are scaled before they are raised to the fourth power.
SMALL, LARGE = 1e-60, 1e60
# The reciprocal of the smallest numbers would overflow.
LARGEST_SCALE = 1e300
# 2 ** 27 + 1 splits a float into two halves (Dekker, 1971); beyond the bound it would overflow.
SPLITTER, SPLIT_BOUND = 134217729.0, 1e290


@part
def _compensated(x: Flat, start: int, stop: int) -> tuple[float, float]:
    """Sum of the valid values of x[start:stop] as a rounded part and what the rounding lost."""
    high, low = 0.0, 0.0
    for i in range(start, stop):
        value = x[i]
        if not math.isnan(value):
            high, low = plus(high, low, value)
    return high, low


@part
def total(x: Flat, start: int, stop: int) -> float:
    """Sum of the valid values of x[start:stop]."""
    high, low = _compensated(x, start, stop)
    return high + low


@part
def mean_of_sum(high: float, low: float, count: int, smallest: float, largest: float) -> tuple[float, float]:
    """The mean that belongs to the sum high + low, within the range of the values, and what its rounding left."""
    middle = min(max((high + low) / count, smallest), largest)
    if smallest == largest or abs(middle) > SPLIT_BOUND:
        return middle, 0.0
    split = SPLITTER * middle
    upper = split - (split - middle)
    rest = (high - upper * count) - (middle - upper) * count + low
    return middle, rest / count


@part
def center(x: Flat, start: int, stop: int, count: int) -> tuple[float, float, float, float]:
    """Mean of the `count` valid values, what its rounding left, smallest and largest value."""
    smallest, largest = np.inf, -np.inf
    for i in range(start, stop):
        value = x[i]
        if value < smallest:
            smallest = value
        if value > largest:
            largest = value
    high, low = _compensated(x, start, stop)
    middle, rest = mean_of_sum(high, low, count, smallest, largest)
    return middle, rest, smallest, largest


@part
def deviation_scale(middle: float, smallest: float, largest: float) -> float:
    """A factor that keeps powers of the deviations from `middle` within the range of a float."""
    reach = max(largest - middle, middle - smallest)
    if reach == 0.0 or SMALL < reach < LARGE:
        return 1.0
    return min(1.0 / reach, LARGEST_SCALE)


@part
def _powers(order: int, x: Flat, start: int, stop: int, middle: float, rest: float, scale: float) -> float:
    """Sum of the scaled deviations, each to the power `order`."""
    high, low = 0.0, 0.0
    for i in range(start, stop):
        value = x[i]
        if not math.isnan(value):
            deviation = ((value - middle) - rest) * scale
            power = deviation * deviation
            for _ in range(2, order):
                power *= deviation
            high, low = plus(high, low, power)
    return high + low


@part
def spread(x: Flat, start: int, stop: int, middle: float, rest: float, scale: float) -> float:
    """Sum of the squares of the scaled deviations."""
    return _powers(2, x, start, stop, middle, rest, scale)


@part
def _shape(op: int, x: Flat, start: int, stop: int, count: int, middle: float, rest: float, scale: float) -> float:
    """Skewness or kurtosis, adjusted for the number of values; 0 / 0 where that is too small."""
    order = 3 if op == SKEW else 4
    second = _powers(2, x, start, stop, middle, rest, scale)
    higher = _powers(order, x, start, stop, middle, rest, scale)
    n = float(count)
    if count < order:
        return np.nan
    if op == SKEW:
        return math.sqrt(n * (n - 1.0)) / (n - 2.0) * math.sqrt(n) * higher / (second * math.sqrt(second))
    excess = n * higher / (second * second) - 3.0
    return (n - 1.0) / ((n - 2.0) * (n - 3.0)) * ((n + 1.0) * excess + 6.0)


@part
def _absolute(x: Flat, start: int, stop: int, count: int, middle: float, rest: float) -> float:
    high, low = 0.0, 0.0
    for i in range(start, stop):
        value = x[i]
        if not math.isnan(value):
            high, low = plus(high, low, abs((value - middle) - rest))
    return (high + low) / count


@part
def _moment(order: int, x: Flat, start: int, stop: int, count: int, middle: float, rest: float, scale: float) -> float:
    if order == 1:
        return 0.0
    moment = _powers(order, x, start, stop, middle, rest, scale) / count
    for _ in range(order):
        moment /= scale
    return moment


@part
def moment_value(op: int, order: int, x: Flat, start: int, stop: int, count: int) -> float:
    """The statistic `op` of the `count` >= 1 valid values of x[start:stop]; the last one is today's."""
    if op == SUM:
        return total(x, start, stop)
    middle, rest, smallest, largest = center(x, start, stop, count)
    today: float = x[stop - 1]
    if op == MEAN:
        return middle
    if op == AV_DIFF:
        return today - middle
    if op == MAD:
        return _absolute(x, start, stop, count, middle, rest)
    scale = deviation_scale(middle, smallest, largest)
    if op == MOMENT:
        return _moment(order, x, start, stop, count, middle, rest, scale)
    if count < 2 or (smallest == largest and op not in (VAR, STD)):
        return np.nan
    if op in (SKEW, KURT):
        return _shape(op, x, start, stop, count, middle, rest, scale)
    variance = spread(x, start, stop, middle, rest, scale) / (count - 1)
    if op == VAR:
        return variance / scale / scale
    if op == STD:
        return math.sqrt(variance) / scale
    if op == ZSCORE:
        return ((today - middle) - rest) * scale / math.sqrt(variance)
    return middle * scale / math.sqrt(variance)
