"""Operators that look at one earlier row. Nothing is ever filled forward."""

from __future__ import annotations

import numpy as np

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Kernel, Series, finite

__all__ = ["SHIFT", "delay"]


def delay(_ctx: Context, x: Series, d: int) -> Series:
    """The value `d` rows before."""
    out = np.full(x.shape, np.nan)
    out[d:] = x[:-d] if d < len(x) else x[:0]
    return out


def delta(ctx: Context, x: Series, d: int) -> Series:
    """Change over `d` rows."""
    with np.errstate(over="ignore"):
        return finite(x - delay(ctx, x, d))


def pct_change(ctx: Context, x: Series, d: int) -> Series:
    """Relative change over `d` rows."""
    return _ratio(ctx, x, d) - 1.0


def log_return(ctx: Context, x: Series, d: int) -> Series:
    """Logarithm of the ratio to the value `d` rows before."""
    ratio = _ratio(ctx, x, d)
    with np.errstate(invalid="ignore", divide="ignore"):
        return finite(np.log(ratio))


def _ratio(ctx: Context, x: Series, d: int) -> Series:
    with np.errstate(all="ignore"):
        return finite(x / delay(ctx, x, d))


SHIFT: dict[str, Kernel] = {"delay": delay, "delta": delta, "log_return": log_return, "pct_change": pct_change}
