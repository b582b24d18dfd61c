"""Between the caller's [T, N] rows and blocks of stocks."""

from __future__ import annotations

from typing import Any

from alphaswarm.dsl.kernels.elementwise import finite
from alphaswarm.dsl.kernels.vectors import (
    double_at,
    fill,
    float_at,
    itemsize,
    load,
    load_bytes,
    load_wide,
    narrow,
    select,
    store,
    store_first,
    store_float,
)
from alphaswarm.dsl.kernels.words import BLOCK, INDEX, LANE_STEP, OUT, ROWS, STEP, A, B, P, number

__all__ = ["to_blocks", "to_rows"]

NAN = float("nan")
# P tells a kernel how many columns there are.


def to_blocks(kind: Any, words: Any) -> None:
    """Fill a block from 16 columns of float64 rows; stocks beyond the last column are NaN."""
    size = itemsize(kind)
    held = min(int(number(words, P)) - words[INDEX] * BLOCK, BLOCK)
    out, x, out_step, step = words[OUT], words[A], words[OUT + STEP], words[A + STEP]
    nan = fill(kind, NAN)
    for _ in range(words[ROWS]):
        for lane in range(0, BLOCK, LANE_STEP):
            if lane + LANE_STEP <= held:
                store(kind, out + lane * size, finite(narrow(kind, load_wide(x + lane * 8))))
            else:
                store(kind, out + lane * size, nan)
                for one in range(lane, held):
                    value = double_at(x + one * 8)
                    store_float(kind, out + one * size, value)
                    value = float_at(kind, out + one * size)
                    store_float(kind, out + one * size, value + (value - value))
        out += out_step
        x += step


def to_rows(kind: Any, words: Any) -> None:
    """Write a block to 16 columns of rows, NaN where the bytes B say that the stock is no member that day."""
    size = itemsize(kind)
    held = min(int(number(words, P)) - words[INDEX] * BLOCK, BLOCK)
    out, x, members = words[OUT], words[A], words[B]
    out_step, step, members_step = words[OUT + STEP], words[A + STEP], words[B + STEP]
    nan = fill(kind, NAN)
    for _ in range(words[ROWS]):
        for lane in range(0, BLOCK, LANE_STEP):
            value = select(load_bytes(members + lane), load(kind, x + lane * size), nan)
            if lane + LANE_STEP <= held:
                store(kind, out + lane * size, value)
            elif lane < held:
                store_first(kind, out + lane * size, value, held - lane)
        out += out_step
        x += step
        members += members_step
