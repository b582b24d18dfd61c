"""What the kernels share: array types, layout, and the rule that no infinity leaves an operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Flat", "Kernel", "Series", "by_column", "by_row", "finite", "from_columns", "full"]

Series = NDArray[np.float64]
Flat = NDArray[np.float64]
Codes = NDArray[np.int32]
Kernel = Callable[..., Series]


def full(x: Series | float, shape: tuple[int, int]) -> Series:
    """A number as a constant series [T, N]; a series as it is."""
    return x if isinstance(x, np.ndarray) else np.full(shape, float(x))


def by_row(x: Series) -> Flat:
    """[T, N] as one flat array, row after row; a copy, because compiled code is made anew for read-only arrays."""
    return np.array(x, order="C").reshape(-1)


def by_column(x: Series) -> Flat:
    """[T, N] as one flat array in which each symbol's history is contiguous; a copy."""
    return by_row(x.T)


def from_columns(flat: Flat, shape: tuple[int, int]) -> Series:
    """The inverse of `by_column`, infinities as NaN."""
    return finite(np.ascontiguousarray(flat.reshape(shape[1], shape[0]).T))


def finite(x: Series) -> Series:
    """`x` with NaN for infinities, in place."""
    x[np.isinf(x)] = np.nan
    return x
