"""Element-wise operators in numpy. Arguments are series [T, N] or numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Kernel, Series

__all__ = ["ELEMENTWISE"]

Value = Series | float


def _div(x: Value, y: Value) -> Any:
    return np.divide(x, np.where(y == 0, np.nan, y))


def _pow(x: Value, y: Value) -> Any:
    # numpy calls 1 ** NaN and NaN ** 0 one; an undefined argument has no power here
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.power(x, y))


def _signed_power(x: Value, y: Value) -> Any:
    return np.sign(x) * _pow(np.abs(x), y)


def _sigmoid(x: Value) -> Any:
    small = np.exp(-np.abs(x))  # never overflows
    return np.where(np.asarray(x) >= 0, 1.0, small) / (1.0 + small)


def _either_nan(x: Value, y: Value, result: Any) -> Any:
    return np.where(np.isnan(x) | np.isnan(y), np.nan, result)


def _true(x: Value) -> Any:
    return np.not_equal(x, 0) & ~np.isnan(x)


def _and(x: Value, y: Value) -> Any:
    return np.where(np.equal(x, 0) | np.equal(y, 0), 0.0, _either_nan(x, y, 1.0))


def _or(x: Value, y: Value) -> Any:
    return np.where(_true(x) | _true(y), 1.0, _either_nan(x, y, 0.0))


def _if_else(condition: Value, x: Value, y: Value) -> Any:
    return np.where(np.isnan(condition), np.nan, np.where(_true(condition), x, y))


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "add": np.add,
    "and": _and,
    "ceil": np.ceil,
    "clip": lambda x, low, high: np.minimum(np.maximum(x, low), high),
    "div": _div,
    "eq": lambda x, y: _either_nan(x, y, np.equal(x, y)),
    "exp": np.exp,
    "fill": lambda x, value: np.where(np.isnan(x), value, x),
    "floor": np.floor,
    "ge": lambda x, y: _either_nan(x, y, np.greater_equal(x, y)),
    "gt": lambda x, y: _either_nan(x, y, np.greater(x, y)),
    "if_else": _if_else,
    "inv": lambda x: _div(1.0, x),
    "is_nan": np.isnan,
    "le": lambda x, y: _either_nan(x, y, np.less_equal(x, y)),
    "log": np.log,
    "log1p": np.log1p,
    "lt": lambda x, y: _either_nan(x, y, np.less(x, y)),
    "max": lambda *series: reduce(np.maximum, series),
    "min": lambda *series: reduce(np.minimum, series),
    "mul": np.multiply,
    "ne": lambda x, y: _either_nan(x, y, np.not_equal(x, y)),
    "neg": np.negative,
    "not": lambda c: np.where(np.isnan(c), np.nan, np.equal(c, 0)),
    "or": _or,
    "pow": _pow,
    "round": np.rint,
    "sigmoid": _sigmoid,
    "sign": np.sign,
    "signed_power": _signed_power,
    "slog1p": lambda x: np.sign(x) * np.log1p(np.abs(x)),
    "sqrt": np.sqrt,
    "sub": np.subtract,
    "tanh": np.tanh,
}


def _operator(function: Callable[..., Any]) -> Kernel:
    def apply(_ctx: Context, *values: Value) -> Series:
        with np.errstate(all="ignore"):
            out: Series = np.asarray(function(*values), np.float64)
        return np.where(np.isinf(out), np.nan, out)

    return apply


ELEMENTWISE: dict[str, Kernel] = {name: _operator(function) for name, function in _FUNCTIONS.items()}
