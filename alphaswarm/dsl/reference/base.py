"""How a plain function of numbers becomes an operator: over cells, windows, columns, days or groups.

Speed does not matter here. Sums and moments are exact (`fractions`), so what the compiled
kernels are held to is the true value, rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from alphaswarm.dsl.context import Context

__all__ = [
    "Codes",
    "Series",
    "average_ranks",
    "central_sum",
    "each_cell",
    "each_column",
    "each_group",
    "each_window",
    "exact_mean",
    "mean",
    "quantile",
    "real",
    "signed_root",
    "std",
    "whole_market",
]

Series = NDArray[np.float64]
Codes = NDArray[np.int32]


def real(function: Callable[..., float | None], *arguments: object) -> float:
    """The value of `function`, or NaN where it has no finite real value."""
    try:
        value = function(*arguments)
    except (ArithmeticError, ValueError):  # x/0, log(-1), overflow
        return math.nan
    return value if value is not None and math.isfinite(value) else math.nan


def each_cell(
    ctx: Context, function: Callable[..., float | None], *series: Series | float, sees_nan: bool = False
) -> Series:
    """Apply `function` to the cells; unless it `sees_nan`, any NaN gives NaN. Numbers stand for constant series."""
    out = np.full(ctx.shape, np.nan)
    grids = [np.broadcast_to(one, ctx.shape) for one in series]
    for cell in np.ndindex(out.shape):
        values = [float(one[cell]) for one in grids]
        if sees_nan or not any(math.isnan(value) for value in values):
            out[cell] = real(function, *values)
    return out


def each_window(
    function: Callable[..., float | None], d: int, min_obs: int | None, *series: Series, today: bool = False
) -> Series:
    """Apply `function` to the last `d` rows of each column.

    `function(ages, *columns)` gets the rows that are valid in every series, oldest first: their
    ages in days (0 is today) and their values. Fewer than `min_obs` of them (default `d`) give
    NaN; rows before the panel count as missing. With `today`, the current row must be valid.
    """
    needed = d if min_obs is None else min_obs
    out = np.full(series[0].shape, np.nan)
    for t, n in np.ndindex(out.shape):
        rows = [r for r in range(max(0, t - d + 1), t + 1) if not any(math.isnan(one[r, n]) for one in series)]
        if len(rows) >= needed and not (today and (not rows or rows[-1] != t)):
            out[t, n] = real(function, [t - r for r in rows], *([float(one[r, n]) for r in rows] for one in series))
    return out


def each_column(function: Callable[..., Sequence[float]], *series: Series) -> Series:
    """Apply `function` to whole columns (lists in time order); for operators with a memory."""
    out = np.full(series[0].shape, np.nan)
    for n in range(len(out[0])):
        out[:, n] = function(*([float(value) for value in one[:, n]] for one in series))
    out[~np.isfinite(out)] = np.nan
    return out


def each_group(ctx: Context, codes: Codes, function: Callable[..., Sequence[float]], *series: Series) -> Series:
    """Apply `function` to the members of each group on each day.

    Members are in the universe, carry a label (code >= 0) and are valid in every series; all
    else is NaN. `function` gets their values, a list for each series, and gives one value each.
    """
    out = np.full(ctx.shape, np.nan)
    for t in range(out.shape[0]):
        groups: dict[int, list[int]] = {}
        for n in range(out.shape[1]):
            valid = not any(math.isnan(one[t, n]) for one in series)
            if ctx.universe[t, n] and codes[t, n] >= 0 and valid:
                groups.setdefault(int(codes[t, n]), []).append(n)
        for members in groups.values():
            try:
                values = function(*([float(one[t, n]) for n in members] for one in series))
            except (ArithmeticError, ValueError):  # no finite real value
                continue
            out[t, members] = [value if math.isfinite(value) else math.nan for value in values]
    return out


def whole_market(ctx: Context) -> Codes:
    """Codes that put everything into one group: the cross-section of the day."""
    return np.zeros(ctx.shape, np.int32)


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean; rounding never pushes it out of the range of the values."""
    return min(max(math.fsum(values) / len(values), min(values)), max(values))


def exact_mean(values: Sequence[float]) -> Fraction:
    """Arithmetic mean without rounding."""
    return sum(map(Fraction, values), Fraction(0)) / len(values)


def central_sum(values: Sequence[float], power: int) -> Fraction:
    """Sum of (value - mean) ** power without rounding."""
    middle = exact_mean(values)
    return sum(((Fraction(value) - middle) ** power for value in values), Fraction(0))


def signed_root(sign: Fraction, square: Fraction) -> float:
    """Square root of `square` with the sign of `sign`; works beyond the range of a float's square."""
    if sign == 0 or square == 0:
        return 0.0
    shift = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    root = math.ldexp(math.sqrt(square / Fraction(4) ** shift), shift)
    return root if sign > 0 else -root


def std(values: Sequence[float]) -> float:
    """Sample standard deviation (ddof 1); 0 for equal values, NaN for fewer than two."""
    if len(values) < 2:
        return math.nan
    return signed_root(Fraction(1), central_sum(values, 2) / (len(values) - 1))


def average_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of their places."""
    return [
        sum(other < value for other in values) + (sum(other == value for other in values) + 1) / 2 for value in values
    ]


def quantile(values: Sequence[float], q: float) -> float:
    """Linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996)."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
