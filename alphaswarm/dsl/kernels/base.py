"""Types of the operators that numpy does on whole panels, and the rule that no infinity leaves an operator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Flat", "Series", "by_row", "finite"]

Series = NDArray[np.float64]
Flat = NDArray[np.float64]
Codes = NDArray[np.int32]


def by_row(x: Series) -> Flat:
    """[T, N] as one flat array, row after row; a copy, because compiled code is made anew for read-only arrays."""
    return np.array(x, order="C").reshape(-1)


def finite(x: Series) -> Series:
    """`x` with NaN for infinities, in place."""
    x[np.isinf(x)] = np.nan
    return x
