"""The daily figures of a trial as the ledger keeps them, so that trials can be compared without measuring again."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import RowMapping

if TYPE_CHECKING:
    from alphaswarm.evaluation import FactorSeries

__all__ = ["Daily"]


@dataclass(frozen=True, eq=False)
class Daily:
    """What a trial's book earned and traded on each row of its window; float64 [D], NaN where missing.

    Attributes:
        gross: before costs, in the row after the fill.
        turnover: traded, both sides, as a fraction of gross.
        neutral: of `gross`, what common risks do not explain.
    """

    gross: NDArray[np.float64]
    turnover: NDArray[np.float64]
    neutral: NDArray[np.float64]

    @classmethod
    def of(cls, series: FactorSeries) -> Daily:
        """From all the daily series of a factor."""
        return cls(series.gross, series.turnover, series.neutral)

    @classmethod
    def parse(cls, row: RowMapping) -> Daily:
        """From a row of the table `series`."""
        return cls(*(np.frombuffer(zlib.decompress(row[name]), "<f8") for name in ("gross", "turnover", "neutral")))

    def columns(self) -> dict[str, bytes]:
        """For a row of the table `series`."""
        return {
            name: zlib.compress(getattr(self, name).astype("<f8").tobytes(), level=1)
            for name in ("gross", "turnover", "neutral")
        }
