"""How formulas rank, as vectors: their scalar products say which ideas are near each other before any is tried.

`fingerprint` tells whether two formulas rank the same; here it is how much alike. Each formula is computed on one
drawn market with a market factor, groups that move together, bursts of volatility, and volumes that follow moves.
That market holds no data of anybody: what is known from it is a property of the formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.panel import Panel
from alphaswarm.core.runtime import make_rng
from alphaswarm.dsl.expr import Expr

__all__ = ["LONGEST", "WIDTH", "behaviour"]

Array = NDArray[np.float64]

NAMES = 120
# Ranked: the last row, the one five before it, and so on.
DAYS, STEP = 20, 5
# Rows of the market; a formula gets the fewest that hold its history and the ranked rows.
HISTORIES = (160, 420)
LONGEST = HISTORIES[-1] - DAYS * STEP
WIDTH = DAYS * NAMES
LEAST_NAMES = 30
LABELS = 8
TOGETHER = 64  # formulas computed in one call: they share what they share
_SEED = 20_072
_PRICES = ("open", "high", "low", "close", "vwap")
_KNOWN = (*_PRICES, "volume", "cap")


def behaviour(exprs: Sequence[Expr], fields: Iterable[str], groups: Iterable[str] = ()) -> NDArray[np.float32]:
    """The ranks of formulas on the drawn market, [n, WIDTH]; the scalar product is a mean rank correlation.

    A vector has length 1, or is 0 where the formula ranks nothing there (its history is longer than the market,
    or its values never differ).

    Args:
        exprs: checked expressions.
        fields: names that they may use; what a name promises where it is known (prices, volumes, returns), else
            numbers above 0 that change slowly.
        groups: group names that they may use.
    """
    from alphaswarm.dsl.evaluate import evaluate  # brings the compiled kernels

    names = tuple(sorted(set(fields))), tuple(sorted(set(groups)))
    found = np.zeros((len(exprs), WIDTH), np.float32)
    least = 0
    for rows in HISTORIES:
        most = rows - DAYS * STEP
        places = [place for place, expr in enumerate(exprs) if least <= expr.warmup <= most]
        least = most + 1
        for start in range(0, len(places), TOGETHER):
            part = places[start : start + TOGETHER]
            values = evaluate([exprs[place] for place in part], _market(*names, rows))
            found[part] = [_direction(np.asarray(one, np.float64)) for one in values]
    return found


def _direction(values: Array) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what is too large to be rounded is one tie
        rows: Array = np.round(values[::-STEP][:DAYS], 12)
    known = np.isfinite(rows)
    ranks = _average_ranks(np.where(known, rows, np.inf))
    count = known.sum(axis=1, keepdims=True)
    centred = np.where(known, ranks - (count + 1) / 2, 0.0)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    usable = (length > 0) & (count >= LEAST_NAMES)
    daily = np.where(usable, centred / np.where(usable, length, 1.0), 0.0)
    return np.asarray(daily / np.sqrt(max(int(usable.sum()), 1)), np.float32).ravel()


def _average_ranks(values: Array) -> Array:
    """Of each row [T, N], 1 for the smallest; ties share their average."""
    days, names = values.shape
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    place = np.arange(names)
    new = np.ones((days, names), np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(new, place, 0), axis=1)
    end = np.ones((days, names), np.bool_)
    end[:, :-1] = new[:, 1:]
    last = np.minimum.accumulate(np.where(end, place, names)[:, ::-1], axis=1)[:, ::-1]
    ranks = np.empty((days, names))
    np.put_along_axis(ranks, order, 0.5 * (first + last + 2), axis=1)
    return ranks


@lru_cache(maxsize=8)
def _market(fields: tuple[str, ...], groups: tuple[str, ...], rows: int) -> Panel:
    """The last `rows` days."""
    drawn = _drawn()
    dates = np.datetime64("2020-01-01") + np.arange(rows)
    names = sorted({"close", *fields} - {"returns"})  # returns are what closes make them
    return Panel.from_arrays(
        {name: (drawn[name] if name in drawn else _other(name))[-rows:] for name in names},
        dates,
        [f"s{place:03d}" for place in range(NAMES)],
        groups={name: _labels() for name in groups},
    )


def _labels() -> list[str]:
    return [f"g{place % LABELS}" for place in range(NAMES)]


@lru_cache(maxsize=1)
def _drawn() -> dict[str, Array]:
    """Prices, volumes and sizes that belong together."""
    rng = make_rng(_SEED, "behaviour")
    rows = HISTORIES[-1]
    shape = (rows, NAMES)
    bursts = np.exp(0.35 * _slow(rng.standard_normal((rows, 1)), 0.98))
    own = 0.012 * np.exp(0.35 * rng.standard_normal(NAMES))
    beta = 1 + 0.4 * rng.standard_normal(NAMES)
    loadings = rng.standard_normal((4, NAMES))
    member = np.arange(NAMES) % LABELS
    common = 0.0095 * beta * rng.standard_normal((rows, 1)) + 0.004 * rng.standard_normal((rows, 4)) @ loadings
    common += 0.004 * rng.standard_normal((rows, LABELS))[:, member]
    moves = bursts * (common + own * rng.standard_t(4.5, shape) * np.sqrt(2.5 / 4.5))
    close = 40 * np.exp(0.6 * rng.standard_normal(NAMES) + np.cumsum(moves, axis=0))
    before = np.vstack([close[:1], close[:-1]])
    scale = bursts * np.sqrt(own**2 + (0.01 * beta) ** 2)
    start = before * np.exp(0.35 * moves + 0.45 * scale * rng.standard_normal(shape))
    high = np.maximum(start, close) * np.exp(0.35 * scale * np.abs(rng.standard_normal(shape)))
    low = np.minimum(start, close) * np.exp(-0.35 * scale * np.abs(rng.standard_normal(shape)))
    traffic = 13.5 + 1.2 * rng.standard_normal(NAMES) + 0.35 * _slow(rng.standard_normal(shape), 0.9)
    volume = np.rint(np.exp(traffic + 0.6 * np.log1p(np.abs(moves) / scale)))
    vwap = low + (high - low) * rng.uniform(0.2, 0.8, shape)
    return {
        "open": start,
        "high": high,
        "low": low,
        "close": close,
        "vwap": vwap,
        "volume": volume,
        "dollar_volume": vwap * volume,
        "cap": close * np.exp(rng.uniform(16, 21, NAMES)),
    }


def _other(name: str) -> Array:
    """Values of a field whose name says nothing."""
    rng = make_rng(_SEED, "behaviour", name)
    return np.exp(0.5 * rng.standard_normal(NAMES) + 0.5 * _slow(rng.standard_normal((HISTORIES[-1], NAMES)), 0.9))


def _slow(shocks: Array, memory: float) -> Array:
    """AR(1) over rows of variance 1."""
    state = shocks.copy()
    state[1:] *= np.sqrt(1 - memory**2)
    for row in range(1, len(state)):
        state[row] += memory * state[row - 1]
    return state
