"""A panel as the checks see it: what is present, what it returned, how much was traded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Panel

__all__ = ["NEXT_ROW", "Observed"]

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

LIQUIDITY = ("dollar_volume", "volume")
USUAL_ROWS = 20
FEWEST_ROWS = 5
# Up to this many days between rows a panel counts as daily (a long weekend).
DAILY_GAP = 4
# From cells of values[1:], found by argwhere, to cells of the panel.
NEXT_ROW = np.array([1, 0])


@dataclass(frozen=True, eq=False)
class Observed:
    """The panel with what the checks share.

    Attributes:
        days: datetime64[D] [T].
        daily: one row a day, every few days.
        present: [T, N], the name has a price (or, without prices, any value).
        returns: [T, N] or None: the field, else close over the previous row's close - 1.
        median: [T], the returns' median of the day; NaN where there are none.
        traded: [T, N] or None: dollar volume, else volume.
    """

    panel: Panel
    days: NDArray[np.datetime64]
    daily: bool
    present: Flags
    returns: Floats | None
    median: Floats
    traded: Floats | None

    @classmethod
    def of(cls, panel: Panel) -> Observed:
        """Look at `panel` once."""
        fields = panel.fields
        close = fields.get("close")
        if close is not None:
            present = np.isfinite(close)
        else:
            present = np.logical_or.reduce([np.isfinite(values) for values in fields.values()])
        returns = fields.get("returns")
        if returns is None and close is not None:
            returns = np.full(panel.shape, np.nan)
            returns[1:] = close[1:] / np.where(close[:-1] == 0, np.nan, close[:-1]) - 1
        median = np.full(panel.shape[0], np.nan)
        if returns is not None:
            known = np.isfinite(returns).any(axis=1)
            median[known] = np.nanmedian(returns[known], axis=1)
        days = panel.dates.astype("datetime64[D]")
        distinct = np.unique(days)
        gap = float(np.median(np.diff(distinct).astype(np.int64))) if distinct.size > 1 else np.inf
        return cls(
            panel=panel,
            days=days,
            # a stray second row on a few days is a fault of a daily panel, not another frequency
            daily=gap <= DAILY_GAP and days.size <= 1.1 * distinct.size,
            present=present,
            returns=returns,
            median=median,
            traded=next((fields[name] for name in LIQUIDITY if name in fields), None),
        )

    def day(self, row: int | np.integer[Any]) -> str:
        """ISO date of a row."""
        return str(self.days[row])

    def busier(self, row: int, column: int) -> float | None:
        """The cell's traded amount over its median of the 20 rows before; None when unknown."""
        if self.traded is None:
            return None
        before = self.traded[max(0, row - USUAL_ROWS) : row, column]
        before = before[np.isfinite(before)]
        today = self.traded[row, column]
        if before.size < FEWEST_ROWS or not np.isfinite(today):
            return None
        usual = float(np.median(before))
        return float(today) / usual if usual > 0 else None
