"""What days do to an account that holds fractions of equity, in compiled code.

The account is `held` [N], the value in each name, and its cash. A day is: positions earn the first part
of the day's return, the decision of the row before is filled, positions earn the rest. Days on which
every name has a return and a price take a short path, whose sums may be added in any order.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from alphaswarm.core.jit import jit

__all__ = ["EQUITY", "FIGURES", "GROSS", "NET", "PAID", "TURNOVER", "batch", "filled", "moved", "whole_rows"]

Array = NDArray[np.float64]

# Rows of the daily figures.
EQUITY, TURNOVER, PAID, GROSS, NET = range(5)
FIGURES = 5
# Days of one strategy that are done before the next strategy's: their returns stay in the cache.
BLOCK = 256

# Sums over names in any order: what makes them fit vector registers.
_sum = njit(error_model="numpy", nogil=True, fastmath={"reassoc", "contract", "nsz"})


@_sum
def _total(values: Array) -> float:
    total = 0.0
    for i in range(values.size):
        total += np.float64(values[i])
    return total


@_sum
def _grow(held: Array, returns: Array) -> float:
    total = 0.0
    for i in range(held.size):
        value = held[i] * (1 + returns[i])
        held[i] = value
        total += np.float64(value)
    return total


@_sum
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


@_sum
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
    strategies, _, names = weights.shape
    free = np.empty(0)
    for start in range(first, first + count, BLOCK):
        for s in range(strategies):
            for r in range(start, min(first + count, start + BLOCK)):
                t = r + 1
                if daily[s, EQUITY, r] <= 0.0:
                    daily[s, EQUITY, t] = daily[s, EQUITY, r]
                    continue
                money = cash[s] * (1.0 + interest)
                clean = whole[t]
                if clean:
                    invested = _grow(held[s], before[t])
                else:
                    counts[s, 0] += moved(held[s], before[t])
                    invested = _total(held[s])
                value = money + invested
                traded = 0.0
                paid = 0.0
                gross = -1.0
                net = _total(weights[s, r - base]) if r % every == 0 else np.nan
                if r % every == 0 and not np.isfinite(net) and not _all_nan(weights[s, r - base]):
                    return s, r
                if np.isfinite(net) and value > 0.0:
                    if clean and band == 0.0 and tradable.shape[0] == 0:
                        traded, gross = _fill_all(held[s], weights[s, r - base], value)
                        bought = net * value - invested
                        invested = net * value
                    else:
                        can = tradable[t] if tradable.shape[0] else np.isfinite(before[t])
                        bought, traded, refused = filled(held[s], weights[s, r - base], can, free, value, band)
                        counts[s, 1] += refused
                        invested = _total(held[s])
                    paid = rate * traded
                    money -= bought + paid
                cash[s] = money
                if after.shape[0]:
                    gross = -1.0
                    if np.isfinite(_total(after[t])):
                        invested = _grow(held[s], after[t])
                    else:
                        counts[s, 0] += moved(held[s], after[t])
                        invested = _total(held[s])
                equity = money + invested
                daily[s, EQUITY, t] = equity
                daily[s, TURNOVER, t] = traded / value if value > 0.0 else 0.0
                daily[s, PAID, t] = paid
                if equity > 0.0:
                    daily[s, GROSS, t] = (_gross(held[s]) if gross < 0.0 else gross) / equity
                    daily[s, NET, t] = invested / equity
                    if positions.shape[0]:
                        for i in range(names):
                            positions[s, t, i] = held[s, i] / equity
    return -1, -1


@jit
def _all_nan(values: Array) -> bool:
    missing = 0
    for i in range(values.size):
        missing += np.isnan(values[i])
    return missing == values.size
