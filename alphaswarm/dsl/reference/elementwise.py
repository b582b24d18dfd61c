"""Element-wise operators, cell by cell."""

from __future__ import annotations

import math
from collections.abc import Callable

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.reference.base import Series, each_cell

__all__ = ["ELEMENTWISE"]

# What it says is NaN where it has no finite real value, and where an argument is NaN.
_PLAIN: dict[str, Callable[..., float | None]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "inv": lambda x: 1.0 / x,
    "abs": abs,
    "sign": lambda x: float(x > 0) - float(x < 0),
    "log": math.log,
    "log1p": math.log1p,
    "slog1p": lambda x: math.copysign(math.log1p(abs(x)), x),
    "exp": math.exp,
    "sqrt": math.sqrt,
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "round": lambda x: float(round(x)),  # halves to even
    "pow": math.pow,
    "signed_power": lambda x, y: (float(x > 0) - float(x < 0)) * math.pow(abs(x), y),
    "max": max,
    "min": min,
    "clip": lambda x, low, high: min(max(x, low), high),
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)) if x >= 0 else math.exp(x) / (1.0 + math.exp(x)),
    "tanh": math.tanh,
    "lt": lambda x, y: float(x < y),
    "le": lambda x, y: float(x <= y),
    "gt": lambda x, y: float(x > y),
    "ge": lambda x, y: float(x >= y),
    "eq": lambda x, y: float(x == y),
    "ne": lambda x, y: float(x != y),
    "not": lambda c: float(c == 0),
}


def _and(x: float, y: float) -> float | None:
    if x == 0 or y == 0:
        return 0.0
    return None if math.isnan(x) or math.isnan(y) else 1.0


def _or(x: float, y: float) -> float | None:
    if (x != 0 and not math.isnan(x)) or (y != 0 and not math.isnan(y)):
        return 1.0
    return None if math.isnan(x) or math.isnan(y) else 0.0


def _if_else(condition: float, x: float, y: float) -> float | None:
    if math.isnan(condition):
        return None
    return x if condition != 0 else y


# These look at NaN themselves.
_SEES_NAN: dict[str, Callable[..., float | None]] = {
    "and": _and,
    "or": _or,
    "if_else": _if_else,
    "is_nan": lambda x: float(math.isnan(x)),
    "fill": lambda x, value: value if math.isnan(x) else x,
}


def _operator(function: Callable[..., float | None], sees_nan: bool) -> Callable[..., Series]:
    def apply(ctx: Context, *series: Series | float) -> Series:
        return each_cell(ctx, function, *series, sees_nan=sees_nan)

    return apply


ELEMENTWISE: dict[str, Callable[..., Series]] = {
    **{name: _operator(function, sees_nan=False) for name, function in _PLAIN.items()},
    **{name: _operator(function, sees_nan=True) for name, function in _SEES_NAN.items()},
}
