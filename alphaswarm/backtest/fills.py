"""`Fills`: what an engine bought and sold."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fill", "FillColumns", "Fills"]


class Fill(NamedTuple):
    """One order, or a part of it, done: shares (sold: negative) of a symbol at a price."""

    bar: int
    symbol: str
    size: float
    price: float
    commission: float


class FillColumns(NamedTuple):
    """Fills as columns [F]: see `Fills`."""

    bar: NDArray[np.int64]
    name: NDArray[np.int64]
    size: NDArray[np.float64]
    price: NDArray[np.float64]
    commission: NDArray[np.float64]


class Fills:
    """Fills in the order in which they were done; iterating gives `Fill`, `columns` all of them at once.

    There may be a million; they are listed when they are first asked for.

    Args:
        columns: makes the columns.
        symbols: of the panel; a fill's `name` is a place in them.
    """

    def __init__(self, columns: Callable[[], FillColumns], symbols: tuple[str, ...]) -> None:
        self._make = columns
        self.symbols = symbols

    @classmethod
    def none(cls) -> Fills:
        """No fills."""
        whole, real = np.empty(0, np.int64), np.empty(0)
        return cls(lambda: FillColumns(whole, whole, real, real, real), ())

    @cached_property
    def columns(self) -> FillColumns:
        """Rows of the panel, places of symbols, shares, prices, costs in money; read-only arrays [F]."""
        made = self._make()
        for column in made:
            column.setflags(write=False)
        return made

    def __len__(self) -> int:
        return int(self.columns.bar.size)

    def __getitem__(self, place: int) -> Fill:
        bar, name, size, price, commission = (column[place] for column in self.columns)
        return Fill(int(bar), self.symbols[name], float(size), float(price), float(commission))

    def __iter__(self) -> Iterator[Fill]:
        return (self[place] for place in range(len(self)))
