"""Standard deviation and its relatives over windows, by prefixes and suffixes of blocks (see `block_sums`).

Deviations are taken from an anchor: the first row of the block, which lies in every window that the block
serves. So their squares sum to at most d times the centred ones, whatever the data, and a window of equal
values gives exactly 0.

Where squares of deviations leave the range of a float the instruction is refused.
"""

from __future__ import annotations

from typing import Any

from alphaswarm.core.jit import part
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
    sqrt,
    store,
    store_wide,
    wide,
)
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OP, OUT, REFUSED, ROWS, SCRATCH, STEP, WINDOW, A

__all__ = ["SPREAD", "block_spread", "out_of_range"]

SPREAD = ("ts_var", "ts_std", "ts_zscore", "ts_ir", "ts_av_diff")
NAN = float("nan")
# Deviations of which squares and their products keep their digits.
SMALL, LARGE = 1e-70, 1e70


@part
def out_of_range(deviation: Any) -> Any:
    """Mask of deviations whose squares leave the range of a float."""
    size = absolute(deviation)
    return (size > fill_wide(LARGE)) | ((size < fill_wide(SMALL)) & (size > fill_wide(0.0)))


@part
def _finish(op: Any, anchor: Any, today: Any, first: Any, second: Any, d: Any) -> Any:
    mean = first * fill_wide(1.0 / d)
    if op == 4:
        return today - mean
    # without a division before the difference: whole numbers stay exact, so ties stay ties
    variance = fma(fill_wide(float(d)), second, fill_wide(0.0) - first * first) * fill_wide(1.0 / (d * (d - 1.0)))
    if op == 0:
        return variance
    deviation = sqrt(variance)
    if op == 1:
        return deviation
    return (today - mean if op == 2 else anchor + mean) / deviation


def block_spread(kind: Any, words: Any) -> None:
    """Variance, standard deviation, z-score, mean over deviation, or distance from the mean, of WINDOW rows."""
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    op = words[OP]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    nan, zero = fill(kind, NAN), fill_wide(0.0)
    refused = zero != zero
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        x, out = words[A] + lane, words[OUT] + lane
        store_wide(scratch + 2 * d * WIDE, zero)
        store_wide(scratch + (2 * d + 1) * WIDE, zero)
        for start in range(0, rows, d):
            anchor = wide(load(kind, x + start * step))
            first, second = zero, zero
            if start > 0:
                for back in range(1, d):
                    u = wide(load(kind, x + (start - back) * step)) - anchor
                    first = first + u
                    second = fma(u, u, second)
                    if size == 8:
                        refused = refused | out_of_range(u)
                    place = scratch + 2 * (d - back) * WIDE
                    store_wide(place, first)
                    store_wide(place + WIDE, second)
            first, second = zero, zero
            for t in range(start, min(start + d, rows)):
                u = wide(load(kind, x + t * step)) - anchor
                first = first + u
                second = fma(u, u, second)
                if size == 8:
                    refused = refused | out_of_range(u)
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                place = scratch + 2 * (t - start + 1) * WIDE
                value = _finish(op, anchor, u, first + load_wide(place), second + load_wide(place + WIDE), d)
                store(kind, out + t * out_step, finite(narrow(kind, value)))
    if any_true(refused):
        words[REFUSED] = 1
