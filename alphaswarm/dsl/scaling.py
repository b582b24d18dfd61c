"""Positive factors inside an expression: carried outwards as far as the table's column `Operator.scale` lets them.

``ts_corr(2 * x, y, 20)`` has no factor left, ``ts_mean(x / 4, 5)`` is a quarter of ``ts_mean(x, 5)``. Values stay the
same up to rounding, on every panel whose values keep within the range of a float.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from alphaswarm.dsl.canonical import canonical
from alphaswarm.dsl.expr import Expr, number, plain_call
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Scale, SlotKind

__all__ = ["power_of", "without_factor"]

_LEAST, _MOST = 1e-9, 1e9
"""Factors between which nothing that had a value loses it."""


def power_of(node: Expr) -> tuple[float | None, ...]:
    """What a factor c > 0 on one argument of the call `node`, all others as they are, multiplies its result by.

    Returns:
        For each argument the power of c; None where there is no such law, and for what is no series.
    """
    operator = OPERATORS[node.op]
    places = [index for index in range(len(node.args)) if operator.slot(index).kind is SlotKind.SERIES]
    powers: list[float | None] = [None] * len(node.args)
    for count, place in enumerate(places):
        powers[place] = _power(node, operator.scale, count, len(places))
    return tuple(powers)


def _power(node: Expr, scale: Scale, count: int, series: int) -> float | None:
    """The power for the series of number `count`, of so many."""
    first = count == 0
    match scale:
        case Scale.INVARIANT:
            return 0.0
        case Scale.LINEAR:
            return 1.0 if first else 0.0
        case Scale.PRODUCT:
            return 1.0
        case Scale.RATIO:
            return 1.0 if first and series > 1 else -1.0
        case Scale.SQUARE:
            return 2.0
        case Scale.ROOT:
            return 0.5
        case Scale.POWER:  # a lower min_obs leaves open how many values there are
            last = node.args[-1]
            return last.value if first and last.kind == "number" and not node.options else None
    return None


def without_factor(expr: Expr) -> tuple[float, Expr]:
    """A positive factor and the canonical expression that it multiplies to give `expr`, up to rounding."""
    made: dict[Expr, tuple[float, Expr]] = {}
    whole = canonical(expr)
    for node in whole.walk():
        made[node] = _of_call(node, made) if node.kind == "call" else (1.0, node)
    factor, core = made[whole]
    return factor, canonical(core)


def _of_call(node: Expr, made: Mapping[Expr, tuple[float, Expr]]) -> tuple[float, Expr]:
    if node.op in ("mul", "div") and any(part.kind == "number" for part in node.args):
        factor, core = _of_product(node, made)
        return (factor, core) if _LEAST <= factor <= _MOST else (1.0, node)
    joint = OPERATORS[node.op].scale in (Scale.JOINT, Scale.COMPARED)
    factor, taken = _jointly(node, made) if joint else _singly(node, made)
    if not _LEAST <= factor <= _MOST:
        factor, taken = 1.0, (False,) * len(node.args)
    args = tuple(made[part][1] if out else _times(*made[part]) for part, out in zip(node.args, taken, strict=True))
    return factor, plain_call(node.op, args, node.options)


def _of_product(node: Expr, made: Mapping[Expr, tuple[float, Expr]]) -> tuple[float, Expr]:
    """A product or quotient with a number, which is a factor."""
    (left, x), (right, y) = (
        (abs(p.value), number(math.copysign(1, p.value))) if p.kind == "number" else made[p] for p in node.args
    )
    if 0.0 in (left, right):
        return 0.0, node
    return (left * right if node.op == "mul" else left / right), canonical(plain_call(node.op, (x, y)))


def _singly(node: Expr, made: Mapping[Expr, tuple[float, Expr]]) -> tuple[float, tuple[bool, ...]]:
    """The factor that arguments pass out, and which of them do."""
    factor = 1.0
    taken = []
    for part, power in zip(node.args, power_of(node), strict=True):
        inner = made[part][0]
        taken.append(power is not None)
        try:
            factor *= 1.0 if power is None else inner**power
        except OverflowError:
            return math.inf, ()
    return factor, tuple(taken)


def _jointly(node: Expr, made: Mapping[Expr, tuple[float, Expr]]) -> tuple[float, tuple[bool, ...]]:
    """The factor that all series share; 0 has any."""
    operator = OPERATORS[node.op]
    series = [operator.slot(index).kind is SlotKind.SERIES for index in range(len(node.args))]
    factors = {
        made[part][0]
        for part, counts in zip(node.args, series, strict=True)
        if counts and not (part.kind == "number" and part.value == 0)
    }
    if len(factors) != 1:
        return 1.0, (False,) * len(node.args)
    factor = factors.pop()
    return (1.0 if operator.scale is Scale.COMPARED else factor), tuple(series)


def _times(factor: float, core: Expr) -> Expr:
    return core if factor == 1.0 else plain_call("mul", (number(factor), core))
