"""Product of windows, by prefixes and suffixes of blocks (see `block_sums`)."""

from __future__ import annotations

from typing import Any

from alphaswarm.dsl.kernels.block_sums import WIDE
from alphaswarm.dsl.kernels.elementwise import finite
from alphaswarm.dsl.kernels.vectors import fill, fill_wide, itemsize, load, load_wide, narrow, store, store_wide, wide
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OUT, ROWS, SCRATCH, STEP, WINDOW, A

__all__ = ["block_product"]

NAN = float("nan")


def block_product(kind: Any, words: Any) -> None:
    """Product of WINDOW rows."""
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    nan, one = fill(kind, NAN), fill_wide(1.0)
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        x, out = words[A] + lane, words[OUT] + lane
        store_wide(scratch + d * WIDE, one)
        for start in range(0, rows, d):
            product = one
            if start > 0:
                for back in range(1, d):
                    product = product * wide(load(kind, x + (start - back) * step))
                    store_wide(scratch + (d - back) * WIDE, product)
            product = one
            for t in range(start, min(start + d, rows)):
                product = product * wide(load(kind, x + t * step))
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                value = product * load_wide(scratch + (t - start + 1) * WIDE)
                store(kind, out + t * out_step, finite(narrow(kind, value)))
