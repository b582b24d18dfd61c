"""One stock's history out of a block and back: for kernels that walk one column at a time, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.vectors import float_at, store_float

__all__ = ["Flat", "read_column", "write_column"]

Flat = NDArray[np.float64]


@part
def read_column(kind: Any, address: Any, step: Any, column: Flat) -> None:
    """Fill `column` with the values that lie `step` bytes apart."""
    for t in range(column.size):
        column[t] = float_at(kind, address + t * step)


@part
def write_column(kind: Any, address: Any, step: Any, column: Flat) -> None:
    """Store `column` at values `step` bytes apart; NaN for what is infinite there."""
    for t in range(column.size):
        store_float(kind, address + t * step, column[t])
        value = float_at(kind, address + t * step)
        store_float(kind, address + t * step, value + (value - value))
