"""What one bar does to an account in shares: sizes, checks and fills, in compiled code.

An account is shares held [N] and cash. Two kinds of bars: the honest one sizes by what is known at the
fill; the other repeats, step for step and rounding for rounding, what backtrader does (its peeking
included), so that the two can be held against each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import jit, sums

__all__ = ["CASH", "COSTS", "EQUITY", "FIGURES", "GROSS", "NET", "TURNOVER"]
__all__ += ["CUT_TO_CASH", "CUT_TO_VOLUME", "MISSING", "UNPRICED"]
__all__ += [
    "close_row",
    "count_trades",
    "cut_to_cash",
    "cut_to_volume",
    "honest_rows",
    "list_trades",
    "peer_rows",
    "value_of",
    "wanted",
]

Array = NDArray[np.float64]

# Rows of the daily figures.
CASH, EQUITY, TURNOVER, COSTS, GROSS, NET = range(6)
FIGURES = 6
# Places of the counts: orders without a price, cut to the volume, cut to the cash; closes missing.
UNPRICED, CUT_TO_VOLUME, CUT_TO_CASH, MISSING = range(4)


@sums
def value_of(size: Array, price: Array) -> float:
    """Value of positions [N] at `price` [N]; 0 stands for a price that was never seen."""
    total = 0.0
    for i in range(size.size):
        total += size[i] * price[i]
    return total


@sums
def _trades(before: Array, after: Array, price: Array) -> tuple[float, float]:
    """Value bought, and value sold, between two rows of positions."""
    bought = 0.0
    sold = 0.0
    for i in range(before.size):
        change = after[i] - before[i]
        value = change * price[i] if change != 0.0 else 0.0
        bought += max(value, 0.0)
        sold -= min(value, 0.0)
    return bought, sold


@sums
def _value_ahead(size: Array, fill: Array, known: Array) -> float:
    """`value_of` positions [N] just before a fill: at its price, or the last close where it has none."""
    total = 0.0
    for i in range(size.size):
        total += size[i] * (known[i] if np.isnan(fill[i]) else fill[i])
    return total


@sums
def _wanted_whole(target: Array, equity: float, price: Array, size: Array, after: Array) -> tuple[float, float, int]:
    """`wanted` in lots of one share and `_trades` in one go."""
    bought = 0.0
    sold = 0.0
    refused = 0
    for i in range(target.size):
        goal = np.trunc(target[i] * equity / price[i])
        there = not np.isnan(goal)
        after[i] = goal if there else size[i]
        value = (goal - size[i]) * price[i] if there else 0.0
        bought += max(value, 0.0)
        sold -= min(value, 0.0)
        missed = np.isnan(price[i]) and (target[i] != 0.0 or size[i] != 0.0) and not np.isnan(target[i])
        refused += 1 if missed else 0
    return bought, sold, refused


@jit
def wanted(target: Array, equity: float, price: Array, size: Array, lot: float, after: Array) -> int:
    """Positions [N] into `after` that make each target that fraction of `equity`; how many had no price.

    A NaN target asks for nothing. Lots are rounded toward zero (0: fractions of shares are allowed).
    """
    refused = 0
    for i in range(target.size):
        goal = target[i] * equity / price[i]
        if lot == 1.0:
            goal = np.trunc(goal)
        elif lot > 0.0:
            goal = np.trunc(goal / lot) * lot
        after[i] = size[i] if np.isnan(goal) else goal
        missed = np.isnan(price[i]) and (target[i] != 0.0 or size[i] != 0.0) and not np.isnan(target[i])
        refused += 1 if missed else 0
    return refused


@jit
def cut_to_volume(size: Array, most: Array, lot: float, after: Array) -> int:
    """At most `most` [N] shares are traded in a name, whole lots; how many orders were cut."""
    cut = 0
    for i in range(size.size):
        wish = after[i] - size[i]
        room = np.floor(most[i] / lot) * lot if lot > 0.0 else most[i]
        if abs(wish) > room:
            after[i] = size[i] + np.copysign(room, wish)
            cut += 1
    return cut


@jit
def cut_to_cash(size: Array, share: float, lot: float, after: Array) -> None:
    """Buy `share` of what is wanted in every name alike, so that the order of the names decides nothing."""
    for i in range(size.size):
        wish = after[i] - size[i]
        if wish > 0.0:
            after[i] = size[i] + np.trunc(wish * share / lot) * lot


@jit
def honest_rows(
    targets: Array,
    first: int,
    count: int,
    fill: Array,
    known: Array,
    gone: NDArray[np.bool_],
    most: Array,
    rate: float,
    lot: float,
    sizes: Array,
    held: Array,
    daily: Array,
    counts: NDArray[np.int64],
) -> None:
    """The decisions of `count` rows from row `first` on.

    Args:
        targets: [R, N]; its row 0 is row `first`.
        first: the first row that decides.
        count: how many do.
        fill: [T, N], the price at which a row's decision is filled; NaN where it can't be.
        known: [T, N], last close up to each row; 0 where there was none.
        gone: [T, N], where a row has no close.
        most: [T, N], shares that may be traded; [0, 0]: any number.
        rate: commission per value traded.
        lot: shares that are traded together; 0: any fraction, and no limit of cash.
        sizes: [T, N], shares held after each row; row `first` is read, those after it are filled.
        held: [T, N], their value as a fraction of equity.
        daily: [6, T], cash, equity, turnover, costs, gross and net exposure; as `sizes`.
        counts: [4], added to.
    """
    for k in range(count):
        r = first + k
        before, after = sizes[r], sizes[r + 1]
        cash = daily[CASH, r]
        value = cash + _value_ahead(before, fill[r], known[r])
        paid = 0.0
        traded = 0.0
        if value > 0.0:
            if lot == 1.0 and most.shape[0] == 0:
                bought, sold, refused = _wanted_whole(targets[k], value, fill[r], before, after)
            else:
                refused = wanted(targets[k], value, fill[r], before, lot, after)
                if most.shape[0]:
                    counts[CUT_TO_VOLUME] += cut_to_volume(before, most[r], lot, after)
                bought, sold = _trades(before, after, fill[r])
            counts[UNPRICED] += refused
            if lot > 0.0 and bought * (1.0 + rate) > cash + sold * (1.0 - rate):
                share = max(cash + sold * (1.0 - rate), 0.0) / (bought * (1.0 + rate))
                cut_to_cash(before, share, lot, after)
                counts[CUT_TO_CASH] += 1
                bought, sold = _trades(before, after, fill[r])
            traded = bought + sold
            paid = rate * traded
            cash += sold - bought - paid
        else:
            after[:] = before
        close_row(r + 1, cash, traded / value if value > 0.0 else 0.0, paid, known, gone, sizes, held, daily, counts)


@jit
def close_row(
    row: int,
    cash: float,
    turnover: float,
    paid: float,
    known: Array,
    gone: NDArray[np.bool_],
    sizes: Array,
    held: Array,
    daily: Array,
    counts: NDArray[np.int64],
) -> None:
    """Value the account at close `row`; one that has nothing left is closed out and stays as it is."""
    equity = cash + value_of(sizes[row], known[row])
    if equity <= 0.0:
        sizes[row] = 0.0
        cash = equity
    daily[CASH, row], daily[EQUITY, row], daily[TURNOVER, row], daily[COSTS, row] = cash, equity, turnover, paid
    counts[MISSING] += _held_without(sizes[row], gone[row])
    daily[GROSS, row], daily[NET, row] = _fractions(sizes[row], known[row], equity, held[row])


@jit
def _held_without(size: Array, gone: NDArray[np.bool_]) -> int:
    """How many names are held that have no close."""
    missing = 0
    for i in range(size.size):
        missing += 1 if gone[i] and size[i] != 0.0 else 0
    return missing


@sums
def _fractions(size: Array, price: Array, equity: float, held: Array) -> tuple[float, float]:
    """Positions [N] as fractions of equity into `held`, and their exposures; 0 where there is no equity."""
    gross = 0.0
    net = 0.0
    unit = 1.0 / equity if equity > 0.0 else 0.0
    for i in range(size.size):
        part = size[i] * price[i] * unit
        held[i] = part
        gross += abs(part)
        net += part
    return gross, net


@jit
def count_trades(sizes: Array) -> int:
    """How often a row of shares held [T, N] differs from the one before it."""
    total = 0
    for row in range(1, sizes.shape[0]):
        for i in range(sizes.shape[1]):
            total += 1 if sizes[row, i] != sizes[row - 1, i] else 0
    return total


@jit
def list_trades(
    sizes: Array,
    price: Array,
    rate: float,
    first: int,
    sells_first: bool,
    bar: NDArray[np.int64],
    name: NDArray[np.int64],
    size: Array,
    paid_at: Array,
    commission: Array,
) -> None:
    """The columns [F] of what was traded between rows of shares held [T, N], row by row.

    `price` [T - 1, N] and `rate` are what was traded at; `first` is the bar of the first row's trades. Within a row
    names are in order, those that were sold before those that were bought if `sells_first`.
    """
    place = np.empty(sizes.shape[1] + 1, np.int64)  # one more: what is not traded is written, but not counted
    n = 0
    for row in range(1, sizes.shape[0]):
        before, after, at = sizes[row - 1], sizes[row], price[row - 1]
        count = 0
        for i in range(before.size if sells_first else 0):
            place[count] = i
            count += 1 if after[i] < before[i] else 0
        for i in range(before.size):
            place[count] = i
            count += 1 if after[i] > before[i] or (after[i] < before[i] and not sells_first) else 0
        for k in range(n, n + count):
            i = place[k - n]
            bar[k], name[k] = first + row - 1, i
            size[k], paid_at[k] = after[i] - before[i], at[i]
            commission[k] = rate * abs(size[k]) * at[i]
        n += count


@jit
def peer_rows(
    targets: Array,
    first: int,
    count: int,
    fill: Array,
    mark: Array,
    check: Array,
    size_by: Array,
    known: Array,
    gone: NDArray[np.bool_],
    rate: float,
    entry: Array,
    sizes: Array,
    held: Array,
    daily: Array,
    counts: NDArray[np.int64],
) -> None:
    """As `honest_rows`, as backtrader does it.

    `mark` values positions where orders are sized, `size_by` divides the money, `check` is where the cash is
    checked, all [T, N] beside the row that decides; `entry` [N] are average entry prices, changed.
    """
    order = np.empty(targets.shape[1])
    for k in range(count):
        r = first + k
        size = sizes[r + 1]
        size[:] = sizes[r]
        cash, value = daily[CASH, r], daily[EQUITY, r]
        _peer_sizes(targets[k], value, mark[r], size_by[r], size, order)
        counts[CUT_TO_CASH] += _peer_accepts(order, check[r], size, cash, rate)
        traded = 0.0
        paid = 0.0
        for i in range(order.size):
            if order[i] != 0.0 and np.isnan(fill[r, i]):
                counts[UNPRICED] += 1
            elif order[i] != 0.0:
                done, fee, cash = _peer_executes(order[i], fill[r, i], size, entry, cash, rate, i)
                counts[CUT_TO_CASH] += 1 if done != order[i] else 0
                traded += abs(done) * fill[r, i]
                paid += fee
        daily[CASH, r + 1] = cash
        equity = _peer_value(cash, size, entry, known[r + 1])
        daily[EQUITY, r + 1] = equity
        counts[MISSING] += _held_without(sizes[r + 1], gone[r + 1])
        daily[GROSS, r + 1], daily[NET, r + 1] = _fractions(size, known[r + 1], equity, held[r + 1])
        daily[TURNOVER, r + 1] = traded / value if value > 0.0 else 0.0
        daily[COSTS, r + 1] = paid


@jit
def _executed(change: float, price: float, size: Array, entry: Array, i: int) -> None:
    """Book a fill: shares and average entry price of name `i`."""
    before = size[i]
    after = before + change
    if after == 0.0:
        entry[i] = 0.0
    elif before == 0.0 or (before > 0.0) != (after > 0.0):
        entry[i] = price
    elif (change > 0.0) == (before > 0.0):
        entry[i] = (entry[i] * before + change * price) / after
    size[i] = after


@jit
def _peer_sizes(target: Array, value: float, mark: Array, price: Array, size: Array, order: Array) -> None:
    """Whole shares [N] into `order`: the difference to the target at `mark`, divided by `price`, rounded down."""
    for i in range(target.size):
        order[i] = 0.0
        if np.isnan(target[i]) or np.isnan(price[i]):
            continue
        goal = target[i] * value
        if goal == 0.0 and size[i] != 0.0:
            order[i] = -size[i]
            continue
        now = size[i] * mark[i]
        if goal > now:
            order[i] = (goal - now) // price[i]
        elif goal < now:
            order[i] = -((now - goal) // price[i])


@jit
def _peer_accepts(order: Array, price: Array, size: Array, cash: float, rate: float) -> int:
    """Cash check of all orders one after another at `price`; a refused one becomes 0 but its cash stays gone.

    Returns:
        How many were refused.
    """
    refused = 0
    for i in range(order.size):
        if order[i] == 0.0 or np.isnan(price[i]):
            continue
        closed, opened = _parts(order[i], size[i])
        if closed != 0.0:
            cash += -closed * price[i]
            cash -= abs(closed) * rate * price[i]
        if opened != 0.0:
            cash -= opened * price[i]
            cash -= abs(opened) * rate * price[i]
        if cash < 0.0:
            order[i] = 0.0
            refused += 1
    return refused


@jit
def _peer_executes(
    order: float, price: float, size: Array, entry: Array, cash: float, rate: float, i: int
) -> tuple[float, float, float]:
    """Fill name `i`: what closes is always done, what opens only where cash stays 0 or more.

    Returns:
        Shares filled, commission, cash.
    """
    closed, opened = _parts(order, size[i])
    commission = 0.0
    if closed != 0.0:
        cash += -closed * entry[i] + -closed * (price - entry[i])
        commission = abs(closed) * rate * price
        cash -= commission
    if opened != 0.0:
        fee = abs(opened) * rate * price
        left = cash - opened * price
        left -= fee
        if left < 0.0:
            opened = 0.0
        else:
            cash = left
            commission += fee
    if closed + opened != 0.0:
        _executed(closed + opened, price, size, entry, i)
    return closed + opened, commission, cash


@jit
def _peer_value(cash: float, size: Array, entry: Array, close: Array) -> float:
    """Cash and positions at the close; longs are added as cost and gain apart, which rounds in its own way."""
    total = 0.0
    for i in range(size.size):
        value = size[i] * close[i]
        if value > 0.0:
            gain = size[i] * (close[i] - entry[i])
            total += value - gain
            total += gain
        else:
            total += value
    return cash + total


@jit
def _parts(order: float, held: float) -> tuple[float, float]:
    """The part of an order that closes what is held, and the part that opens."""
    if held == 0.0 or (order > 0.0) == (held > 0.0):
        return 0.0, order
    if abs(order) <= abs(held):
        return order, 0.0
    return -held, order + held
