"""Operators that look at one earlier row. Nothing is ever filled forward."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.reference.base import Series, each_cell

__all__ = ["SHIFT", "delay"]


def delay(ctx: Context, x: Series, d: int) -> Series:
    """The value `d` rows before."""
    out = np.full(ctx.shape, np.nan)
    for t in range(d, ctx.shape[0]):
        out[t] = x[t - d]
    return out


def _against_the_past(function: Callable[[float, float], float]) -> Callable[..., Series]:
    def apply(ctx: Context, x: Series, d: int) -> Series:
        return each_cell(ctx, function, x, delay(ctx, x, d))

    return apply


SHIFT: dict[str, Callable[..., Series]] = {
    "delay": delay,
    "delta": _against_the_past(lambda now, past: now - past),
    "log_return": _against_the_past(lambda now, past: math.log(now / past)),
    "pct_change": _against_the_past(lambda now, past: now / past - 1.0),
}
