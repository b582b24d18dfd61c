"""Skewness, kurtosis and central moments over windows, by prefixes and suffixes of blocks (see `block_spread`).

Sums of the first four powers of the deviations from the block's first row give the central moments. The anchor lies
in the window, so it is no farther from the mean than the window allows, and they lose few digits.

Where powers of deviations leave the range of a float the instruction is refused.
"""

from __future__ import annotations

import math
from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.block_spread import out_of_range
from alphaswarm.dsl.kernels.block_sums import WIDE
from alphaswarm.dsl.kernels.elementwise import finite
from alphaswarm.dsl.kernels.vectors import (
    any_true,
    fill,
    fill_wide,
    fma,
    itemsize,
    load,
    load_wide,
    narrow,
    sqrt,
    store,
    store_wide,
    wide,
)
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OP, OUT, REFUSED, ROWS, SCRATCH, STEP, WINDOW, A, P, number

__all__ = ["HIGHEST", "SHAPE", "block_shape"]

# The last one is the central moment of order P, 2 to `HIGHEST`.
SHAPE = ("ts_skew", "ts_kurt", "ts_moment")
HIGHEST = 4
NAN = float("nan")


@part
def _finish(op: Any, order: Any, sums: Any, d: Any) -> Any:
    s1, s2, s3, s4 = sums
    n = float(d)
    # d, d ** 2 and d ** 3 times the centred sums, without a division: whole numbers stay exact, so ties stay ties
    second = fma(fill_wide(n), s2, fill_wide(0.0) - s1 * s1)
    third = fma(s1, fma(fill_wide(2.0) * s1, s1, fill_wide(-3.0 * n) * s2), fill_wide(n * n) * s3)
    if op == 0:
        return fill_wide(math.sqrt(n * (n - 1.0)) / (n - 2.0)) * (third / (second * sqrt(second)))
    lower = fma(s1, fma(fill_wide(-3.0) * s1, s1, fill_wide(6.0 * n) * s2), fill_wide(-4.0 * n * n) * s3)
    fourth = fma(s1, lower, fill_wide(n * n * n) * s4)
    if op == 1:
        excess = fourth / (second * second) - fill_wide(3.0)
        return fma(fill_wide(n + 1.0), excess, fill_wide(6.0)) * fill_wide((n - 1.0) / ((n - 2.0) * (n - 3.0)))
    if order == 2:
        return second * fill_wide(1.0 / (n * n))
    if order == 3:
        return third * fill_wide(1.0 / (n * n * n))
    return fourth * fill_wide(1.0 / (n * n * n * n))


@part
def _add(u: Any, s1: Any, s2: Any, s3: Any, s4: Any) -> Any:
    square = u * u
    return s1 + u, s2 + square, fma(square, u, s3), fma(square, square, s4)


def block_shape(kind: Any, words: Any) -> None:
    """Skewness or kurtosis, adjusted for the number of rows, or a central moment, of WINDOW rows."""
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    op, order = words[OP], int(number(words, P))
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    nan, zero = fill(kind, NAN), fill_wide(0.0)
    refused = zero != zero
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        x, out = words[A] + lane, words[OUT] + lane
        for place in range(4):
            store_wide(scratch + (4 * d + place) * WIDE, zero)
        for start in range(0, rows, d):
            anchor = wide(load(kind, x + start * step))
            s1, s2, s3, s4 = zero, zero, zero, zero
            if start > 0:
                for back in range(1, d):
                    u = wide(load(kind, x + (start - back) * step)) - anchor
                    s1, s2, s3, s4 = _add(u, s1, s2, s3, s4)
                    if size == 8:
                        refused = refused | out_of_range(u)
                    place = scratch + 4 * (d - back) * WIDE
                    store_wide(place, s1)
                    store_wide(place + WIDE, s2)
                    store_wide(place + 2 * WIDE, s3)
                    store_wide(place + 3 * WIDE, s4)
            s1, s2, s3, s4 = zero, zero, zero, zero
            for t in range(start, min(start + d, rows)):
                u = wide(load(kind, x + t * step)) - anchor
                s1, s2, s3, s4 = _add(u, s1, s2, s3, s4)
                if size == 8:
                    refused = refused | out_of_range(u)
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                place = scratch + 4 * (t - start + 1) * WIDE
                sums = (
                    s1 + load_wide(place),
                    s2 + load_wide(place + WIDE),
                    s3 + load_wide(place + 2 * WIDE),
                    s4 + load_wide(place + 3 * WIDE),
                )
                store(kind, out + t * out_step, finite(narrow(kind, _finish(op, order, sums, d))))
    if any_true(refused):
        words[REFUSED] = 1
