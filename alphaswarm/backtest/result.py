"""`BacktestResult`: what an engine hands back, frozen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.backtest import metrics
from alphaswarm.core import EvidenceInvalid, canonical_json

__all__ = ["BacktestResult"]


@dataclass(frozen=True, eq=False)
class BacktestResult:
    """One backtest, or S of them from one run: then every array has a leading axis S.

    Money is in units of the starting capital, which is 1; row t is the state after close t.

    Attributes:
        equity: [T].
        returns: [T], ``equity_t / equity_{t-1} - 1``; row 0 is 0.
        turnover: [T], value traded as a fraction of the equity it was traded at: both sides, drift included.
        costs: [T], money paid for trading.
        positions: [T, N], value held as a fraction of equity; the rest is cash.
        missing_returns: days on which a held name had no close, or no plain return; each counted as 0
            (after a missing close the whole move counts on the day the price is back).
        untraded: orders for names without a price at the fill; the old position was kept.
        periods: rows in a year.
        setup: what made the result: engine, fill, costs.
        fills: orders filled; an engine that trades fractions of equity places none.
    """

    equity: NDArray[np.float64]
    returns: NDArray[np.float64]
    turnover: NDArray[np.float64]
    costs: NDArray[np.float64]
    positions: NDArray[np.float64]
    missing_returns: NDArray[np.int64]
    untraded: NDArray[np.int64]
    periods: float
    setup: Mapping[str, Any]
    fills: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.equity, self.returns, self.turnover, self.costs, self.positions):
            array.setflags(write=False)

    def __len__(self) -> int:
        """How many backtests this holds, S or 1."""
        return self.equity.shape[0] if self.equity.ndim == 2 else 1

    def __getitem__(self, strategy: int) -> BacktestResult:
        """The backtest of one strategy."""
        if self.equity.ndim == 1:
            if strategy not in (0, -1):
                raise IndexError(f"this result holds one backtest, got index {strategy}")
            return self
        return BacktestResult(
            self.equity[strategy],
            self.returns[strategy],
            self.turnover[strategy],
            self.costs[strategy],
            self.positions[strategy],
            self.missing_returns[strategy],
            self.untraded[strategy],
            self.periods,
            self.setup,
            self.fills,
        )

    def __iter__(self) -> Iterator[BacktestResult]:
        return (self[strategy] for strategy in range(len(self)))

    @cached_property
    def metrics(self) -> Mapping[str, float | None]:
        """Figures of one backtest, from the row of the first trade on; None where undefined.

        `total_return`, `ann_return` (compound), `volatility`, `sharpe`, `max_drawdown` (from the
        starting capital, 0 or below), `hit_rate`, `turnover` (mean per row, entry included),
        `cost` (total), `gross`, `net` (mean exposure), `days`, `missing_returns`, `untraded`.
        Definitions: `alphaswarm.backtest.metrics`.

        Raises:
            EvidenceInvalid: the result holds several backtests; ask each of them.
        """
        if self.equity.ndim == 2:
            raise EvidenceInvalid(f"this result holds {len(self)} backtests; take result[i].metrics")
        traded = np.flatnonzero(self.turnover)
        active = slice(int(traded[0]), None) if traded.size else slice(0, 0)
        returns = self.returns[active]
        held = self.positions[active]
        found: dict[str, float | None] = {
            "total_return": float(self.equity[-1]) - 1.0,
            "ann_return": metrics.annual_return(returns, self.periods),
            "volatility": metrics.volatility(returns, self.periods),
            "sharpe": metrics.sharpe(returns, self.periods),
            "max_drawdown": metrics.max_drawdown(self.equity),
            "hit_rate": metrics.hit_rate(returns),
            "turnover": metrics.mean(self.turnover[active]),
            "cost": float(self.costs.sum()),
            "gross": metrics.mean(np.abs(held).sum(axis=1)),
            "net": metrics.mean(held.sum(axis=1)),
            "days": float(returns.size),
            "missing_returns": float(self.missing_returns),
            "untraded": float(self.untraded),
        }
        return MappingProxyType(found)

    @cached_property
    def digest(self) -> str:
        """sha256 of setup and arrays: equal runs have equal digests in every process."""
        total = hashlib.sha256(canonical_json({"periods": self.periods, "setup": dict(self.setup)}))
        for array in (self.equity, self.returns, self.turnover, self.costs, self.positions):
            total.update(canonical_json(array.shape))
            total.update(np.ascontiguousarray(array + 0.0).tobytes())
        return total.hexdigest()
