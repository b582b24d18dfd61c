"""`VectorEngine`: weights to equity in one pass over the days."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest.metrics import DEFAULT_PERIODS_PER_YEAR, periods_per_year
from alphaswarm.backtest.result import BacktestResult
from alphaswarm.core import DataInvalid, Panel, SpecInvalid, WeightsInvalid
from alphaswarm.core.jit import jit
from alphaswarm.trading import ProportionalCosts

__all__ = ["FILLS", "Fill", "VectorEngine"]

# When a decision made at close t is carried out: at close t+1 or at open t+1.
Fill = Literal["close_t1", "open_t1"]
FILLS: tuple[Fill, ...] = ("close_t1", "open_t1")


@dataclass(frozen=True)
class VectorEngine:
    """Holds fractions of equity, without lots or cash limits.

    Row t of the weights is decided at close t and filled one session later, at its close
    (`close_t1`) or open (`open_t1`); nothing later than the fill moves what is traded there. At a
    fill, each target is that fraction of the equity just before it; positions then drift with
    their returns until the next fill. The cost of what is traded is paid from cash at once.

    - A row that is NaN throughout is no decision: positions drift on.
    - A name without a price at the fill can't be traded: its position stays (counted).
    - A held name without a close stays at its last known price that day (counted); its next price
      brings the whole move since then. Plain returns know no price: a missing one is 0 (counted).
    - Equity of 0 or less ends the run: all is sold, and equity stays where it is.

    Args:
        costs: what trading costs.
        fill: when decisions are carried out.
    """

    costs: ProportionalCosts = field(default_factory=ProportionalCosts)
    fill: Fill = "close_t1"

    def __post_init__(self) -> None:
        if self.fill not in FILLS:
            raise SpecInvalid(f"fill must be one of {', '.join(FILLS)}, got {self.fill!r}")

    def run(
        self,
        panel: Panel | None = None,
        weights: ArrayLike | None = None,
        *,
        returns: ArrayLike | None = None,
        periods: float | None = None,
    ) -> BacktestResult:
        """Trade `weights` on a panel, or on plain returns.

        Args:
            panel: must hold `close`, and `open` for `open_t1`.
            weights: [T, N] or [S, T, N] fractions of equity, row t decided at close t.
            returns: [T, N] close-to-close returns instead of a panel (`close_t1` only); a missing
                one counts as 0 and means that the name can't be traded at that close.
            periods: rows in a year; the panel's own by default, 252 for plain returns.

        Returns:
            A result with arrays [T] and [T, N], or [S, T] and [S, T, N].

        Raises:
            WeightsInvalid: a wrong shape, infinity, or NaN in part of a row; the message names the place.
            DataInvalid: both or neither of panel and returns, or returns that are infinite.
            FieldNotFound: the panel lacks a price that the fill needs.
        """
        if weights is None:
            raise WeightsInvalid("a backtest needs weights [T, N] or [S, T, N], got none")
        if (panel is None) == (returns is None):
            raise DataInvalid("a backtest needs a panel or returns, exactly one of them")
        symbols: tuple[str, ...] | None = None
        if panel is not None:
            legs = _panel_legs(panel, self.fill)
            symbols = panel.symbols
            year = periods_per_year(panel) if periods is None else periods
        else:
            legs = _return_legs(returns, self.fill)
            year = DEFAULT_PERIODS_PER_YEAR if periods is None else periods
        if not 0 < year < math.inf:
            raise DataInvalid(f"periods must be a positive number of rows in a year, got {year!r}")
        targets = _checked(weights, legs.before.shape, symbols)
        batch = targets if targets.ndim == 3 else targets[None]
        arrays = _simulate(batch, legs.before, legs.after, legs.tradable, self.costs.rate)
        setup = {"engine": "vector", "fill": self.fill, "costs": repr(self.costs)}
        equity, moved, turnover, paid, held, missing, untraded = arrays
        gross, net = np.abs(held).sum(axis=-1), held.sum(axis=-1)
        result = BacktestResult(
            equity, moved, turnover, paid, gross, net, held, missing, untraded, periods=float(year), setup=setup
        )
        return result if targets.ndim == 3 else result[0]


@dataclass(frozen=True, eq=False)
class _Legs:
    """Each day's return cut at the fill: `before` and `after` it, [T, N]; where a fill has a price."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    tradable: NDArray[np.bool_]


def _panel_legs(panel: Panel, fill: Fill) -> _Legs:
    close = _prices(panel, "close")
    if fill == "close_t1":
        return _Legs(_moves(close), np.zeros((1, 1)), np.isfinite(close))
    opened = _prices(panel, "open")
    in_turn = np.empty((2 * close.shape[0], close.shape[1]))
    in_turn[::2], in_turn[1::2] = opened, close
    moves = _moves(in_turn)
    # without an open the whole day comes after the fill: the close is not known there
    before = np.where(np.isnan(opened), 0.0, moves[::2])
    return _Legs(np.ascontiguousarray(before), np.ascontiguousarray(moves[1::2]), np.isfinite(opened))


def _moves(prices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each price [T, N] against the last known one before it, minus 1; NaN where there is none of the two."""
    known = np.where(np.isfinite(prices), np.arange(prices.shape[0])[:, None], 0)
    last = np.take_along_axis(prices, np.maximum.accumulate(known, axis=0), axis=0)
    moves = np.full_like(prices, np.nan)
    moves[1:] = prices[1:] / last[:-1] - 1.0
    return moves


def _return_legs(returns: ArrayLike | None, fill: Fill) -> _Legs:
    if fill != "close_t1":
        raise DataInvalid(f"returns from close to close can't be filled at the open; fill {fill!r} needs a panel")
    day = np.ascontiguousarray(returns, np.float64)
    if day.ndim != 2 or np.isinf(day).any():
        raise DataInvalid(f"returns must be [T, N], finite or NaN, got shape {day.shape}")
    return _Legs(day, np.zeros((1, 1)), np.isfinite(day))


def _prices(panel: Panel, name: str) -> NDArray[np.float64]:
    prices = panel[name]
    return np.where(prices > 0, prices, np.nan)


def _checked(weights: ArrayLike, shape: tuple[int, ...], symbols: tuple[str, ...] | None) -> NDArray[np.float64]:
    array = np.ascontiguousarray(weights, np.float64)
    if array.ndim not in (2, 3) or array.shape[-2:] != shape:
        raise WeightsInvalid(f"weights must have shape {shape} or (S, {shape[0]}, {shape[1]}), got {array.shape}")
    bad = ~np.isfinite(array)
    if bad.any():
        bad &= ~np.isnan(array).all(axis=-1, keepdims=True)
    if bad.any():
        *strategy, row, column = (int(place) for place in np.argwhere(bad)[0])
        name = symbols[column] if symbols else f"column {column}"
        where = f"strategy {strategy[0]}, " if strategy else ""
        raise WeightsInvalid(
            f"weights must be finite, or NaN for the whole row to hold what is there; "
            f"got {array[(*strategy, row, column)]} at {where}row {row}, {name}"
        )
    return array


@jit
def _simulate(
    weights: NDArray[np.float64],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
    tradable: NDArray[np.bool_],
    rate: float,
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.float64],
    NDArray[np.int64],
    NDArray[np.int64],
]:
    """equity, returns, turnover, costs [S, T]; positions [S, T, N]; missing returns, untraded orders [S].

    `after` of shape [1, 1] says that nothing happens between the fill and the close.
    """
    strategies, days, names = weights.shape
    equity = np.ones((strategies, days))
    returns = np.zeros((strategies, days))
    turnover = np.zeros((strategies, days))
    paid = np.zeros((strategies, days))
    positions = np.zeros((strategies, days, names))
    missing = np.zeros(strategies, np.int64)
    untraded = np.zeros(strategies, np.int64)
    for s in range(strategies):
        held = np.zeros(names)
        cash = 1.0
        for t in range(1, days):
            missing[s] += _move(held, before[t])
            value = cash + held.sum()
            if value > 0.0 and not np.isnan(weights[s, t - 1, 0]):
                bought, traded, refused = _trade(held, weights[s, t - 1], tradable[t], value)
                untraded[s] += refused
                turnover[s, t] = traded / value
                paid[s, t] = rate * traded
                cash -= bought + paid[s, t]
            if after.shape[0] == days:
                missing[s] += _move(held, after[t])
            equity[s, t] = cash + held.sum()
            returns[s, t] = equity[s, t] / equity[s, t - 1] - 1.0
            if equity[s, t] <= 0.0:
                equity[s, t:] = equity[s, t]
                break
            positions[s, t] = held / equity[s, t]
    return equity, returns, turnover, paid, positions, missing, untraded


@jit
def _move(held: NDArray[np.float64], growth: NDArray[np.float64]) -> int:
    """Let positions [N] earn one leg's returns; how many were missing."""
    missing = 0
    for i in range(held.size):
        if held[i] != 0.0:
            if np.isnan(growth[i]):
                missing += 1
            else:
                held[i] *= 1.0 + growth[i]
    return missing


@jit
def _trade(
    held: NDArray[np.float64], target: NDArray[np.float64], tradable: NDArray[np.bool_], value: float
) -> tuple[float, float, int]:
    """Bring positions [N] to their targets: net bought, traded on both sides, orders without a price."""
    bought = 0.0
    traded = 0.0
    refused = 0
    for i in range(held.size):
        order = target[i] * value - held[i]
        if order == 0.0:
            continue
        if tradable[i]:
            bought += order
            traded += abs(order)
            held[i] = target[i] * value
        else:
            refused += 1
    return bought, traded, refused
