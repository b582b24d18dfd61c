"""Quantiles of windows: a sorted copy of the window follows it down each column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.columns import Flat, read_column, write_column
from alphaswarm.dsl.kernels.vectors import itemsize
from alphaswarm.dsl.kernels.words import BLOCK, MIN_OBS, OP, OUT, ROWS, STEP, WINDOW, A, P, number

__all__ = ["ORDER", "median_distance", "middle_value", "order_statistic", "quantile_value"]

QUANTILE, MEDIAN, MEDIAN_DISTANCE = range(3)
ORDER = {"ts_medad": MEDIAN_DISTANCE, "ts_median": MEDIAN, "ts_quantile": QUANTILE}


@part
def quantile_value(ordered: Flat, start: int, count: int, q: float) -> float:
    """Linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996)."""
    place = q * (count - 1)
    below = math.floor(place)
    above = min(below + 1, count - 1)
    low: float = ordered[start + below]
    high: float = ordered[start + above]
    return low + (place - below) * (high - low)


@part
def middle_value(ordered: Flat, start: int, count: int) -> float:
    """Median: the mean of the middle two where the count is even."""
    middle: float = (ordered[start + (count - 1) // 2] + ordered[start + count // 2]) / 2.0
    return middle


@part
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


@part
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


def order_statistic(kind: Any, words: Any) -> None:
    """Quantile P, median or median distance of each window of WINDOW rows that holds MIN_OBS valid values."""
    rows, d, size = words[ROWS], words[WINDOW], itemsize(kind)
    x, out, ordered = np.empty(rows), np.empty(rows), np.empty(d + 1)
    for lane in range(0, BLOCK * size, size):
        read_column(kind, words[A] + lane, words[A + STEP], x)
        count = 0
        for t in range(rows):
            if t >= d and not math.isnan(x[t - d]):
                count -= 1
                for i in range(_place(ordered, count + 1, x[t - d]), count):
                    ordered[i] = ordered[i + 1]
            if not math.isnan(x[t]):
                place = _place(ordered, count, x[t])
                for i in range(count, place, -1):
                    ordered[i] = ordered[i - 1]
                ordered[place] = x[t]
                count += 1
            out[t] = np.nan
            if count >= words[MIN_OBS]:
                if words[OP] == QUANTILE:
                    out[t] = quantile_value(ordered, 0, count, number(words, P))
                elif words[OP] == MEDIAN:
                    out[t] = middle_value(ordered, 0, count)
                else:
                    out[t] = median_distance(ordered, 0, count)
        write_column(kind, words[OUT] + lane, words[OUT + STEP], out)
