"""Null markets: a real panel with everything that predicts its returns taken out.

Whatever is accepted on one is a false discovery, but these markets move as real stocks do: in sectors, with fat
tails, in bursts. Every field is made anew so that it stays one market: `close` from the new returns, `returns`
from the new close, the bar around it. Prices that are neither close nor part of the bar are left out.

`sign_flipped` keeps the covariance of the names and each day's volatility where they were. `dates_permuted` keeps
the skew of each name's returns, by which ranks see an alpha in low risk where there is none in the mean.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel, make_rng

__all__ = ["dates_permuted", "sign_flipped"]

Array = NDArray[np.float64]

LEAST_ROWS, LEAST_NAMES = 60, 3
# Made from the new close, or left out since nothing here says how they move.
REMADE = frozenset({"close", "returns", "open", "high", "low", "volume"})
LEFT_OUT = frozenset({"adj_close", "vwap"})


def sign_flipped(panel: Panel, seed: int) -> Panel:
    """`panel` with the returns of each day turned round the market's, or not, by one coin for all names.

    With m the mean log return of a day over its names, d what a name's log return has beyond it, and s the day's
    coin, +1 or -1, the log return becomes ``m + s * d - log(cosh(d))``: the market, every name's distance from it
    and the covariance of these distances stay, nothing known before a day says its coin, and the last part (half of
    d squared) takes what a symmetric log return would earn by being volatile, so that every name is expected
    to earn just the market's simple return. A move across missing rows gets the coin of the day that ends it. On
    a turned day the bar is mirrored: as far as high lay above both open and close, low then lies below them.

    `dollar_volume` and fields that are no prices are carried on; `volume` is that value at the new price.

    Args:
        panel: with `close`; its missing cells stay missing.
        seed: of the coins.

    Raises:
        FieldNotFound: there is no `close`.
        DataInvalid: fewer than 60 rows or 3 names, or a close that is not above 0.
    """
    close = _closes(panel)
    coins = np.where(make_rng(seed, "nulls", "coins").random(close.shape[0]) < 0.5, -1.0, 1.0)[:, None]
    days = _market(close)
    beyond = _moves(close) - days
    new = _compounded(close, days + coins * beyond - np.log(np.cosh(beyond)))

    start = np.log(panel.fields.get("open", close) / close)
    middle = _row_means(start)
    turned = middle + coins * (start - middle)
    up, down = (np.where(coins > 0, *pair) for pair in _wicks(panel, close))
    fields = {
        "close": new,
        "open": new * np.exp(turned),
        "high": new * np.exp(np.fmax(turned, 0.0) + up),
        "low": new * np.exp(np.fmin(turned, 0.0) - down),
    }
    if "volume" in panel.fields:
        fields["volume"] = panel["volume"] * close / new
    same = np.arange(close.shape[0])
    return _remade(panel, fields, same, "flipped", "the signs of returns were drawn anew each day")


def dates_permuted(panel: Panel, seed: int) -> Panel:
    """`panel` with its dates after the first in another order, the same for all names and fields, without drift.

    A day's cross-section stays whole: returns, volumes, the shape of the bar, what is missing and who is a member.
    What is lost is every order in time, and with it the bursts of volatility.

    From each return its name's mean over the days that are still to come, its own included, is taken off. That mean
    is what can be expected of the next day when the earlier ones are known, so nothing is left to expect. (The mean
    over all days would not do: names that were high so far would have to be low for the rest, and momentum
    over a year would have a t-value of -3.)

    Args:
        panel: with `close`. A return across missing rows has no day of its own and counts as 0.
        seed: of the order.

    Raises:
        FieldNotFound: there is no `close`.
        DataInvalid: fewer than 60 rows or 3 names, a close that is not above 0, or a return so low that nothing
            would be left after its name's mean is taken off.
    """
    close = _closes(panel)
    order = np.r_[0, 1 + make_rng(seed, "nulls", "dates").permutation(close.shape[0] - 1)]
    returns = np.full_like(close, np.nan)
    returns[1:] = close[1:] / close[:-1] - 1
    returns = returns[order]
    returns -= _means_to_come(returns)
    if np.nanmin(returns) <= -1:
        raise DataInvalid("a return less its name's mean must stay above -100 %; take such a name out of the panel")
    old = close[order]
    moves = np.where(np.isfinite(old), np.nan_to_num(np.log1p(returns)), np.nan)
    new = np.where(np.isfinite(old), _first(close) * np.exp(np.nancumsum(moves, axis=0)), np.nan)

    fields = {name: panel[name][order] / old * new for name in ("open", "high", "low") if name in panel.fields}
    fields["close"] = new
    if "volume" in panel.fields:
        fields["volume"] = panel["volume"][order] * old / new
    return _remade(
        panel, fields, order, "permuted", "the dates were put in another order and every drift was taken off"
    )


def _closes(panel: Panel) -> Array:
    close = panel["close"]
    if close.shape[0] < LEAST_ROWS or close.shape[1] < LEAST_NAMES:
        raise DataInvalid(
            f"a null market needs at least {LEAST_ROWS} rows and {LEAST_NAMES} names, got {close.shape[0]} "
            f"and {close.shape[1]}"
        )
    if not np.nanmin(close, initial=np.inf) > 0:
        raise DataInvalid("a null market needs every close above 0; run `alphaswarm data check` to find the others")
    return close


def _moves(close: Array) -> Array:
    """Log return [T, N] since the name's last close, however many rows ago; NaN where there are not two."""
    logs = np.log(close)
    moves = np.full_like(close, np.nan)
    moves[1:] = logs[1:] - _carried(logs)[:-1]
    return moves


def _market(close: Array) -> Array:
    """The part of each move [T, N] that is the market's: the means of the days that it spans, added up."""
    known = np.isfinite(close)
    days = np.zeros((close.shape[0], 1))
    days[1:] = np.nan_to_num(_row_means(np.diff(np.log(close), axis=0)))
    level = np.where(known, np.cumsum(days, axis=0), np.nan)
    part = np.full_like(close, np.nan)
    part[1:] = level[1:] - _carried(level)[:-1]
    return part


def _carried(values: Array) -> Array:
    """The last finite value of each column, row by row."""
    rows = np.where(np.isfinite(values), np.arange(values.shape[0])[:, None], 0)
    return np.take_along_axis(values, np.maximum.accumulate(rows, axis=0), axis=0)


def _compounded(close: Array, moves: Array) -> Array:
    """Prices [T, N] that move by `moves` from each name's first close, where `close` has one."""
    return np.where(np.isfinite(close), _first(close) * np.exp(np.nancumsum(moves, axis=0)), np.nan)


def _first(close: Array) -> Array:
    rows = np.isfinite(close).argmax(axis=0)
    first: Array = close[rows, np.arange(close.shape[1])]
    return first


def _wicks(panel: Panel, close: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """(above, below) of the bar's body in logs, and the same exchanged; 0 where the panel has no such price."""
    start = panel.fields.get("open", close)
    above = np.log(panel.fields.get("high", np.fmax(start, close)) / np.fmax(start, close))
    below = np.log(np.fmin(start, close) / panel.fields.get("low", np.fmin(start, close)))
    return (above, below), (below, above)


def _means_to_come(values: Array) -> Array:
    """Means of the finite values of each column from each row on [T, N]; NaN where there are none."""
    known = np.isfinite(values)
    totals = np.cumsum(np.where(known, values, 0.0)[::-1], axis=0)[::-1]
    counts = np.cumsum(known[::-1], axis=0)[::-1]
    return np.where(counts > 0, totals / np.maximum(counts, 1), np.nan)


def _row_means(values: Array) -> Array:
    """Means of the finite values of each row, [T, 1]; NaN where there are none."""
    known = np.isfinite(values)
    count = known.sum(axis=1, keepdims=True)
    total = np.where(known, values, 0.0).sum(axis=1, keepdims=True)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _remade(panel: Panel, fields: dict[str, Array], order: NDArray[np.int64], kind: str, what: str) -> Panel:
    """The panel of `fields` and of what is only put in `order`: other fields, members, groups."""
    close = fields["close"]
    returns = np.full_like(close, np.nan)
    returns[1:] = close[1:] / close[:-1] - 1
    fields = fields | {"returns": returns}
    kept = {name: fields[name] for name in panel.fields if name in fields}
    kept |= {name: values[order] for name, values in panel.fields.items() if name not in REMADE | LEFT_OUT}
    caveat = f"a null market made of {panel.meta.get('name', 'a panel')}: {what}; what is accepted here is noise"
    meta = {
        **panel.meta,
        "name": f"{panel.meta.get('name', 'panel')}-{kind}",
        "caveats": [caveat, *panel.meta.get("caveats", ())],
    }
    groups = {name: labels if labels.strides[0] == 0 else labels[order] for name, labels in panel.groups.items()}
    return Panel.from_arrays(
        kept,
        panel.dates,
        panel.symbols,
        universe=panel.universe[order],
        groups={name: labels[0] if labels.strides[0] == 0 else labels for name, labels in groups.items()},
        meta=meta,
    )
