"""Quantiles of windows: a sorted copy of the window follows it down each column."""

from __future__ import annotations

import math

import numpy as np

from alphaswarm.core.jit import jit
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Flat, Kernel, Series, by_column, from_columns

__all__ = ["ORDER", "median_distance", "middle_value", "quantile_value"]

QUANTILE, MEDIAN, MEDIAN_DISTANCE = range(3)


@jit
def quantile_value(ordered: Flat, start: int, count: int, q: float) -> float:
    """Linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996)."""
    place = q * (count - 1)
    below = math.floor(place)
    above = min(below + 1, count - 1)
    low: float = ordered[start + below]
    high: float = ordered[start + above]
    return low + (place - below) * (high - low)


@jit
def middle_value(ordered: Flat, start: int, count: int) -> float:
    """Median: the mean of the middle two where the count is even."""
    middle: float = (ordered[start + (count - 1) // 2] + ordered[start + count // 2]) / 2.0
    return middle


@jit
def median_distance(ordered: Flat, start: int, count: int) -> float:
    """Median of the distances from the median, by walking outwards from it."""
    middle = middle_value(ordered, start, count)
    above = start
    while above < start + count and ordered[above] < middle:
        above += 1
    below = above - 1
    previous, distance = 0.0, 0.0
    for _ in range(count // 2 + 1):
        previous = distance
        down = middle - ordered[below] if below >= start else np.inf
        up = ordered[above] - middle if above < start + count else np.inf
        if down <= up:
            distance = down
            below -= 1
        else:
            distance = up
            above += 1
    return distance if count % 2 else (previous + distance) / 2.0


@jit
def _place(ordered: Flat, count: int, value: float) -> int:
    """How many of the first `count` are below `value`."""
    low, high = 0, count
    while low < high:
        half = (low + high) // 2
        if ordered[half] < value:
            low = half + 1
        else:
            high = half
    return low


@jit
def _ordered(op: int, q: float, x: Flat, rows: int, d: int, min_obs: int, out: Flat) -> None:
    ordered = np.empty(d + 1)
    for base in range(0, x.size, rows):
        count = 0
        for t in range(base, base + rows):
            if t - d >= base and not math.isnan(x[t - d]):
                count -= 1
                for i in range(_place(ordered, count + 1, x[t - d]), count):
                    ordered[i] = ordered[i + 1]
            if not math.isnan(x[t]):
                place = _place(ordered, count, x[t])
                for i in range(count, place, -1):
                    ordered[i] = ordered[i - 1]
                ordered[place] = x[t]
                count += 1
            if count < min_obs:
                continue
            if op == QUANTILE:
                out[t] = quantile_value(ordered, 0, count, q)
            elif op == MEDIAN:
                out[t] = middle_value(ordered, 0, count)
            else:
                out[t] = median_distance(ordered, 0, count)


def _operator(op: int) -> Kernel:
    def apply(_ctx: Context, x: Series, d: int, q: float = 0.0, *, min_obs: int | None = None) -> Series:
        out = np.full(x.size, np.nan)
        _ordered(op, float(q), by_column(x), x.shape[0], d, d if min_obs is None else min_obs, out)
        return from_columns(out, (x.shape[0], x.shape[1]))

    return apply


ORDER: dict[str, Kernel] = {
    "ts_medad": _operator(MEDIAN_DISTANCE),
    "ts_median": _operator(MEDIAN),
    "ts_quantile": _operator(QUANTILE),
}
