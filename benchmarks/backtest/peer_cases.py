"""Random bars and target percents for the comparison with backtrader, and our side of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.backtest import EventEngine
from alphaswarm.core import Panel, make_rng

__all__ = ["Case", "draw", "mismatches", "packed"]

# mode of the engine and its size_price, by the number that stands in a file of cases
MODES: tuple[dict[str, Any], ...] = (
    {"mode": "backtrader"},
    {"mode": "backtrader_coo", "size_price": "close"},
    {"mode": "backtrader_coo", "size_price": "open"},
    {"mode": "cheat_on_close"},
)
TOLERANCE = 1e-9

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Case:
    """Bars [T, N, 4] (open, high, low, close), targets [T, N], and the account."""

    bars: Array
    targets: Array
    mode: int
    cash: float
    commission: float


def draw(seed: int) -> Case:
    """One to five names, 5 to 30 bars; longs, shorts, reversals, all-in and leverage; cents or fine prices."""
    rng = make_rng(seed, "backtrader")
    names, days = int(rng.integers(1, 6)), int(rng.integers(5, 31))
    spread = float(rng.choice([0.005, 0.02, 0.08]))
    close = rng.choice([5.0, 50.0, 300.0], names) * np.exp(np.cumsum(spread * rng.standard_normal((days, names)), 0))
    opened = close * np.exp(spread * rng.standard_normal((days, names)))
    wick = 1 + spread * rng.random((2, days, names))
    bars = np.stack([opened, np.maximum(opened, close) * wick[0], np.minimum(opened, close) / wick[1], close], axis=2)
    if rng.random() < 0.5:
        bars = np.maximum(np.round(bars, 2), 0.01)
    style = rng.integers(4)
    if style == 0:
        targets = rng.uniform(-1.0, 1.0, (days, names))
    elif style == 1:
        targets = rng.dirichlet(np.ones(names), days)
    elif style == 2:
        targets = rng.choice([-0.5, -0.25, 0.0, 0.25, 0.5, 1.0], (days, names))
    else:
        targets = rng.uniform(-0.6, 0.6, (days, names)) * rng.choice([1.0, 2.5])
    targets[rng.random((days, names)) < rng.choice([0.0, 0.3, 0.8])] = np.nan
    commission = float(rng.choice([0.0, 0.0005, 0.001, 0.01]))
    return Case(bars, targets, int(rng.integers(len(MODES))), float(rng.choice([1e4, 12_345.67, 1e6])), commission)


def packed(cases: list[Case]) -> dict[str, Array]:
    """The arrays of a file of cases."""
    found = {}
    for k, case in enumerate(cases):
        found[f"bars_{k}"], found[f"targets_{k}"] = case.bars, case.targets
        found[f"setup_{k}"] = np.array([case.mode, case.cash, case.commission])
    return found


def mismatches(case: Case, k: int, traces: Mapping[str, Array]) -> list[str]:
    """Where our account differs from trace `k`, in words; nothing where it is the same."""
    days, names, _ = case.bars.shape
    fields = {name: case.bars[:, :, place] for place, name in enumerate(("open", "high", "low", "close"))}
    dates = np.datetime64("2000-01-01") + np.arange(days)
    panel = Panel.from_arrays(fields, dates, [f"S{name}" for name in range(names)])
    engine = EventEngine(cash=case.cash, commission=case.commission, **MODES[case.mode])
    session = engine.start(panel)
    cash = [session.cash]
    for target in case.targets[:-1]:
        session.step(target)
        cash.append(session.cash)
    result = session.result()
    ours = np.stack(result.fills.columns, axis=1)
    theirs = traces[f"fills_{k}"]
    found = []
    if ours.shape != theirs.shape or not np.allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE):
        found.append(f"case {k}: fills {ours.tolist()} instead of {theirs.tolist()}")
    account = np.stack([cash, result.equity], axis=1)
    if not np.allclose(account, traces[f"account_{k}"], rtol=TOLERANCE, atol=TOLERANCE):
        found.append(f"case {k}: cash and value {account.tolist()} instead of {traces[f'account_{k}'].tolist()}")
    return found
