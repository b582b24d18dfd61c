"""Spearman correlation over windows: ranks follow the window, sums are whole numbers.

Each row of the window knows how many rows lie below it and how many not above it in either
series; a row that enters or leaves changes these counts by one. Twice a rank is their sum plus
one, an integer, so nothing is ever rounded before the last division.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import jit
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Flat, Kernel, Series, by_column, from_columns

__all__ = ["RANK_CORR"]


@jit
def _move(values: Flat, twice: NDArray[np.int64], moved: float, step: int) -> int:
    """Add (`step` 1) or take away (-1) a row of value `moved`; gives twice its own rank less one."""
    own = 0
    for i in range(values.size):
        value = values[i]  # NaN where there is no row: compares false
        twice[i] += step * ((moved < value) + (moved <= value))
        own += (value < moved) + (value <= moved)
    return own


@jit
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


@jit
def _rank_correlations(x: Flat, y: Flat, rows: int, d: int, min_obs: int, out: Flat) -> None:
    held_x, held_y = np.empty(d), np.empty(d)
    twice_x, twice_y = np.zeros(d, np.int64), np.zeros(d, np.int64)
    for base in range(0, x.size, rows):
        held_x[:] = np.nan
        held_y[:] = np.nan
        count = 0
        for t in range(base, base + rows):
            place = (t - base) % d
            if not math.isnan(held_x[place]):
                old_x, old_y = held_x[place], held_y[place]
                held_x[place], held_y[place] = np.nan, np.nan
                _move(held_x, twice_x, old_x, -1)
                _move(held_y, twice_y, old_y, -1)
                count -= 1
            if not math.isnan(x[t]):
                own_x, own_y = _move(held_x, twice_x, x[t], 1), _move(held_y, twice_y, y[t], 1)
                held_x[place], held_y[place] = x[t], y[t]
                twice_x[place], twice_y[place] = own_x + 2, own_y + 2
                count += 1
            if count >= min_obs:
                out[t] = _correlation(twice_x, twice_y, held_x, count)


def ts_rank_corr(_ctx: Context, x: Series, y: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Pearson correlation of the average ranks over the rows in which both are valid."""
    missing = np.isnan(x) | np.isnan(y)
    out = np.full(x.size, np.nan)
    columns = by_column(np.where(missing, np.nan, x)), by_column(np.where(missing, np.nan, y))
    _rank_correlations(*columns, x.shape[0], d, d if min_obs is None else min_obs, out)
    return from_columns(out, (x.shape[0], x.shape[1]))


RANK_CORR: dict[str, Kernel] = {"ts_rank_corr": ts_rank_corr}
