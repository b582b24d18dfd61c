"""What operators with a memory carry from bar to bar: a few numbers for each symbol.

Each does for one row what the compiled engine does down the rows, operation by operation, so that not a bit
differs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["MEMORIES", "Memory"]

Row = NDArray[np.float64]


class Memory(Protocol):
    """A memory of N symbols."""

    state: dict[str, NDArray[np.float64]]
    """All that it carries, by name, each [N]."""

    def step(self, *today: Row) -> Row:
        """Take the arguments of a bar and give the value of the operator."""


def _unknown(symbols: int) -> Row:
    return np.full(symbols, np.nan)


class _Smooth:
    def __init__(self, symbols: int, alpha: float, rows: int) -> None:
        self.alpha, self.rows = alpha, rows
        self.state = {"value": _unknown(symbols), "seen": np.zeros(symbols), "missing": np.zeros(symbols)}

    def step(self, *today: Row) -> Row:
        (x,), state = today, self.state
        valid = ~np.isnan(x)
        missing = np.where(valid, 0.0, state["missing"] + 1.0)
        seen = np.where(missing > self.rows, 0.0, state["seen"])
        with np.errstate(over="ignore", invalid="ignore"):
            moved = np.where(seen == 0, x, self.alpha * x + (1.0 - self.alpha) * state["value"])
        value = np.where(valid, moved, state["value"])
        seen = seen + valid
        self.state = {"value": value, "seen": seen, "missing": missing}
        return _finite(np.where(valid & (seen >= self.rows), value, np.nan))


class _Hump:
    def __init__(self, symbols: int, most: float) -> None:
        self.most = most
        self.state = {"value": _unknown(symbols)}

    def step(self, *today: Row) -> Row:
        (x,), value = today, self.state["value"]
        with np.errstate(over="ignore", invalid="ignore"):
            gap = x - value
            moved = np.where(np.abs(gap) > self.most, value + np.copysign(self.most, gap), x)
        value = np.where(np.isnan(x), value, moved)
        self.state = {"value": value}
        return _finite(np.where(np.isnan(x), np.nan, value))


class _TradeWhen:
    def __init__(self, symbols: int) -> None:
        self.state = {"value": _unknown(symbols)}

    def step(self, *today: Row) -> Row:
        trigger, x, leave = today
        held = np.where(_true(trigger), x, self.state["value"])
        self.state = {"value": np.where(_true(leave), np.nan, held)}
        return self.state["value"]


class _DaysSince:
    def __init__(self, symbols: int) -> None:
        self.state = {"days": _unknown(symbols)}

    def step(self, *today: Row) -> Row:
        (condition,) = today
        days = np.where(_true(condition), 0.0, self.state["days"] + 1.0)
        self.state = {"days": days}
        return np.where(np.isnan(condition), np.nan, days)


class _LastDiff:
    def __init__(self, symbols: int) -> None:
        self.state = {"latest": _unknown(symbols), "other": _unknown(symbols)}

    def step(self, *today: Row) -> Row:
        (x,), latest = today, self.state["latest"]
        other = np.where(_differs(x, latest), latest, self.state["other"])
        self.state = {"latest": np.where(np.isnan(x), latest, x), "other": other}
        return np.where(np.isnan(x), np.nan, other)


class _DaysFromChange:
    def __init__(self, symbols: int) -> None:
        self.state = {"latest": _unknown(symbols), "days": _unknown(symbols)}

    def step(self, *today: Row) -> Row:
        (x,), latest = today, self.state["latest"]
        days = np.where(_differs(x, latest), 0.0, self.state["days"] + 1.0)
        self.state = {"latest": np.where(np.isnan(x), latest, x), "days": days}
        return np.where(np.isnan(x), np.nan, days)


def _true(condition: Row) -> NDArray[np.bool_]:
    held: NDArray[np.bool_] = (condition != 0) & ~np.isnan(condition)
    return held


def _differs(x: Row, latest: Row) -> NDArray[np.bool_]:
    differs: NDArray[np.bool_] = ~np.isnan(x) & ~np.isnan(latest) & (x != latest)
    return differs


def _finite(x: Row) -> Row:
    return np.where(np.isinf(x), np.nan, x)


MEMORIES: dict[str, Callable[..., Memory]] = {
    "days_from_change": _DaysFromChange,
    "ema": lambda symbols, span: _Smooth(symbols, 2.0 / (span + 1.0), span),
    "hump": _Hump,
    "last_diff": _LastDiff,
    "sma_cn": lambda symbols, n, m: _Smooth(symbols, m / n, n),
    "trade_when": _TradeWhen,
    "ts_days_since": _DaysSince,
}
"""How the memory of an operator is made: from the number of symbols and the operator's literals."""
