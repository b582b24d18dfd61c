"""`BacktestResult`: what an engine hands back, frozen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.backtest import metrics
from alphaswarm.backtest.fills import Fills
from alphaswarm.core import EvidenceInvalid, canonical_json

__all__ = ["BacktestResult", "StepResult"]


@dataclass(frozen=True, eq=False)
class BacktestResult:
    """One backtest, or S of them from one run: then every array has a leading axis S.

    Row t is the state after close t; money is in the unit of `capital`, which an account starts with.

    Attributes:
        equity: [T].
        returns: [T], ``equity_t / equity_{t-1} - 1``; row 0 is 0.
        turnover: [T], value traded as a fraction of the equity it was traded at: both sides, drift included.
        costs: [T], money paid for trading.
        gross, net: [T], exposure: sum of the absolute and of the signed positions, as fractions of equity.
        positions: [T, N], value held as a fraction of equity; the rest is cash. None where a batch of
            strategies was run without keeping them.
        missing_returns: days on which a held name had no close, or no plain return; each counted as 0
            (after a missing close the whole move counts on the day the price is back).
        untraded: orders for names without a price at the fill; the old position was kept.
        periods: rows in a year.
        setup: what made the result: engine, fill, costs.
        capital: what the account began with.
        fills: orders filled; an engine that trades fractions of equity places none.
        alarms: decisions that an agent failed to make, each of which held what was there.
    """

    equity: NDArray[np.float64]
    returns: NDArray[np.float64]
    turnover: NDArray[np.float64]
    costs: NDArray[np.float64]
    gross: NDArray[np.float64]
    net: NDArray[np.float64]
    positions: NDArray[np.float64] | None
    missing_returns: NDArray[np.int64]
    untraded: NDArray[np.int64]
    periods: float
    setup: Mapping[str, Any]
    capital: float = 1.0
    fills: Fills = field(default_factory=Fills.none)
    alarms: int = 0

    def __post_init__(self) -> None:
        for array in self._arrays:
            array.setflags(write=False)

    @property
    def _arrays(self) -> list[NDArray[Any]]:
        daily = [self.equity, self.returns, self.turnover, self.costs, self.gross, self.net]
        return daily if self.positions is None else [*daily, self.positions]

    def with_alarms(self, alarms: int) -> BacktestResult:
        """The same result of a run in which an agent failed so often."""
        return replace(self, alarms=alarms)

    def __len__(self) -> int:
        """How many backtests this holds, S or 1."""
        return self.equity.shape[0] if self.equity.ndim == 2 else 1

    def __getitem__(self, strategy: int) -> BacktestResult:
        """The backtest of one strategy."""
        if self.equity.ndim == 1:
            if strategy not in (0, -1):
                raise IndexError(f"this result holds one backtest, got index {strategy}")
            return self
        one = {name: getattr(self, name)[strategy] for name in _PER_STRATEGY}
        held = None if self.positions is None else self.positions[strategy]
        return replace(self, **one, positions=held)

    def __iter__(self) -> Iterator[BacktestResult]:
        return (self[strategy] for strategy in range(len(self)))

    @cached_property
    def metrics(self) -> Mapping[str, float | None]:
        """Figures of one backtest, from the row of the first trade on; None where undefined.

        `total_return`, `ann_return` (compound), `volatility`, `sharpe`, `sortino`, `max_drawdown` (from
        the starting capital, 0 or below), `max_drawdown_duration` (rows), `calmar`, `hit_rate`,
        `profit_factor` with `profit_factor_low` and `profit_factor_high`, `var_95`, `cvar_95` (a loss is
        negative), `turnover` (mean per row, both sides, entry included), `cost` (total), `gross`, `net` (mean
        exposure), `invested` (share of rows that end with a position), `days`, `missing_returns`, `untraded`.
        Definitions: `alphaswarm.backtest.metrics`; alpha and beta: `against` there.

        Raises:
            EvidenceInvalid: the result holds several backtests; ask each of them.
        """
        if self.equity.ndim == 2:
            raise EvidenceInvalid(f"this result holds {len(self)} backtests; take result[i].metrics")
        traded = np.flatnonzero(self.turnover)
        active = slice(int(traded[0]), None) if traded.size else slice(0, 0)
        returns = self.returns[active]
        equity = self.equity / self.capital
        low, high = metrics.profit_factor_interval(returns) or (None, None)
        longest = metrics.max_drawdown_duration(equity)
        found: dict[str, float | None] = {
            "total_return": float(self.equity[-1]) / self.capital - 1.0,
            "ann_return": metrics.annual_return(returns, self.periods),
            "volatility": metrics.volatility(returns, self.periods),
            "sharpe": metrics.sharpe(returns, self.periods),
            "sortino": metrics.sortino(returns, self.periods),
            "max_drawdown": metrics.max_drawdown(equity),
            "max_drawdown_duration": None if longest is None else float(longest),
            "calmar": metrics.calmar(returns, equity, self.periods),
            "hit_rate": metrics.hit_rate(returns),
            "profit_factor": metrics.profit_factor(returns),
            "profit_factor_low": low,
            "profit_factor_high": high,
            "var_95": metrics.value_at_risk(returns),
            "cvar_95": metrics.expected_shortfall(returns),
            "turnover": metrics.mean(self.turnover[active]),
            "cost": float(self.costs.sum()) / self.capital,
            "gross": metrics.mean(self.gross[active]),
            "net": metrics.mean(self.net[active]),
            "invested": metrics.mean((self.gross[active] > 0.0).astype(np.float64)),
            "days": float(returns.size),
            "missing_returns": float(self.missing_returns),
            "untraded": float(self.untraded),
        }
        return MappingProxyType(found)

    @cached_property
    def digest(self) -> str:
        """sha256 of setup and arrays: equal runs have equal digests in every process."""
        total = hashlib.sha256(canonical_json({"periods": self.periods, "setup": dict(self.setup)}))
        for array in self._arrays:
            total.update(canonical_json(array.shape))
            total.update(np.ascontiguousarray(array + 0.0).tobytes())
        return total.hexdigest()


@dataclass(frozen=True, eq=False)
class StepResult:
    """An account after one more close.

    Attributes:
        equity: in the unit of the engine's capital.
        weights: [N], value held as a fraction of equity; the rest is cash.
        fills: what was filled since the last close.
        cost: money paid for it.
    """

    equity: float
    weights: NDArray[np.float64]
    fills: Fills
    cost: float


_PER_STRATEGY = ("equity", "returns", "turnover", "costs", "gross", "net", "missing_returns", "untraded")
