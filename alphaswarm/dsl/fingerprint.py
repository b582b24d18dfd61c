"""Economic equivalence: whether two formulas rank the stocks of a day alike, told by their ranks on three markets.

The canonical form proves that formulas are equal bit by bit; it can't know that under a rank ``2 * x``, ``x + 1``
and ``log(x)`` are one idea. So each formula is computed on three small seeded markets (whole, with missing values,
with members that come and go; all with ties, unchanged prices and days without trade), and the ranks of the last
days are hashed, up to their direction. Equal hashes are strong evidence, no proof: the markets hold what markets
usually hold, so a clip beyond any of their values, say, is not seen.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.panel import Panel
from alphaswarm.core.runtime import make_rng
from alphaswarm.dsl.canonical import canonical
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.limits import MAX_LOOKBACK
from alphaswarm.dsl.parser import parse
from alphaswarm.dsl.scaling import without_factor

__all__ = ["Fingerprint", "Relation", "equivalent", "fingerprint", "same_values"]

DAYS = 40
"""Days of each market that are ranked: the last ones, whatever history the formula needs before."""
NAMES = 16
MARKETS = ("whole", "gaps", "members")
TELLING = 12
"""Days with at least two different ranks, of ``3 * DAYS``, below which ranks are no evidence."""

_HISTORIES = (64, 160, 320, 640, 1280, MAX_LOOKBACK + DAYS)
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12  # gaps below these, to the neighbours or to the day's largest, are rounding
_SEED = 20_071
_PRICES = ("open", "high", "low", "close", "vwap")
_KNOWN = (*_PRICES, "volume", "cap")


class Relation(StrEnum):
    """How the rankings of two formulas lie to each other."""

    SAME = "same"
    MIRRORED = "mirrored"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The ranks of a formula on the three markets, hashed.

    Attributes:
        key: hex sha256, the same for a formula and its negative.
        mirrored: which of the two it is; False where both rank alike.
        telling: days that tell anything, of ``3 * DAYS``.
    """

    key: str
    mirrored: bool
    telling: int


def fingerprint(expr: Expr | str) -> Fingerprint:
    """Rank the stocks of the three markets by `expr`.

    Raises:
        ExpressionError: text or tree that is no valid expression.
    """
    tree = parse(expr) if isinstance(expr, str) else expr
    ranks = np.stack([_ranks(values) for values in _values(tree, canonical(tree).warmup)])
    counted = (ranks >= 0).sum(axis=-1, keepdims=True)
    turned = np.where(ranks >= 0, 2 * (counted + 1) - ranks, -1).astype(np.int16)
    straight, mirror = (hashlib.sha256(one.tobytes()).hexdigest() for one in (ranks, turned))
    return Fingerprint(min(straight, mirror), straight > mirror, int((ranks != turned).any(axis=-1).sum()))


def equivalent(a: Expr | str, b: Expr | str) -> Relation:
    """Whether `a` and `b` are one idea: they rank alike, they rank in reverse, or neither.

    Formulas whose canonical forms are equal up to a factor need no look at the markets: by a positive one they are
    the same, by a negative one mirrored. Formulas that tell too little there (fewer than `TELLING` days with two
    ranks) are different unless they are that.

    Raises:
        ExpressionError: text or tree that is no valid expression.
    """
    first, second = (parse(one) if isinstance(one, str) else one for one in (a, b))
    (minus, core), (other_minus, other_core) = _direction(first), _direction(second)
    if core is other_core:
        return Relation.SAME if minus == other_minus else Relation.MIRRORED
    left, right = fingerprint(first), fingerprint(second)
    if left.key != right.key or left.telling < TELLING:
        return Relation.DIFFERENT
    return Relation.SAME if left.mirrored == right.mirrored else Relation.MIRRORED


def _direction(expr: Expr) -> tuple[bool, Expr]:
    """Whether `expr` is the negative, times any positive number, of an expression; and which."""
    core = without_factor(expr)[1]
    return (True, core.args[0]) if core.op == "neg" else (False, core)


def same_values(a: Expr, b: Expr) -> bool:
    """Whether `a` and `b` give the same values on the three markets, up to rounding, missing ones included."""
    warmup = max(canonical(a).warmup, canonical(b).warmup)
    for x, y in zip(_values(a, warmup), _values(b, warmup), strict=True):
        largest = np.where(np.isnan(x), 0.0, np.abs(x)).max()
        if not np.allclose(x, y, rtol=_RELATIVE, atol=_ABSOLUTE * largest, equal_nan=True):
            return False
    return True


def _values(expr: Expr, warmup: int) -> list[NDArray[np.float64]]:
    """The last days of `expr` on each market, after a history that holds `warmup` rows."""
    from alphaswarm.dsl.evaluate import evaluate  # brings the compiled kernels

    needed = min(warmup + DAYS, _HISTORIES[-1])
    rows = next(rows for rows in _HISTORIES if rows >= needed)
    markets = (_market(kind, expr.fields, expr.groups, rows) for kind in MARKETS)
    return [np.asarray(evaluate(expr, market))[-DAYS:] for market in markets]


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int16]:
    """Twice the average rank within each row, [T, N], values that differ by rounding only being ties; -1 missing."""
    missing = np.isnan(values)
    order = np.argsort(values, axis=1, kind="stable")  # NaN last
    ordered = np.take_along_axis(values, order, axis=1)
    size = np.abs(ordered)
    largest = np.where(np.isnan(size), 0.0, size).max(axis=1, keepdims=True)
    apart = np.diff(ordered, axis=1) > np.maximum(
        _RELATIVE * np.maximum(size[:, 1:], size[:, :-1]), _ABSOLUTE * largest
    )
    apart |= np.isnan(ordered[:, 1:])
    edge = np.ones((values.shape[0], 1), bool)
    place = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    first = np.maximum.accumulate(np.where(np.hstack([edge, apart]), place, 0), axis=1)
    last_here = np.where(np.hstack([apart, edge]), place, values.shape[1])
    last = np.minimum.accumulate(last_here[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty(values.shape, np.int16)
    np.put_along_axis(ranks, order, (first + last + 2).astype(np.int16), axis=1)
    return np.where(missing, np.int16(-1), ranks)


@lru_cache(maxsize=128)
def _market(kind: str, fields: tuple[str, ...], groups: tuple[str, ...], rows: int) -> Panel:
    """The last `rows` days of a market, with the fields and groups that a formula names."""
    names = sorted({"close", *fields} - {"returns"})  # returns are what closes make them
    return Panel.from_arrays(
        {name: _field(kind, name)[-rows:] for name in names},
        (np.datetime64("2020-01-01") + np.arange(_HISTORIES[-1]))[-rows:],
        [f"s{place:02d}" for place in range(NAMES)],
        _members(kind)[-rows:],
        {name: _labels(kind, name)[-rows:] for name in groups},
    )


def _members(kind: str) -> NDArray[np.bool_]:
    members = np.ones((_HISTORIES[-1], NAMES), np.bool_)
    if kind == "members":
        members[: -DAYS // 2, 3] = False
        members[-DAYS // 3 :, 7] = False
        members[-DAYS // 4 : -DAYS // 8, :5] = False
    return members


@lru_cache(maxsize=256)
def _field(kind: str, name: str) -> NDArray[np.float64]:
    """A field of a market, [T, N]: what its name promises where it is known, else any numbers."""
    if name == "dollar_volume":
        return _field(kind, "vwap") * _field(kind, "volume")
    rng = make_rng(_SEED, kind, name)
    shape = (_HISTORIES[-1], NAMES)
    if name in _KNOWN:
        values = _prices(kind)[name].copy()
    else:
        values = rng.normal(size=shape) * 10.0 ** rng.integers(-1, 4, size=NAMES).astype(float)
        values = np.where(rng.random(shape) < 0.3, np.round(values, 0), values)
        values[rng.random(shape) < 0.05] = 0.0
    if kind == "gaps":  # some names have gaps all along, the others none: long windows must find whole histories
        silent = make_rng(_SEED, kind, "days").random(shape) < 0.03
        silent |= rng.random(shape) < 0.01
        values[:, :5] = np.where(silent[:, :5], np.nan, values[:, :5])
    if kind == "members":
        values[-DAYS:, -3:] = np.where(rng.random((DAYS, 3)) < 0.2, np.nan, values[-DAYS:, -3:])
    return values


@lru_cache(maxsize=8)
def _prices(kind: str) -> dict[str, NDArray[np.float64]]:
    """Prices, volumes and sizes that belong together."""
    rng = make_rng(_SEED, kind, "prices")
    shape = (_HISTORIES[-1], NAMES)
    moves = rng.standard_t(4, size=shape) * 0.012 + 0.3 * rng.normal(size=(shape[0], 1)) * 0.01
    moves -= 0.3 * np.vstack([np.zeros((1, NAMES)), moves[:-1]])  # prices stay near where they began
    idle = rng.random(shape) < 0.08
    moves[idle] = 0.0
    level = np.cumsum(moves, axis=0)
    level -= np.linspace(0, 1, shape[0])[:, None] * level[-1]
    close = np.round(np.exp(level + np.log(rng.uniform(8, 300, NAMES))), 2)
    for row in range(1, shape[0]):
        close[row, idle[row]] = close[row - 1, idle[row]]
    close[-3 * DAYS :: 3, 9] = close[-3 * DAYS :: 3, 8]  # two names at one price
    before = np.vstack([close[:1], close[:-1]])
    opened = np.where(idle, close, np.round(before * np.exp(rng.normal(size=shape) * 0.006), 2))
    spread = np.abs(rng.normal(size=(2, *shape))) * 0.006 * ~idle
    high = np.round(np.maximum(opened, close) * (1 + spread[0]), 2)
    low = np.round(np.minimum(opened, close) * (1 - spread[1]), 2)
    vwap = np.round(low + (high - low) * rng.uniform(0.2, 0.8, shape), 4)
    volume = np.round(np.exp(rng.normal(size=shape) * 0.5 + rng.uniform(10, 15, NAMES)), -2)
    volume[idle & (rng.random(shape) < 0.5)] = 0.0
    shares = np.round(np.exp(rng.uniform(16, 21, NAMES)))
    return {
        "open": opened,
        "high": high,
        "low": low,
        "close": close,
        "vwap": vwap,
        "volume": volume,
        "cap": close * shares,
    }


@lru_cache(maxsize=32)
def _labels(kind: str, name: str) -> NDArray[np.str_]:
    """A group of a market, [T, N]: fixed labels, some names without one."""
    labels = make_rng(_SEED, kind, "group", name).choice(["a", "b", "c", "d"], NAMES).astype("U1")
    if kind != "whole":
        labels[5] = ""
    return np.broadcast_to(labels, (_HISTORIES[-1], NAMES))
