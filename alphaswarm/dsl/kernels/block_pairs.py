"""Co-movement of two series over windows, by prefixes and suffixes of blocks (see `block_spread`).

Both series are taken from their values in the first row of the block. Five sums give the regression of the one
on the other; a missing value in either is missing in all five.
"""

from __future__ import annotations

from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.block_spread import out_of_range
from alphaswarm.dsl.kernels.block_sums import WIDE
from alphaswarm.dsl.kernels.elementwise import finite
from alphaswarm.dsl.kernels.vectors import (
    absolute,
    any_true,
    fill,
    fill_wide,
    fma,
    itemsize,
    load,
    load_wide,
    narrow,
    select,
    sqrt,
    store,
    store_wide,
    wide,
)
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OP, OUT, REFUSED, ROWS, SCRATCH, STEP, WINDOW, A, B

__all__ = ["PAIRS", "block_pairs"]

# The regressions are of the first argument on the second.
PAIRS = ("ts_cov", "ts_corr", "ts_rsq", "ts_beta", "ts_resid")
NAN = float("nan")
# What a perfect fit may leave by rounding, for each row: it is then taken as perfect, so that ties stay ties.
ROUNDING = 2.0**-51


@part
def _finish(op: Any, y: Any, x: Any, sums: Any, d: Any, rounding: Any) -> Any:
    sy, sx, syy, syx, sxx = sums
    share = fill_wide(1.0 / d)
    zero, one = fill_wide(0.0), fill_wide(1.0)
    length = fill_wide(float(d))
    # d times the centred sums, without a division: whole numbers stay exact, so ties stay ties
    together = fma(length, syx, zero - sy * sx)
    if op == 0:
        return together * fill_wide(1.0 / (d * (d - 1.0)))
    spread = fma(length, sxx, zero - sx * sx)
    if op >= 3:
        slope = together / spread
        if op == 3:
            return slope
        away, fitted = y - sy * share, slope * (x - sx * share)
        rest = away - fitted
        return select(absolute(rest) <= rounding * absolute(away), zero * slope, rest)
    correlation = together / sqrt(fma(length, syy, zero - sy * sy) * spread)
    perfect = absolute(correlation) >= one - rounding
    correlation = select(perfect, select(correlation > zero, one, zero - one), correlation)
    return correlation * correlation if op == 2 else correlation


def block_pairs(kind: Any, words: Any) -> None:
    """Covariance, correlation or regression over WINDOW rows."""
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    op = words[OP]
    size, y_step, x_step, out_step = itemsize(kind), words[A + STEP], words[B + STEP], words[OUT + STEP]
    nan, zero, rounding = fill(kind, NAN), fill_wide(0.0), fill_wide(ROUNDING * d)
    refused = zero != zero
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        y, x, out = words[A] + lane, words[B] + lane, words[OUT] + lane
        for place in range(5):
            store_wide(scratch + (5 * d + place) * WIDE, zero)
        for start in range(0, rows, d):
            anchor_y, anchor_x = wide(load(kind, y + start * y_step)), wide(load(kind, x + start * x_step))
            sy, sx, syy, syx, sxx = zero, zero, zero, zero, zero
            if start > 0:
                for back in range(1, d):
                    v = wide(load(kind, y + (start - back) * y_step)) - anchor_y
                    u = wide(load(kind, x + (start - back) * x_step)) - anchor_x
                    sy, sx, syy, syx, sxx = sy + v, sx + u, fma(v, v, syy), fma(v, u, syx), fma(u, u, sxx)
                    if size == 8:
                        refused = refused | out_of_range(v) | out_of_range(u)
                    place = scratch + 5 * (d - back) * WIDE
                    store_wide(place, sy)
                    store_wide(place + WIDE, sx)
                    store_wide(place + 2 * WIDE, syy)
                    store_wide(place + 3 * WIDE, syx)
                    store_wide(place + 4 * WIDE, sxx)
            sy, sx, syy, syx, sxx = zero, zero, zero, zero, zero
            for t in range(start, min(start + d, rows)):
                v = wide(load(kind, y + t * y_step)) - anchor_y
                u = wide(load(kind, x + t * x_step)) - anchor_x
                sy, sx, syy, syx, sxx = sy + v, sx + u, fma(v, v, syy), fma(v, u, syx), fma(u, u, sxx)
                if size == 8:
                    refused = refused | out_of_range(v) | out_of_range(u)
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                place = scratch + 5 * (t - start + 1) * WIDE
                sums = (
                    sy + load_wide(place),
                    sx + load_wide(place + WIDE),
                    syy + load_wide(place + 2 * WIDE),
                    syx + load_wide(place + 3 * WIDE),
                    sxx + load_wide(place + 4 * WIDE),
                )
                store(kind, out + t * out_step, finite(narrow(kind, _finish(op, v, u, sums, d, rounding))))
    if any_true(refused):
        words[REFUSED] = 1
