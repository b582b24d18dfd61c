"""Operators on single cells: each kernel walks its operands once, one vector at a time.

A function below says what happens to one vector of stored values. Anything infinite becomes NaN at the
operator that made it. The row step of an operand is 0 where it is a number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels import maths
from alphaswarm.dsl.kernels.vectors import (
    absolute,
    fill,
    float_at,
    floor,
    itemsize,
    load,
    narrow,
    rint,
    select,
    sqrt,
    store,
    store_float,
    wide,
)
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OP, OUT, ROWS, STEP, A, B, C, P, Q, number

__all__ = [
    "BINARY",
    "POWER",
    "TERNARY",
    "TRANSCENDENTAL",
    "UNARY",
    "binary",
    "finite",
    "power",
    "ternary",
    "transcendental",
    "unary",
]

NAN = float("nan")

# Operators of each kernel; the place in the list is the operation's code.
UNARY = ("neg", "abs", "sign", "inv", "sqrt", "floor", "ceil", "round", "not", "is_nan", "holds")
BINARY = ("add", "sub", "mul", "div", "max", "min", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "fill")
TERNARY = ("if_else", "clip")
TRANSCENDENTAL = ("log", "log1p", "slog1p", "exp", "sigmoid", "tanh")
POWER = ("pow", "signed_power")


@part
def finite(x: Any) -> Any:
    """NaN for infinities."""
    return x + (x - x)


def _each(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], None]:
    """A kernel that applies `function` to every vector of one argument."""
    apply = part(function)

    @part
    def walk(kind: Any, words: Any) -> None:
        out, a = words[OUT], words[A]
        out_step, a_step = words[OUT + STEP], words[A + STEP]
        size = itemsize(kind)
        for _ in range(words[ROWS]):
            for lane in range(0, BLOCK * size, LANE_STEP * size):
                store(kind, out + lane, apply(kind, load(kind, a + lane)))
            out += out_step
            a += a_step

    return walk


def _each_pair(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any], None]:
    """A kernel that applies `function` to every vector of two arguments."""
    apply = part(function)

    @part
    def walk(kind: Any, words: Any) -> None:
        out, a, b = words[OUT], words[A], words[B]
        out_step, a_step, b_step = words[OUT + STEP], words[A + STEP], words[B + STEP]
        size = itemsize(kind)
        for _ in range(words[ROWS]):
            for lane in range(0, BLOCK * size, LANE_STEP * size):
                store(kind, out + lane, apply(kind, load(kind, a + lane), load(kind, b + lane)))
            out += out_step
            a += a_step
            b += b_step

    return walk


@_each
def _neg(kind: Any, x: Any) -> Any:
    return fill(kind, 0.0) - x


@_each
def _abs(_kind: Any, x: Any) -> Any:
    return absolute(x)


@_each
def _sign(kind: Any, x: Any) -> Any:
    zero = fill(kind, 0.0)
    return select(x > zero, fill(kind, 1.0), select(x < zero, fill(kind, -1.0), x))


@_each
def _inv(kind: Any, x: Any) -> Any:
    return finite(fill(kind, 1.0) / x)


@_each
def _sqrt(_kind: Any, x: Any) -> Any:
    return sqrt(x)


@_each
def _floor(_kind: Any, x: Any) -> Any:
    return floor(x)


@_each
def _ceil(kind: Any, x: Any) -> Any:
    zero = fill(kind, 0.0)
    return zero - floor(zero - x)


@_each
def _round(_kind: Any, x: Any) -> Any:
    return rint(x)


@_each
def _not(kind: Any, x: Any) -> Any:
    return _truth(kind, x == fill(kind, 0.0), x == x)


@_each
def _is_nan(kind: Any, x: Any) -> Any:
    return select(x == x, fill(kind, 0.0), fill(kind, 1.0))


@_each
def _holds(kind: Any, x: Any) -> Any:
    zero = fill(kind, 0.0)
    return _truth(kind, x != zero, x == x)


@part
def _truth(kind: Any, mask: Any, known: Any) -> Any:
    return select(known, select(mask, fill(kind, 1.0), fill(kind, 0.0)), fill(kind, NAN))


def unary(kind: Any, words: Any) -> None:
    """Operators of one argument."""
    op = words[OP]
    if op == 0:
        _neg(kind, words)
    elif op == 1:
        _abs(kind, words)
    elif op == 2:
        _sign(kind, words)
    elif op == 3:
        _inv(kind, words)
    elif op == 4:
        _sqrt(kind, words)
    elif op == 5:
        _floor(kind, words)
    elif op == 6:
        _ceil(kind, words)
    elif op == 7:
        _round(kind, words)
    elif op == 8:
        _not(kind, words)
    elif op == 9:
        _is_nan(kind, words)
    else:
        _holds(kind, words)


@_each_pair
def _add(_kind: Any, x: Any, y: Any) -> Any:
    return finite(x + y)


@_each_pair
def _sub(_kind: Any, x: Any, y: Any) -> Any:
    return finite(x - y)


@_each_pair
def _mul(_kind: Any, x: Any, y: Any) -> Any:
    return finite(x * y)


@_each_pair
def _div(_kind: Any, x: Any, y: Any) -> Any:
    return finite(x / y)


@_each_pair
def _max(_kind: Any, x: Any, y: Any) -> Any:
    return select(x == x, select(x > y, x, y), x)


@_each_pair
def _min(_kind: Any, x: Any, y: Any) -> Any:
    return select(x == x, select(x < y, x, y), x)


@_each_pair
def _lt(kind: Any, x: Any, y: Any) -> Any:
    return _truth(kind, x < y, (x < y) | (x >= y))


@_each_pair
def _le(kind: Any, x: Any, y: Any) -> Any:
    return _truth(kind, x <= y, (x <= y) | (x > y))


@_each_pair
def _gt(kind: Any, x: Any, y: Any) -> Any:
    return _truth(kind, x > y, (x > y) | (x <= y))


@_each_pair
def _ge(kind: Any, x: Any, y: Any) -> Any:
    return _truth(kind, x >= y, (x >= y) | (x < y))


@_each_pair
def _eq(kind: Any, x: Any, y: Any) -> Any:
    return _truth(kind, x == y, (x == x) & (y == y))


@_each_pair
def _ne(kind: Any, x: Any, y: Any) -> Any:
    return _truth(kind, x != y, (x == x) & (y == y))


@_each_pair
def _and(kind: Any, x: Any, y: Any) -> Any:
    zero = fill(kind, 0.0)
    return select((x == zero) | (y == zero), zero, _truth(kind, x == x, (x == x) & (y == y)))


@_each_pair
def _or(kind: Any, x: Any, y: Any) -> Any:
    zero = fill(kind, 0.0)
    true = (x < zero) | (x > zero) | (y < zero) | (y > zero)
    return select(true, fill(kind, 1.0), _truth(kind, x != x, (x == x) & (y == y)))


@_each_pair
def _fill(_kind: Any, x: Any, y: Any) -> Any:
    return select(x == x, x, y)


def binary(kind: Any, words: Any) -> None:  # noqa: C901
    """Operators of two arguments."""
    op = words[OP]
    if op == 0:
        _add(kind, words)
    elif op == 1:
        _sub(kind, words)
    elif op == 2:
        _mul(kind, words)
    elif op == 3:
        _div(kind, words)
    elif op == 4:
        _max(kind, words)
    elif op == 5:
        _min(kind, words)
    elif op == 6:
        _lt(kind, words)
    elif op == 7:
        _le(kind, words)
    elif op == 8:
        _gt(kind, words)
    elif op == 9:
        _ge(kind, words)
    elif op == 10:
        _eq(kind, words)
    elif op == 11:
        _ne(kind, words)
    elif op == 12:
        _and(kind, words)
    elif op == 13:
        _or(kind, words)
    else:
        _fill(kind, words)


def ternary(kind: Any, words: Any) -> None:
    """`if_else(c, x, y)` and `clip(x, low, high)`."""
    out, a, b, c = words[OUT], words[A], words[B], words[C]
    size = itemsize(kind)
    low, high = fill(kind, number(words, P)), fill(kind, number(words, Q))
    zero, nan = fill(kind, 0.0), fill(kind, NAN)
    for _ in range(words[ROWS]):
        for lane in range(0, BLOCK * size, LANE_STEP * size):
            x = load(kind, a + lane)
            if words[OP] == 0:
                chosen = select(x == zero, load(kind, c + lane), load(kind, b + lane))
                store(kind, out + lane, select(x == x, chosen, nan))
            else:
                x = select(x < low, low, x)
                store(kind, out + lane, select(x > high, high, x))
        out += words[OUT + STEP]
        a += words[A + STEP]
        b += words[B + STEP]
        c += words[C + STEP]


@_each
def _log(kind: Any, x: Any) -> Any:
    return narrow(kind, maths.log(wide(x)))


@_each
def _log1p(kind: Any, x: Any) -> Any:
    return narrow(kind, maths.log1p(wide(x)))


@_each
def _slog1p(kind: Any, x: Any) -> Any:
    value = narrow(kind, maths.log1p(wide(absolute(x))))
    zero = fill(kind, 0.0)
    return select(x < zero, zero - value, value)


@_each
def _exp(kind: Any, x: Any) -> Any:
    return finite(narrow(kind, maths.exp(wide(x))))


@_each
def _sigmoid(kind: Any, x: Any) -> Any:
    zero, one = fill(kind, 0.0), fill(kind, 1.0)
    small = narrow(kind, maths.exp(wide(zero - absolute(x))))  # never overflows
    return select(x >= zero, one, small) / (one + small)


@_each
def _tanh(kind: Any, x: Any) -> Any:
    return narrow(kind, maths.tanh(wide(x)))


def transcendental(kind: Any, words: Any) -> None:
    """Logarithms and exponentials."""
    op = words[OP]
    if op == 0:
        _log(kind, words)
    elif op == 1:
        _log1p(kind, words)
    elif op == 2:
        _slog1p(kind, words)
    elif op == 3:
        _exp(kind, words)
    elif op == 4:
        _sigmoid(kind, words)
    else:
        _tanh(kind, words)


@_each
def _square(_kind: Any, x: Any) -> Any:
    return finite(x * x)


@_each
def _signed_square(_kind: Any, x: Any) -> Any:
    return finite(x * absolute(x))


def power(kind: Any, words: Any) -> None:
    """`pow` and `signed_power`: cell by cell, but squares and roots in vectors."""
    out, a, b = words[OUT], words[A], words[B]
    size = itemsize(kind)
    signed = words[OP] == 1
    if words[B + STEP] == 0 and float_at(kind, b) == 2.0:
        if signed:
            _signed_square(kind, words)
        else:
            _square(kind, words)
        return
    for _ in range(words[ROWS]):
        for lane in range(0, BLOCK * size, size):
            x, y = float_at(kind, a + lane), float_at(kind, b + lane)
            # undefined arguments have no power, though C calls 1 ** NaN and NaN ** 0 one
            value = NAN
            if not (math.isnan(x) or math.isnan(y)):
                value = math.copysign(abs(x) ** y, x) if signed else x**y
                if signed and x == 0.0 and y >= 0.0:
                    value = 0.0
            store_float(kind, out + lane, value)
            value = float_at(kind, out + lane)  # what is stored may hold less
            store_float(kind, out + lane, value + (value - value))
        out += words[OUT + STEP]
        a += words[A + STEP]
        b += words[B + STEP]
