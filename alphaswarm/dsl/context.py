"""`Context`: what an operator may see besides its arguments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Context"]


@dataclass(frozen=True, eq=False)
class Context:
    """The surroundings of one evaluation.

    Attributes:
        universe: bool [T, N], membership of each day; cross-sections see members only.
    """

    universe: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """(T, N)."""
        rows, columns = self.universe.shape
        return rows, columns
