"""What days do to an account that holds fractions of equity, in compiled code.

The account is `held` [N], the value in each name, and its cash. A day is: positions earn the first part
of the day's return, the decision of the row before is filled, positions earn the rest. Days on which
every name has a return and a price take a short path, whose sums may be added in any order. From one such day to the
next, an account that is brought to its targets at each close needs no list of its positions: they are the last
targets, times what they were a fraction of.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import jit, sums

__all__ = ["EQUITY", "FIGURES", "GROSS", "NET", "PAID", "TURNOVER", "batch", "filled", "moved", "whole_rows"]

Array = NDArray[np.float64]

# Rows of the daily figures.
EQUITY, TURNOVER, PAID, GROSS, NET = range(5)
FIGURES = 5
# Days of one strategy that are done before the next strategy's: their returns stay in the cache.
BLOCK = 256
# So many names are summed in the width of the weights, 8 to each place of four registers, before the sum is widened.
CHUNK = 512


@sums
def _total(values: Array) -> float:
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i])
    return total


@sums
def _grow(held: Array, returns: Array) -> float:
    total = 0.0
    for i in range(held.size):
        value = held[i] * (1 + returns[i])
        held[i] = value
        total += np.float64(value)
    return total


@sums
def _fill_all(held: Array, target: Array, value: float) -> tuple[float, float]:
    """Bring every name to its target: value traded on both sides, and held without signs."""
    traded = 0.0
    gross = 0.0
    scale = held.dtype.type(value)
    for i in range(held.size):
        goal = target[i] * scale
        traded += np.float64(abs(goal - held[i]))
        gross += np.float64(abs(goal))
        held[i] = goal
    return traded, gross


@sums
def _earned(last: Array, returns: Array) -> float:
    """What positions `last` [N] earn."""
    earned = 0.0
    for i in range(last.size):
        earned += np.float64(last[i] * returns[i])
    return earned


@sums
def _refill(
    weights: Array, row: int, returns: Array, day: int, unit: float, value: float
) -> tuple[float, float, float, float]:
    """`_fill_all` on `day`, where positions were the row before times `unit`, with the targets of `row`.

    Rows are named, not cut out: cutting counts references, on which threads would wait for each other.

    Returns:
        Value traded on both sides; of the targets, their sum, without signs, and what they earn of the next day's
        returns (of the same day's on the last one). So a row of weights is read once as target and once as held.
    """
    traded = gross = net = earned = 0.0
    before = weights.dtype.type(unit)
    after = weights.dtype.type(value)
    later = min(day + 1, returns.shape[0] - 1)
    names = weights.shape[1]
    for start in range(0, names, CHUNK):
        part_traded = part_gross = part_net = part_earned = weights.dtype.type(0)
        for i in range(np.uint64(start), np.uint64(min(start + CHUNK, names))):
            target = weights[row, i]
            last = weights[row - 1, i]
            part_traded += abs(target * after - (last + last * returns[day, i]) * before)
            part_gross += abs(target)
            part_net += target
            part_earned += target * returns[later, i]
        traded += np.float64(part_traded)
        gross += np.float64(part_gross)
        net += np.float64(part_net)
        earned += np.float64(part_earned)
    return traded, gross, net, earned


@sums
def _spread(held: Array, target: Array, unit: float) -> None:
    """Write down positions [N]."""
    scale = held.dtype.type(unit)
    for i in range(held.size):
        held[i] = target[i] * scale


@sums
def _gross(held: Array) -> float:
    total = 0.0
    for i in range(held.size):
        total += np.float64(abs(held[i]))
    return total


@jit
def whole_rows(values: Array, whole: NDArray[np.bool_]) -> int:
    """Which rows of `values` [T, N] are finite throughout, into `whole` [T]; the first with infinity, or -1."""
    for row in range(values.shape[0]):
        whole[row] = np.isfinite(_total(values[row]))
        if not whole[row]:
            for i in range(values.shape[1]):
                if np.isinf(values[row, i]):
                    return row
    return -1


@jit
def moved(held: Array, growth: Array) -> int:
    """Let positions [N] earn one part's returns; how many were missing."""
    missing = 0
    for i in range(held.size):
        if held[i] != 0.0:
            if np.isnan(growth[i]):
                missing += 1
            else:
                held[i] *= 1 + growth[i]
    return missing


@jit
def filled(
    held: Array, target: Array, tradable: NDArray[np.bool_], most: Array, value: float, band: float
) -> tuple[float, float, int]:
    """Bring positions [N] to their targets: net bought, traded on both sides, orders that were not carried out.

    An order for less than `band` of the value is not placed, unless its target is 0. No more than `most`
    [N] is traded in a name ([0]: no limit); a name that can't be traded keeps its position.
    """
    bought = 0.0
    traded = 0.0
    refused = 0
    for i in range(held.size):
        order = target[i] * value - held[i]
        if order == 0.0 or (target[i] != 0.0 and abs(order) < band * value):
            continue
        if not tradable[i]:
            refused += 1
            continue
        if most.size > 0 and not abs(order) <= most[i]:
            refused += 1
            if np.isnan(most[i]):
                continue
            order = np.copysign(most[i], order)
            held[i] += order
        else:
            held[i] = target[i] * value
        bought += order
        traded += abs(order)
    return bought, traded, refused


@jit
def batch(
    weights: Array,
    base: int,
    first: int,
    count: int,
    before: Array,
    whole: NDArray[np.bool_],
    after: Array,
    tradable: NDArray[np.bool_],
    every: int,
    rate: float,
    interest: float,
    band: float,
    held: Array,
    cash: Array,
    daily: Array,
    counts: NDArray[np.int64],
    positions: Array,
) -> tuple[int, int]:
    """The decisions of `count` rows from row `first` on, for S strategies.

    Args:
        weights: [S, R, N]; its row 0 is row `base` of the market, filled on day `base` + 1.
        base: see `weights`.
        first: the first row that is decided.
        count: how many.
        before: [T, N], each day's return up to the fill.
        whole: [T], where every name has one.
        after: [T, N], from the fill to the close; [0, 0]: the fill is the close.
        tradable: [T, N]; [0, 0]: wherever there is a return before the fill.
        every: only every such row decides.
        rate: cost per value traded.
        interest: what cash earns in a day.
        band: see `filled`.
        held: [S, N], changed.
        cash: [S], changed.
        daily: [S, 5, T], filled from day ``first + 1`` on; equity of day `first` is read.
        counts: [S, 2], missing returns and refused orders, added to.
        positions: [S, T, N] as fractions of equity, or [0, 0, 0] to keep none.

    Returns:
        (strategy, row) of the first row of weights that is neither finite nor NaN throughout; (-1, -1).
    """
    strategies = weights.shape[0]
    # value of which the last row of targets are fractions, where they are all that is held; 0: see `held`
    unit, nets, gains = np.zeros(strategies), np.zeros(strategies), np.full(strategies, np.nan)
    for start in range(first, first + count, BLOCK):
        stop = min(first + count, start + BLOCK)
        for s in range(strategies):
            kept = positions[s] if positions.shape[0] else np.empty((0, 0), positions.dtype)
            wrong, unit[s], nets[s], gains[s] = _rows(
                weights[s],
                base,
                start,
                stop,
                before,
                whole,
                after,
                tradable,
                every,
                rate,
                interest,
                band,
                unit[s],
                nets[s],
                gains[s],
                held[s],
                cash[s : s + 1],
                daily[s],
                counts[s],
                kept,
            )
            if wrong >= 0:
                return s, wrong
    for s in range(strategies):
        if unit[s] > 0.0:
            _spread(held[s], weights[s, first + count - 1 - base], unit[s])
    return -1, -1


@jit
def _rows(
    weights: Array,
    base: int,
    start: int,
    stop: int,
    before: Array,
    whole: NDArray[np.bool_],
    after: Array,
    tradable: NDArray[np.bool_],
    every: int,
    rate: float,
    interest: float,
    band: float,
    unit: float,
    last_net: float,
    earned: float,
    held: Array,
    cash: Array,
    daily: Array,
    counts: NDArray[np.int64],
    positions: Array,
) -> tuple[int, float, float, float]:
    """`batch` of one strategy from row `start` to before `stop`.

    `held` holds where `unit` is 0; above, positions are the targets of the row before times `unit`, the sum of
    these targets is `last_net`, and they are about to earn `earned` (NaN: not known yet). These are returned after the
    row that is wrong, or -1.
    """
    plain = band == 0.0 and tradable.shape[0] == 0
    for r in range(start, stop):
        t = r + 1
        if daily[EQUITY, r] <= 0.0:
            daily[EQUITY, t] = daily[EQUITY, r]
            unit = 0.0
            continue
        decides = r % every == 0
        money = cash[0] * (1.0 + interest)
        steady = False
        if unit > 0.0:
            if decides and whole[t]:
                if np.isnan(earned):
                    earned = _earned(weights[r - 1 - base], before[t])
                invested = unit * (last_net + earned)
                value = money + invested
                if value > 0.0:
                    traded, gross, net, earned = _refill(weights, r - base, before, t, unit, value)
                    steady = np.isfinite(net)
            if steady:
                gross *= value
                bought = net * value - invested
                invested = net * value
            else:
                _spread(held, weights[r - 1 - base], unit)
        if not steady:
            earned = np.nan
            target = weights[r - base]
            net = _total(target) if decides else np.nan
            if decides and not np.isfinite(net) and not _all_nan(target):
                return r, unit, last_net, earned
            can = tradable[t] if tradable.shape[0] else tradable[:0, 0]
            value, invested, bought, traded, gross, missing, refused = _day(
                held, target, net, before[t], whole[t], can, plain, money, band
            )
            counts[0] += missing
            counts[1] += refused
        paid = rate * traded
        money -= bought + paid
        cash[0] = money
        again = plain and whole[t] and np.isfinite(net) and value > 0.0 and after.shape[0] == 0
        unit, last_net = value if again else 0.0, net
        if after.shape[0]:
            gross = -1.0
            invested, missing = _earn(held, after[t])
            counts[0] += missing
        equity = money + invested
        daily[EQUITY, t] = equity
        daily[TURNOVER, t] = traded / value if value > 0.0 else 0.0
        daily[PAID, t] = paid
        if equity > 0.0:
            daily[GROSS, t] = (_gross(held) if gross < 0.0 else gross) / equity
            daily[NET, t] = invested / equity
            if positions.shape[0] and again:
                _spread(positions[t], weights[r - base], value / equity)
            elif positions.shape[0]:
                _spread(positions[t], held, 1.0 / equity)
    return -1, unit, last_net, earned


@jit
def _earn(held: Array, growth: Array) -> tuple[float, int]:
    """Let positions [N] earn one part's returns: their value, and how many returns were missing."""
    if np.isfinite(_total(growth)):
        return _grow(held, growth), 0
    missing = moved(held, growth)
    return _total(held), missing


@jit
def _day(
    held: Array,
    target: Array,
    net: float,
    growth: Array,
    whole: bool,
    tradable: NDArray[np.bool_],
    plain: bool,
    money: float,
    band: float,
) -> tuple[float, float, float, float, float, int, int]:
    """A day of positions [N] up to its fill; a `net` of the targets that is not finite decides nothing.

    Returns:
        Equity before the fill, value in positions after it, net bought, traded on both sides, gross (-1: not known),
        returns that were missing, orders that were not carried out.
    """
    missing = refused = 0
    bought = traded = 0.0
    gross = -1.0
    if whole:
        invested = _grow(held, growth)
    else:
        invested, missing = _earn(held, growth)
    value = money + invested
    if np.isfinite(net) and value > 0.0:
        if whole and plain:
            traded, gross = _fill_all(held, target, value)
            bought = net * value - invested
            invested = net * value
        else:
            can = tradable if tradable.size else np.isfinite(growth)
            bought, traded, refused = filled(held, target, can, np.empty(0), value, band)
            invested = _total(held)
    return value, invested, bought, traded, gross, missing, refused


@jit
def _all_nan(values: Array) -> bool:
    missing = 0
    for i in range(values.size):
        missing += np.isnan(values[i])
    return missing == values.size
