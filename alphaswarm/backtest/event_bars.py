"""What one bar does to an account: sizes, checks and fills of orders, in compiled code.

An account is shares held [N], their average entry price [N] and cash. Prices that can't be traded
at are NaN. Two kinds of bars: the honest one sizes by what is known at the fill; the other repeats,
step for step and rounding for rounding, what backtrader does (its peeking included), so that the two
can be held against each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import jit

__all__ = ["account_value", "closed_out", "executed", "fractions", "trade_rows", "wanted"]

Array = NDArray[np.float64]


@jit
def account_value(cash: float, size: Array, price: Array) -> float:
    """Cash and positions [N] at `price` [N]; a name that is not held needs no price."""
    total = cash
    for i in range(size.size):
        if size[i] != 0.0:
            total += size[i] * price[i]
    return total


@jit
def wanted(
    target: Array, equity: float, price: Array, most: Array, size: Array, lot: float, change: Array
) -> tuple[int, int]:
    """The shares to trade [N] into `change`, so that each target is that fraction of `equity`.

    A NaN target asks for nothing. Lots are rounded toward zero (0: fractions of shares are allowed), and
    a target of 0 sells everything. At most `most` [N] shares are traded in a name.

    Returns:
        How many orders had no price, and how many were cut to `most`.
    """
    refused = 0
    cut = 0
    for i in range(target.size):
        change[i] = 0.0
        if np.isnan(target[i]):
            continue
        if np.isnan(price[i]):
            if target[i] != 0.0 or size[i] != 0.0:
                refused += 1
            continue
        goal = target[i] * equity / price[i]
        if lot > 0.0:
            goal = np.trunc(goal / lot) * lot
        wish = goal - size[i]
        room = np.floor(most[i] / lot) * lot if lot > 0.0 else most[i]
        if abs(wish) > room:
            wish = np.copysign(room, wish)
            cut += 1
        change[i] = wish
    return refused, cut


@jit
def cut_to_cash(change: Array, price: Array, cash: float, rate: float, lot: float) -> bool:
    """Shrink all buys in `change` [N] by one share of their size where sells and cash can't pay them.

    All alike, so that the order of the names decides nothing. `rate` is the cost per unit of value.
    """
    need = 0.0
    for i in range(change.size):
        value = change[i] * price[i]
        if change[i] > 0.0:
            need += value * (1.0 + rate)
        elif change[i] < 0.0:
            cash -= value * (1.0 - rate)
    if need <= cash:
        return False
    share = max(cash, 0.0) / need
    for i in range(change.size):
        if change[i] > 0.0:
            change[i] = np.trunc(change[i] * share / lot) * lot if lot > 0.0 else change[i] * share
    return True


@jit
def executed(change: float, price: float, size: Array, entry: Array, i: int) -> None:
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
def peer_sizes(target: Array, value: float, mark: Array, price: Array, size: Array, order: Array) -> None:
    """Whole shares [N] into `order`: the difference to the target at `mark`, divided by `price`, rounded down."""
    for i in range(target.size):
        order[i] = 0.0
        if np.isnan(target[i]):
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
def peer_accepts(order: Array, price: Array, size: Array, cash: float, rate: float) -> int:
    """Cash check of all orders one after another at `price`; a refused one becomes 0 but its cash stays gone.

    Returns:
        How many were refused.
    """
    refused = 0
    for i in range(order.size):
        if order[i] == 0.0:
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
def peer_executes(
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
        executed(closed + opened, price, size, entry, i)
    return closed + opened, commission, cash


@jit
def peer_value(cash: float, size: Array, entry: Array, close: Array) -> float:
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


@jit
def closed_out(cash: float, size: Array, entry: Array, price: Array) -> float:
    """Sell everything at `price`: what an account does that has nothing left. Returns the cash."""
    total = account_value(cash, size, price)
    size[:] = 0.0
    entry[:] = 0.0
    return total


@jit
def fractions(size: Array, price: Array, equity: float, out: Array) -> None:
    """Positions [N] at `price` as fractions of equity; 0 where there is no equity."""
    for i in range(size.size):
        out[i] = size[i] * price[i] / equity if size[i] != 0.0 and equity > 0.0 else 0.0


@jit
def trade_rows(
    peer: bool,
    targets: Array,
    fill: Array,
    mark: Array,
    check: Array,
    size_by: Array,
    known: Array,
    gone: NDArray[np.bool_],
    most: Array,
    rate: float,
    lot: float,
    size: Array,
    entry: Array,
    daily: Array,
    held: Array,
    counts: NDArray[np.int64],
    place: NDArray[np.int64],
    record: Array,
) -> int:
    """Trade R rows of targets [R, N]; prices [R + 1, N] stand beside the row that decides.

    `daily` [4, R + 1] (cash, equity, turnover, costs) and `held` [R + 1, N] are filled from place 1 on,
    `counts` [4] (orders without a price, cut to the volume, to the cash; closes missing) are added to,
    `place` [F, 2] (row, name) and `record` [F, 3] (shares, price, commission) take the fills.

    Returns:
        The number of fills.
    """
    rows, names = targets.shape
    change = np.empty(names)
    filled = 0
    for r in range(rows):
        daily[:, r + 1] = daily[:, r]
        state = daily[:, r + 1]
        if peer:
            peer_sizes(targets[r], state[1], mark[r], size_by[r], size, change)
            counts[2] += peer_accepts(change, check[r], size, state[0], rate)
            done = _peer_row(r, change, fill[r], rate, size, entry, state, counts, place[filled:], record[filled:])
            after = peer_value(state[0], size, entry, known[r + 1])
        else:
            value = account_value(state[0], size, np.where(np.isnan(fill[r]), known[r], fill[r]))
            change[:] = 0.0
            if value > 0.0:
                refused, cut = wanted(targets[r], value, fill[r], most[r], size, lot, change)
                counts[0] += refused
                counts[1] += cut
                if lot > 0.0:
                    counts[2] += cut_to_cash(change, fill[r], state[0], rate, lot)
            state[1] = value
            done = _honest_row(r, change, fill[r], rate, size, entry, state, place[filled:], record[filled:])
            after = account_value(state[0], size, known[r + 1])
            if after <= 0.0:
                state[0] = closed_out(state[0], size, entry, known[r + 1])
        filled += done
        state[1] = after
        for i in range(names):
            if size[i] != 0.0 and gone[r + 1, i]:
                counts[3] += 1
        fractions(size, known[r + 1], after, held[r + 1])
    return filled


@jit
def _honest_row(
    row: int,
    change: Array,
    price: Array,
    rate: float,
    size: Array,
    entry: Array,
    state: Array,
    place: NDArray[np.int64],
    record: Array,
) -> int:
    """Fill `change` [N], sells first; `state` is cash, value traded upon, turnover, costs."""
    filled = 0
    traded = 0.0
    paid = 0.0
    for buys in (False, True):
        for i in range(change.size):
            if change[i] == 0.0 or (change[i] > 0.0) != buys:
                continue
            value = change[i] * price[i]
            fee = abs(change[i]) * rate * price[i]
            executed(change[i], price[i], size, entry, i)
            state[0] -= value
            state[0] -= fee
            traded += abs(value)
            paid += fee
            place[filled, 0], place[filled, 1] = row, i
            record[filled, 0], record[filled, 1], record[filled, 2] = change[i], price[i], fee
            filled += 1
    state[2] = traded / state[1] if state[1] > 0.0 else 0.0
    state[3] = paid
    return filled


@jit
def _peer_row(
    row: int,
    order: Array,
    price: Array,
    rate: float,
    size: Array,
    entry: Array,
    state: Array,
    counts: NDArray[np.int64],
    place: NDArray[np.int64],
    record: Array,
) -> int:
    """Fill `order` [N] in the order of the names; `state` as in `_honest_row`."""
    filled = 0
    traded = 0.0
    paid = 0.0
    for i in range(order.size):
        if order[i] == 0.0:
            continue
        done, fee, state[0] = peer_executes(order[i], price[i], size, entry, state[0], rate, i)
        if done != order[i]:
            counts[2] += 1
        if done == 0.0:
            continue
        traded += abs(done) * price[i]
        paid += fee
        place[filled, 0], place[filled, 1] = row, i
        record[filled, 0], record[filled, 1], record[filled, 2] = done, price[i], fee
        filled += 1
    state[2] = traded / state[1] if state[1] > 0.0 else 0.0
    state[3] = paid
    return filled
