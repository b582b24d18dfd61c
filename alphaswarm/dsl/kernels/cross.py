"""Operators across the symbols of one day: the whole market (`cs_*`) or within groups (`group_*`).

Members are visited from both ends of their order at once. So permuting the symbols permutes the
result and a change of sign changes its sign, and neither changes another bit of it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import jit
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Codes, Flat, Kernel, Series, by_row, finite
from alphaswarm.dsl.kernels.compensated import plus
from alphaswarm.dsl.kernels.moments import deviation_scale, mean_of_sum
from alphaswarm.dsl.kernels.order import median_distance, middle_value, quantile_value

__all__ = ["CROSS"]

RANK, RANK01, PROBABILITY, BUCKET = range(4)
DEMEAN, ZSCORE, SCALE = range(10, 13)
MEAN, SUM, STD, COUNT = range(20, 24)
WINSORIZE, MAD_CLIP, QUANTILE_CLIP = range(30, 33)
FIRST_RELATIVE, FIRST_NUMBER, FIRST_CLIP = DEMEAN, MEAN, WINSORIZE
# Makes the median absolute deviation of a normal sample estimate its standard deviation.
MAD_TO_STD = 1.4826

Members = NDArray[np.int64]


@jit
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


@jit
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


@jit
def _ranked(op: int, parameter: float, values: Flat, members: Members, start: int, stop: int, out: Flat) -> None:
    count = stop - start
    first = start
    while first < stop:
        last = first
        while last + 1 < stop and values[last + 1] == values[first]:
            last += 1
        twice = (first - start) + (last - start) + 2  # twice the average rank: a whole number
        if op == RANK:
            result = twice / (2.0 * count)
        elif op == RANK01:
            result = (twice - 2) / (2.0 * (count - 1))
        elif op == PROBABILITY:
            result = (twice - 1) / (2.0 * count)
        else:
            result = float((twice - 1) * int(parameter) // (2 * count))
        for i in range(first, last + 1):
            out[members[i]] = result
        first = last + 1


@jit
def _mean(values: Flat, start: int, stop: int) -> tuple[float, float, float]:
    """Mean of sorted values, what its rounding left, and the scale for their deviations."""
    high, low = _sum(values, start, stop, 1.0)
    smallest, largest = values[start], values[stop - 1]
    middle, rest = mean_of_sum(high, low, stop - start, smallest, largest)
    return middle, rest, deviation_scale(middle, smallest, largest)


@jit
def _one_number(op: int, values: Flat, start: int, stop: int) -> float:
    if op == COUNT:
        return float(stop - start)
    if op == SUM:
        high, low = _sum(values, start, stop, 1.0)
        return high + low
    middle, rest, scale = _mean(values, start, stop)
    return middle if op == MEAN else _std(values, start, stop, middle, rest, scale) / scale


@jit
def _relative(op: int, parameter: float, values: Flat, members: Members, start: int, stop: int, out: Flat) -> None:
    if op == SCALE:
        high, low = _sum(values, start, stop, -1.0)
        for i in range(start, stop):
            out[members[i]] = values[i] / (high + low) * parameter
        return
    middle, rest, scale = _mean(values, start, stop)
    if op == DEMEAN:
        for i in range(start, stop):
            out[members[i]] = values[i] - middle
        return
    width = _std(values, start, stop, middle, rest, scale)
    for i in range(start, stop):
        out[members[i]] = ((values[i] - middle) - rest) * scale / width


@jit
def _clipped(op: int, parameter: float, values: Flat, members: Members, start: int, stop: int, out: Flat) -> None:
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
        out[members[i]] = min(max(values[i], low), high)


@jit
def _across(
    op: int, parameter: float, x: Flat, order: Members, codes: Codes, groups: int, width: int, out: Flat
) -> None:
    """Apply `op` to each group of each row; `codes` are flat, -1 for cells outside."""
    values, members = np.empty(width), np.empty(width, np.int64)
    ends = np.empty(groups + 1, np.int64)
    for base in range(0, x.size, width):
        ends[:] = 0
        for i in range(base, base + width):
            if codes[i] >= 0 and not math.isnan(x[i]):
                ends[codes[i] + 1] += 1
        for group in range(groups):
            ends[group + 1] += ends[group]
        for place in range(base, base + width):  # ascending, so each group is sorted too
            i = base + order[place]
            if codes[i] >= 0 and not math.isnan(x[i]):
                at = ends[codes[i]]
                values[at], members[at] = x[i], i
                ends[codes[i]] += 1
        start = 0
        for group in range(groups):
            stop = ends[group]
            if stop > start:
                if op < FIRST_RELATIVE:
                    _ranked(op, parameter, values, members, start, stop, out)
                elif op < FIRST_NUMBER:
                    _relative(op, parameter, values, members, start, stop, out)
                elif op < FIRST_CLIP:
                    number = _one_number(op, values, start, stop)
                    for i in range(start, stop):
                        out[members[i]] = number
                else:
                    _clipped(op, parameter, values, members, start, stop, out)
            start = stop


def _within(ctx: Context, op: int, x: Series, codes: Codes | None, parameter: float) -> Series:
    inside = np.where(ctx.universe, 0 if codes is None else codes, -1).astype(np.int32)
    out = np.full(x.size, np.nan)
    order = np.argsort(x, axis=1).reshape(-1)
    groups = max(int(inside.max(initial=-1)) + 1, 0)
    flat = by_row(x)
    _across(op, float(parameter), flat, order, inside.reshape(-1), groups, x.shape[1], out)
    return finite(out.reshape(x.shape))


def _market(op: int) -> Kernel:
    def apply(ctx: Context, x: Series, parameter: float = 0.0) -> Series:
        return _within(ctx, op, x, None, parameter)

    return apply


def _grouped(op: int) -> Kernel:
    def apply(ctx: Context, x: Series, g: Codes) -> Series:
        return _within(ctx, op, x, g, 1.0)

    return apply


def cs_scale(ctx: Context, x: Series, *, a: float = 1.0) -> Series:
    """Scale so that the absolute values sum to `a`."""
    return _within(ctx, SCALE, x, None, a)


def cs_quantile_transform(ctx: Context, x: Series) -> Series:
    """The normal quantile of (average rank - 0.5) / count."""
    from scipy.special import ndtri

    quantiles: Series = ndtri(_within(ctx, PROBABILITY, x, None, 0.0))
    return quantiles


CROSS: dict[str, Kernel] = {
    "cs_bucket": _market(BUCKET),
    "cs_demean": _market(DEMEAN),
    "cs_mad_clip": _market(MAD_CLIP),
    "cs_quantile_clip": _market(QUANTILE_CLIP),
    "cs_quantile_transform": cs_quantile_transform,
    "cs_rank": _market(RANK),
    "cs_rank01": _market(RANK01),
    "cs_scale": cs_scale,
    "cs_winsorize": _market(WINSORIZE),
    "cs_zscore": _market(ZSCORE),
    "group_count": _grouped(COUNT),
    "group_mean": _grouped(MEAN),
    "group_neutralize": _grouped(DEMEAN),
    "group_rank": _grouped(RANK),
    "group_scale": _grouped(SCALE),
    "group_std": _grouped(STD),
    "group_sum": _grouped(SUM),
    "group_zscore": _grouped(ZSCORE),
}
