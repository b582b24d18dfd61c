"""What element-wise operators give for plain numbers: for refusing constants that have no finite value."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence

__all__ = ["EXACT", "constant_value"]


def _sign(x: float) -> float:
    return float(x > 0) - float(x < 0)


_FOLDS: dict[str, Callable[..., float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "inv": lambda x: 1.0 / x,
    "abs": abs,
    "sign": _sign,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": round,
    "max": max,
    "min": min,
    "clip": lambda x, low, high: min(max(x, low), high),
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
    "and": lambda a, b: a != 0 and b != 0,
    "or": lambda a, b: a != 0 or b != 0,
    "not": lambda c: c == 0,
    "if_else": lambda c, x, y: x if c != 0 else y,
    "is_nan": lambda _x: 0.0,
    "fill": lambda x, _y: x,
    "pow": math.pow,
    "signed_power": lambda x, y: _sign(x) * math.pow(abs(x), y),
    "log": math.log,
    "log1p": math.log1p,
    "slog1p": lambda x: _sign(x) * math.log1p(abs(x)),
    "exp": math.exp,
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)) if x > 0 else math.exp(x) / (1.0 + math.exp(x)),
    "tanh": math.tanh,
}

EXACT = frozenset(_FOLDS) - {"pow", "signed_power", "log", "log1p", "slog1p", "exp", "sigmoid", "tanh"}
"""Operators whose value IEEE 754 fixes to the last bit: the others may differ between machines."""


def constant_value(op: str, values: Sequence[float | None]) -> float | None:
    """The value of `op` on numbers.

    Args:
        op: operator name, "" for a leaf.
        values: the constants that the arguments are, None for one that is no constant.

    Returns:
        The value, NaN where it is not finite, None where it is no constant.
    """
    fold = _FOLDS.get(op)
    if fold is None or not values:
        return None
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(values):
        return None
    if not all(map(math.isfinite, numbers)):
        return math.nan
    try:
        value = float(fold(*numbers))
    except (ArithmeticError, ValueError):
        return math.nan
    return value if math.isfinite(value) else math.nan
