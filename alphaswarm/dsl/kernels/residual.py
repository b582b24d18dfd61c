"""`cs_resid`: what a regression across the symbols of one day leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Series, finite

__all__ = ["cs_resid"]

# A regressor whose squared length falls below this share once the others are taken out is collinear.
COLLINEAR = 1e-20
# What a perfect fit may leave of the largest deviation by rounding: it is then taken as perfect.
ROUNDING = 1e-14


def cs_resid(ctx: Context, y: Series, *regressors: Series) -> Series:
    """Residual of y on the regressors and an intercept, by Gram-Schmidt on every day at once.

    Each projection is taken out twice ("twice is enough", Giraud et al., 2005). Days with fewer
    than two members more than regressors, or with constant or collinear regressors, are NaN.
    """
    members = ctx.universe & ~np.isnan(y)
    for x in regressors:
        members &= ~np.isnan(x)
    defined = members.sum(axis=1) >= len(regressors) + 2
    basis: list[Series] = []
    with np.errstate(all="ignore"):
        for x in regressors:
            direction, reach = _centered(x, members)
            length = _dot(direction, direction)
            rest = _without(direction, basis)
            defined &= (reach[:, 0] > 0) & (_dot(rest, rest) > COLLINEAR * length)[:, 0]
            basis.append(rest)
        direction, reach = _centered(y, members)
        residual = _without(direction, basis)
        perfect = np.abs(residual).max(axis=1, keepdims=True) <= ROUNDING
        residual = np.where(perfect, 0.0, residual * reach)
    return finite(np.where(members & defined[:, None], residual, np.nan))


def _centered(x: Series, members: NDArray[np.bool_]) -> tuple[Series, Series]:
    """Deviations from the day's mean as a share of the largest one, and that one [T, 1]; exactly 0 if constant."""
    count = np.maximum(members.sum(axis=1, keepdims=True), 1)
    first = np.take_along_axis(x, members.argmax(axis=1, keepdims=True), axis=1)
    deviation = np.where(members, x - first, 0.0)
    for _ in range(2):
        deviation = np.where(members, deviation - deviation.sum(axis=1, keepdims=True) / count, 0.0)
    reach = np.abs(deviation).max(axis=1, keepdims=True)
    return deviation / np.where(reach > 0, reach, 1.0), reach


def _dot(a: Series, b: Series) -> Series:
    product: Series = (a * b).sum(axis=1, keepdims=True)
    return product


def _without(a: Series, basis: list[Series]) -> Series:
    """`a` less its projections on the basis."""
    for direction in basis * 2:
        square = _dot(direction, direction)
        a = a - _dot(a, direction) / np.where(square > 0, square, 1.0) * direction
    return a
