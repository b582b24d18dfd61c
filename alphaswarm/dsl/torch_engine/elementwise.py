"""Element-wise operators, block by block. Arguments are series [T, N] or numbers (tensors without an axis)."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import torch
from torch import Tensor

from alphaswarm.dsl.torch_engine.base import WIDE, Context, Operator, by_rows

__all__ = ["ELEMENTWISE"]

COPIES = 10

Function = Callable[..., Tensor]


def _known(function: Function) -> Function:
    """NaN where any argument is, whatever `function` says there."""

    def apply(*values: Tensor) -> Tensor:
        result = function(*values)
        missing = reduce(torch.logical_or, map(torch.isnan, values))
        return torch.where(missing, torch.nan, result.to(values[0].dtype))

    return apply


def _sigmoid(x: Tensor) -> Tensor:
    small = torch.exp(-x.abs())  # never overflows
    return torch.where(x >= 0, 1.0, small) / (1.0 + small)


def _pow(x: Tensor, y: Tensor) -> Tensor:
    # torch raises what fills a vector by one algorithm and the rest by another; it takes the second one for values
    # that do not lie side by side, and then no bit depends on the place
    shape = y.shape if x.ndim == 0 else x.shape
    apart = x.new_empty((*shape, 2))[..., 0].copy_(x)
    return torch.pow(apart, y)


def _true(x: Tensor) -> Tensor:
    return (x != 0) & ~torch.isnan(x)


def _and(x: Tensor, y: Tensor) -> Tensor:
    unknown = torch.isnan(x) | torch.isnan(y)
    return torch.where((x == 0) | (y == 0), 0.0, torch.where(unknown, torch.nan, 1.0))


def _or(x: Tensor, y: Tensor) -> Tensor:
    unknown = torch.isnan(x) | torch.isnan(y)
    return torch.where(_true(x) | _true(y), 1.0, torch.where(unknown, torch.nan, 0.0))


def _if_else(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.where(torch.isnan(condition), torch.nan, torch.where(condition != 0, x, y))


# IEEE 754 fixes these to the last bit, so they are computed in what values are stored in.
_EXACT: dict[str, Function] = {
    "abs": torch.abs,
    "add": torch.add,
    "and": _and,
    "ceil": torch.ceil,
    "clip": lambda x, low, high: torch.minimum(torch.maximum(x, low), high),
    "div": torch.div,
    "eq": _known(torch.eq),
    "fill": lambda x, value: torch.where(torch.isnan(x), value, x),
    "floor": torch.floor,
    "ge": _known(torch.ge),
    "gt": _known(torch.gt),
    "if_else": _if_else,
    "inv": torch.reciprocal,
    "is_nan": torch.isnan,
    "le": _known(torch.le),
    "lt": _known(torch.lt),
    "max": lambda *series: reduce(torch.maximum, series),
    "min": lambda *series: reduce(torch.minimum, series),
    "mul": torch.mul,
    "ne": _known(torch.ne),
    "neg": torch.neg,
    "not": _known(lambda c: c == 0),
    "or": _or,
    "round": torch.round,  # halves to even
    "sign": _known(torch.sign),
    "sqrt": torch.sqrt,
    "sub": torch.sub,
}
_ROUNDED: dict[str, Function] = {
    "exp": torch.exp,
    "log": torch.log,
    "log1p": torch.log1p,
    "pow": _known(_pow),
    "sigmoid": _sigmoid,
    "signed_power": _known(lambda x, y: x.sign() * _pow(x.abs(), y)),
    "slog1p": lambda x: torch.copysign(torch.log1p(x.abs()), x),
    "tanh": torch.tanh,
}


def _operator(function: Function, exact: bool) -> Operator:
    def apply(ctx: Context, *values: Tensor | float) -> Tensor:
        series = [
            value if isinstance(value, Tensor) else torch.tensor(value, dtype=ctx.dtype, device=ctx.universe.device)
            for value in values
        ]
        if exact:
            return by_rows(ctx, COPIES, function, *series)
        return by_rows(ctx, COPIES, lambda *blocks: function(*(block.to(WIDE) for block in blocks)), *series)

    return apply


ELEMENTWISE: dict[str, Operator] = {
    **{name: _operator(function, exact=True) for name, function in _EXACT.items()},
    **{name: _operator(function, exact=False) for name, function in _ROUNDED.items()},
}
