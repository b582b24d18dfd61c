"""Sums and means of windows, by prefixes and suffixes of blocks of `d` rows.

Cut time into blocks of d rows. A window of d rows is a suffix of one block and a prefix of the next (van Herk,
1992; Gil and Werman, 1993): two running sums give every window without taking anything away. So nothing
cancels and nothing drifts, a spike that has left leaves no trace, and NaN reaches exactly the windows that
hold it. The cost does not depend on d.

float32 is summed in float64. float64 is summed with what rounding loses, so that equal values in another order
give the same sum.
"""

from __future__ import annotations

from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.compensated import plus
from alphaswarm.dsl.kernels.elementwise import finite
from alphaswarm.dsl.kernels.vectors import (
    fill,
    fill_wide,
    fma,
    itemsize,
    load,
    load_wide,
    narrow,
    select,
    store,
    store_wide,
    wide,
)
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OP, OUT, ROWS, SCRATCH, STEP, WINDOW, A

__all__ = ["SUMS", "WIDE", "block_sums"]

SUMS = ("ts_sum", "ts_mean")
NAN = float("nan")
# Bytes of a wide vector.
WIDE = LANE_STEP * 8


@part
def _add(kind: Any, high: Any, low: Any, value: Any) -> tuple[Any, Any]:
    if itemsize(kind) == 8:
        return plus(high, low, value)
    return high + value, low


@part
def _mean(kind: Any, high: Any, low: Any, length: Any, share: Any, member: Any) -> Any:
    if itemsize(kind) == 4:
        return high * share
    # a window of equal values has their value, whatever a division rounds to
    product = length * member
    rest = ((high - product) - fma(length, member, fill_wide(0.0) - product)) + low
    return select(rest == fill_wide(0.0), member, (high + low) / length)


def block_sums(kind: Any, words: Any) -> None:
    """Sum or mean of WINDOW rows."""
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    nan, zero = fill(kind, NAN), fill_wide(0.0)
    length, share = fill_wide(float(d)), fill_wide(1.0 / d)
    mean = words[OP] == 1
    line = WIDE if size == 4 else 2 * WIDE  # the lost part stands beside the sum
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        x, out = words[A] + lane, words[OUT] + lane
        store_wide(scratch + d * line, zero)
        store_wide(scratch + d * line + line - WIDE, zero)
        for start in range(0, rows, d):
            high, low = zero, zero
            if start > 0:
                for back in range(1, d):
                    high, low = _add(kind, high, low, wide(load(kind, x + (start - back) * step)))
                    place = scratch + (d - back) * line
                    store_wide(place, high)
                    if size == 8:
                        store_wide(place + WIDE, low)
            high, low = zero, zero
            for t in range(start, min(start + d, rows)):
                today = wide(load(kind, x + t * step))
                high, low = _add(kind, high, low, today)
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                place = scratch + (t - start + 1) * line
                if size == 8:
                    all_high, all_low = plus(high, low + load_wide(place + WIDE), load_wide(place))
                else:
                    all_high, all_low = high + load_wide(place), zero
                value = _mean(kind, all_high, all_low, length, share, today) if mean else all_high + all_low
                store(kind, out + t * out_step, finite(narrow(kind, value)))
