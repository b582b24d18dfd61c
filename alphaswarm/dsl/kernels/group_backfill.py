"""`group_backfill`: a missing value from what its group had of late."""

from __future__ import annotations

import math

import numpy as np

from alphaswarm.core.jit import jit
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Codes, Flat, Series, by_row
from alphaswarm.dsl.kernels.moments import center, deviation_scale, spread

__all__ = ["group_backfill"]

# BRAIN's documented default for the fill value of a group: winsorised at four standard deviations.
BACKFILL_STDS = 4.0


@jit
def _winsorized_mean(values: Flat, start: int, stop: int) -> float:
    middle, rest, smallest, largest = center(values, start, stop, stop - start)
    if stop - start > 1:
        scale = deviation_scale(middle, smallest, largest)
        width = math.sqrt(spread(values, start, stop, middle, rest, scale) / (stop - start - 1)) / scale
        for i in range(start, stop):
            values[i] = min(max(values[i], middle - BACKFILL_STDS * width), middle + BACKFILL_STDS * width)
    return center(values, start, stop, stop - start)[0]


@jit
def _fill(x: Flat, codes: Codes, groups: int, width: int, d: int, out: Flat) -> None:
    """Fill `out`, a copy of `x`, where `codes` (flat, -1 outside) has a group and `x` is NaN."""
    values = np.empty(width * d)
    ends = np.empty(groups + 1, np.int64)
    numbers = np.empty(groups)
    for base in range(0, x.size, width):
        missing = 0
        for i in range(base, base + width):
            missing += codes[i] >= 0 and math.isnan(x[i])
        if missing == 0:
            continue
        first = max(0, base - (d - 1) * width)
        ends[:] = 0
        for i in range(first, base + width):
            if codes[i] >= 0 and not math.isnan(x[i]):
                ends[codes[i] + 1] += 1
        for group in range(groups):
            ends[group + 1] += ends[group]
        for i in range(first, base + width):
            if codes[i] >= 0 and not math.isnan(x[i]):
                values[ends[codes[i]]] = x[i]
                ends[codes[i]] += 1
        start = 0
        for group in range(groups):
            stop = ends[group]
            numbers[group] = _winsorized_mean(values, start, stop) if stop > start else np.nan
            start = stop
        for i in range(base, base + width):
            if codes[i] >= 0 and math.isnan(x[i]):
                out[i] = numbers[codes[i]]


def group_backfill(ctx: Context, x: Series, g: Codes, d: int) -> Series:
    """Fill a member's NaN by the winsorised mean of what its group had in the last `d` rows.

    A value counts where its symbol was in the universe and carried the label on its own day.
    """
    inside = np.where(ctx.universe, g, -1).astype(np.int32)
    out = np.where(inside >= 0, x, np.nan).reshape(-1)
    groups = max(int(inside.max(initial=-1)) + 1, 0)
    _fill(by_row(x), inside.reshape(-1), groups, x.shape[1], d, out)
    return out.reshape(x.shape)
