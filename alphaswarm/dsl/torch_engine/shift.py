"""Operators that look at one earlier row. Nothing is ever filled forward."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from alphaswarm.dsl.torch_engine.base import WIDE, Context, Operator, empty, finite, row_blocks

__all__ = ["SHIFT", "delay"]

COPIES = 4


def delay(ctx: Context, x: Tensor, d: int) -> Tensor:
    """The value `d` rows before."""
    out = empty(ctx)
    out[:d] = torch.nan
    out[d:] = x[: max(0, len(x) - d)]
    return out


def _against_the_past(function: Callable[[Tensor, Tensor], Tensor]) -> Operator:
    def apply(ctx: Context, x: Tensor, d: int) -> Tensor:
        out = empty(ctx)
        out[:d] = torch.nan
        for rows in row_blocks(ctx, COPIES):
            first = max(d, rows.start)
            if first < rows.stop:
                now, past = x[first : rows.stop].to(WIDE), x[first - d : rows.stop - d].to(WIDE)
                out[first : rows.stop] = finite(function(now, past).to(ctx.dtype))
        return out

    return apply


SHIFT: dict[str, Operator] = {
    "delay": delay,
    "delta": _against_the_past(lambda now, past: now - past),
    "log_return": _against_the_past(lambda now, past: (now / past).log()),
    "pct_change": _against_the_past(lambda now, past: now / past - 1.0),
}
