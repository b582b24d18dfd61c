"""Rank of today within its window, by comparing it with every earlier row: 8 or 16 stocks at once.

The sign of today less that row, summed, is how many rows are below less how many are above: the average rank on
ties, exactly. A difference of unequal floats is never 0, so its pattern as an integer, cut to -1 .. 1, is the sign.
That is faster than any ordered structure up to windows of several hundred rows.
"""

from __future__ import annotations

from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.vectors import (
    bits,
    clamp,
    fill,
    integers,
    itemsize,
    load,
    select,
    store,
    to_float,
)
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OUT, ROWS, STEP, WINDOW, A

__all__ = ["ts_rank"]

NAN = float("nan")


@part
def _sign(x: Any, y: Any, low: Any, high: Any) -> Any:
    return clamp(bits(x - y), low, high)


def ts_rank(kind: Any, words: Any) -> None:
    """Average-tie rank of today among WINDOW rows, over their number."""
    rows, d = words[ROWS], words[WINDOW]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    nan, zero, twice = fill(kind, NAN), fill(kind, 0.0), fill(kind, 2.0 * d)
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        x, out = words[A] + lane, words[OUT] + lane
        # LLVM would make comparisons of bounds that it knows, which are slower: it does not know that d is above 0
        high = integers(zero, min(d, 1))
        low = integers(zero, 0) - high
        missing = zero  # the first row from which on no value is missing
        for t in range(rows):
            today = load(kind, x + t * step)
            missing = select(today == today, missing, fill(kind, float(t + 1)))
            if t < d - 1:
                store(kind, out + t * out_step, nan)
                continue
            today = today + zero  # a positive zero less either zero is a positive one
            some, others = integers(today, d + 1), integers(today, 0)
            past = x + (t - d + 1) * step
            for _ in range((d - 1) // 4):
                a, b = load(kind, past), load(kind, past + step)
                c, e = load(kind, past + 2 * step), load(kind, past + 3 * step)
                some = some + _sign(today, a, low, high) + _sign(today, c, low, high)
                others = others + _sign(today, b, low, high) + _sign(today, e, low, high)
                past += 4 * step
            for _ in range((d - 1) % 4):
                some = some + _sign(today, load(kind, past), low, high)
                past += step
            rank = to_float(some + others) / twice
            store(kind, out + t * out_step, select(missing <= fill(kind, float(t - d + 1)), rank, nan))
