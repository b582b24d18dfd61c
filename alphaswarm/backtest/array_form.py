"""The vector engine's days in plain array code: the same account on any array library, many strategies at once.

Written against the array API standard, in the part of it that numpy, torch, CuPy and array-api-strict share, so a
batch of strategies can be traded where its weights lie, on a GPU for instance. `VectorEngine` is faster on a
CPU and knows more; what both know is the same to rounding.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from alphaswarm.core import WeightsInvalid
from alphaswarm.trading.costs import ProportionalCosts

__all__ = ["ArrayBacktest", "trade_arrays"]


class ArrayBacktest(NamedTuple):
    """S accounts day by day, arrays of the library that was handed in; see `BacktestResult` for what they mean.

    Attributes:
        equity, turnover, costs, gross, net: [S, T] float64.
        positions: [S, N], held after the last close, as fractions of equity, in the type of the weights.
        missing_returns: [S], days on which a held name had no return.
        untraded: [S], orders for names that could not be traded.
    """

    equity: Any
    turnover: Any
    costs: Any
    gross: Any
    net: Any
    positions: Any
    missing_returns: Any
    untraded: Any


def trade_arrays(
    xp: Any,
    weights: Any,
    returns: Any,
    *,
    tradable: Any = None,
    costs: ProportionalCosts | None = None,
    capital: float = 1.0,
) -> ArrayBacktest:
    """Trade `weights` on `returns`, each row filled at the close after the one that decided it.

    Args:
        xp: the namespace of the arrays: numpy, torch, cupy, array_api_strict.
        weights: [S, T, N] fractions of equity; NaN throughout a row holds. float64 or float32; positions and
            returns keep that type, sums are float64.
        returns: [T, N] close to close, NaN where missing, in the type of the weights.
        tradable: bool [T, N], where a name can be traded at the close; wherever it has a return by default.
        costs: what trading costs; the default of `ProportionalCosts` if None.
        capital: what each account begins with.

    Raises:
        WeightsInvalid: a shape that does not fit, infinity, or NaN in part of a row.
    """
    if len(weights.shape) != 3 or tuple(weights.shape[1:]) != tuple(returns.shape):
        raise WeightsInvalid(f"weights must be (S, T, N) beside returns {returns.shape}, got {weights.shape}")
    holds = xp.all(xp.isnan(weights), axis=2)
    if not bool(xp.all(holds | xp.all(xp.isfinite(weights), axis=2))):
        raise WeightsInvalid("weights must be finite, or NaN for the whole row to hold what is there")
    rate = (ProportionalCosts() if costs is None else costs).rate
    known = ~xp.isnan(returns)
    can = known if tradable is None else tradable
    growth = 1 + xp.where(known, returns, xp.zeros_like(returns))
    targets = xp.where(holds[:, :, None], xp.zeros_like(weights), weights)

    held = xp.zeros_like(weights[:, 0, :])
    nothing = xp.zeros_like(_sum(xp, held))
    equity = nothing + capital
    cash = equity
    missing = untraded = nothing
    days = [(equity, nothing, nothing, nothing, nothing)]
    for t in range(1, returns.shape[0]):
        alive = equity > 0.0
        missing = missing + xp.where(alive, _sum(xp, (held != 0.0) & ~known[t, :]), nothing)
        held = held * growth[t, :]
        value = cash + _sum(xp, held)
        decides = alive & ~holds[:, t - 1] & (value > 0.0)
        goal = targets[:, t - 1, :] * xp.asarray(value, dtype=weights.dtype)[:, None]
        wished = decides[:, None] & (goal != held)
        done = wished & can[t, :]
        untraded = untraded + _sum(xp, wished & ~can[t, :])
        order = xp.where(done, goal - held, xp.zeros_like(held))
        held = xp.where(done, goal, held)
        traded = _sum(xp, xp.abs(order))
        paid = rate * traded
        cash = cash - _sum(xp, order) - paid
        invested = _sum(xp, held)
        equity = xp.where(alive, cash + invested, equity)
        left = equity > 0.0
        unit = xp.where(left, equity, xp.ones_like(equity))
        days.append(
            (
                equity,
                xp.where(decides, traded / xp.where(decides, value, xp.ones_like(value)), nothing),
                paid,
                xp.where(left, _sum(xp, xp.abs(held)) / unit, nothing),
                xp.where(left, invested / unit, nothing),
            )
        )
    columns = [xp.stack(figures, axis=1) for figures in zip(*days, strict=True)]
    daily = dict(zip(ArrayBacktest._fields, columns, strict=False))
    last = xp.asarray(xp.where(equity > 0.0, equity, xp.ones_like(equity)), dtype=weights.dtype)
    positions = xp.where((equity > 0.0)[:, None], held / last[:, None], xp.zeros_like(held))
    return ArrayBacktest(**daily, positions=positions, missing_returns=missing, untraded=untraded)


def _sum(xp: Any, values: Any) -> Any:
    """Sum over names in float64, [S, N] to [S]."""
    return xp.sum(xp.asarray(values, dtype=xp.float64), axis=1)
