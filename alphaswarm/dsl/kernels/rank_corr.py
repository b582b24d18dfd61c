"""Spearman correlation over windows: ranks follow the window, sums are whole numbers.

Each row of the window knows how many rows lie below it and how many not above it in either
series; a row that enters or leaves changes these counts by one. Twice a rank is their sum plus
one, an integer, so nothing is ever rounded before the last division.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.columns import Flat, read_column, write_column
from alphaswarm.dsl.kernels.vectors import itemsize
from alphaswarm.dsl.kernels.words import BLOCK, MIN_OBS, OUT, ROWS, STEP, WINDOW, A, B

__all__ = ["rank_correlation"]


@part
def _move(values: Flat, twice: NDArray[np.int64], moved: float, step: int) -> int:
    """Add (`step` 1) or take away (-1) a row of value `moved`; gives twice its own rank less one."""
    own = 0
    for i in range(values.size):
        value = values[i]  # NaN where there is no row: compares false
        twice[i] += step * ((moved < value) + (moved <= value))
        own += (value < moved) + (value <= moved)
    return own


@part
def _correlation(a: NDArray[np.int64], b: NDArray[np.int64], held: Flat, count: int) -> float:
    sa, sb, aa, ab, bb = 0, 0, 0, 0, 0
    for i in range(held.size):
        if not math.isnan(held[i]):
            sa += a[i]
            sb += b[i]
            aa += a[i] * a[i]
            ab += a[i] * b[i]
            bb += b[i] * b[i]
    spread_a, spread_b = count * aa - sa * sa, count * bb - sb * sb
    if spread_a == 0 or spread_b == 0:
        return np.nan
    correlation = (count * ab - sa * sb) / math.sqrt(float(spread_a) * float(spread_b))
    return min(max(correlation, -1.0), 1.0)


def rank_correlation(kind: Any, words: Any) -> None:
    """Correlation of the average ranks over the rows of WINDOW in which both are valid."""
    rows, d, size = words[ROWS], words[WINDOW], itemsize(kind)
    x, y, out = np.empty(rows), np.empty(rows), np.empty(rows)
    held_x, held_y = np.empty(d), np.empty(d)
    twice_x, twice_y = np.zeros(d, np.int64), np.zeros(d, np.int64)
    for lane in range(0, BLOCK * size, size):
        read_column(kind, words[A] + lane, words[A + STEP], x)
        read_column(kind, words[B] + lane, words[B + STEP], y)
        held_x[:] = np.nan
        held_y[:] = np.nan
        count = 0
        for t in range(rows):
            place = t % d
            if not math.isnan(held_x[place]):
                old_x, old_y = held_x[place], held_y[place]
                held_x[place], held_y[place] = np.nan, np.nan
                _move(held_x, twice_x, old_x, -1)
                _move(held_y, twice_y, old_y, -1)
                count -= 1
            if not (math.isnan(x[t]) or math.isnan(y[t])):
                own_x, own_y = _move(held_x, twice_x, x[t], 1), _move(held_y, twice_y, y[t], 1)
                held_x[place], held_y[place] = x[t], y[t]
                twice_x[place], twice_y[place] = own_x + 2, own_y + 2
                count += 1
            out[t] = _correlation(twice_x, twice_y, held_x, count) if count >= words[MIN_OBS] else np.nan
        write_column(kind, words[OUT] + lane, words[OUT + STEP], out)
