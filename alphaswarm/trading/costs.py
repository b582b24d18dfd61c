"""What a trade costs: the only place in the package where costs are worked out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import SpecInvalid

__all__ = ["BASIS_POINT", "COST_CURVE_BP", "DEFAULT_COST_BP", "ProportionalCosts"]

BASIS_POINT = 1e-4

# A plain figure for liquid US shares traded by a small account: commission plus half the spread.
DEFAULT_COST_BP = 5.0

# Costs at which every result is also shown, so that nobody has to share our opinion of 5 bp.
COST_CURVE_BP = (0.0, 1.0, 2.0, 5.0, 10.0)

Traded = TypeVar("Traded", float, NDArray[np.float64])


@dataclass(frozen=True)
class ProportionalCosts:
    """The same charge on every unit of value traded, bought or sold.

    Attributes:
        bp: basis points (1/100 of a percent) of the value traded, 0 or more.

    Raises:
        SpecInvalid: a charge that is negative or not finite.
    """

    bp: float = DEFAULT_COST_BP

    def __post_init__(self) -> None:
        if not (math.isfinite(self.bp) and self.bp >= 0):
            raise SpecInvalid(f"costs must be a finite number of basis points, 0 or more, got {self.bp!r}")
        object.__setattr__(self, "bp", float(self.bp))

    @property
    def rate(self) -> float:
        """The charge as a fraction of the value traded."""
        return self.bp * BASIS_POINT

    def charge(self, traded: Traded) -> Traded:
        """What it costs to trade `traded` (absolute values, in any unit), in the same unit and shape."""
        return self.rate * traded
