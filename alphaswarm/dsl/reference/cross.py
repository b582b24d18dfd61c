"""Operators across the symbols of one day: the whole market (`cs_*`) or within groups (`group_*`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.reference.base import (
    Codes,
    Series,
    average_ranks,
    central_sum,
    each_group,
    exact_mean,
    mean,
    quantile,
    signed_root,
    std,
    whole_market,
)

__all__ = ["CROSS"]

Values = Sequence[float]
# Makes the median absolute deviation of a normal sample estimate its standard deviation.
MAD_TO_STD = 1.4826
# A regressor whose squared length falls below this share once the others are taken out is collinear.
COLLINEAR = Fraction(1, 10**20)
# BRAIN's documented default for the fill value of a group: winsorised at four standard deviations.
BACKFILL_STDS = 4.0


def _rank(x: Values) -> list[float]:
    return [rank / len(x) for rank in average_ranks(x)]


def _rank01(x: Values) -> list[float]:
    return [(rank - 1) / (len(x) - 1) for rank in average_ranks(x)]


def _zscore(x: Values) -> list[float]:
    if len(x) < 2 or central_sum(x, 2) == 0:
        return [math.nan] * len(x)
    middle, variance = exact_mean(x), central_sum(x, 2) / (len(x) - 1)
    return [signed_root(Fraction(value) - middle, (Fraction(value) - middle) ** 2 / variance) for value in x]


def _demean(x: Values) -> list[float]:
    return [value - mean(x) for value in x]


def _scale(x: Values, a: float = 1.0) -> list[float]:
    total = math.fsum(abs(value) for value in x)
    return [value / total * a for value in x]


def _clipped(x: Values, low: float, high: float) -> list[float]:
    return [min(max(value, low), high) for value in x]


def _winsorize(x: Values, k: float) -> list[float]:
    # one value alone is its own mean: nothing to clip
    reach = k * std(x) if len(x) > 1 else 0.0
    return _clipped(x, mean(x) - reach, mean(x) + reach)


def _median(x: Values) -> float:
    ordered = sorted(x)
    return (ordered[(len(x) - 1) // 2] + ordered[len(x) // 2]) / 2


def _mad_clip(x: Values, k: float) -> list[float]:
    reach = k * MAD_TO_STD * _median([abs(value - _median(x)) for value in x])
    return _clipped(x, _median(x) - reach, _median(x) + reach)


def _quantile_clip(x: Values, q: float) -> list[float]:
    return _clipped(x, quantile(x, q), quantile(x, 1.0 - q))


def _quantile_transform(x: Values) -> list[float]:
    return [NormalDist().inv_cdf((rank - 0.5) / len(x)) for rank in average_ranks(x)]


def _bucket(x: Values, n: int) -> list[float]:
    # whole numbers: a boundary must not depend on rounding
    return [float((int(2 * rank) - 1) * int(n) // (2 * len(x))) for rank in average_ranks(x)]


def _residual(y: Values, *regressors: Values) -> list[float]:
    """What an intercept and the regressors leave of `y`; NaN where they are constant or collinear."""
    if len(y) < len(regressors) + 2:
        return [math.nan] * len(y)
    basis: list[list[Fraction]] = []
    for x in regressors:
        direction = [Fraction(value) - exact_mean(x) for value in x]
        length = _dot(direction, direction)
        for other in basis:
            direction = _without(direction, other)
        if _dot(direction, direction) <= COLLINEAR * length:
            return [math.nan] * len(y)
        basis.append(direction)
    rest = [Fraction(value) - exact_mean(y) for value in y]
    for other in basis:
        rest = _without(rest, other)
    return [float(value) for value in rest]


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((left * right for left, right in zip(a, b, strict=True)), Fraction(0))


def _without(a: Sequence[Fraction], b: Sequence[Fraction]) -> list[Fraction]:
    """`a` less its projection on `b`."""
    share = _dot(a, b) / _dot(b, b)
    return [left - share * right for left, right in zip(a, b, strict=True)]


def _everywhere(statistic: Callable[[Values], float]) -> Callable[[Values], list[float]]:
    return lambda x: [statistic(x)] * len(x)


def _market(function: Callable[..., Sequence[float]]) -> Callable[..., Series]:
    def apply(ctx: Context, x: Series, *parameters: float) -> Series:
        return each_group(ctx, whole_market(ctx), lambda values: function(values, *parameters), x)

    return apply


def _grouped(function: Callable[[Values], Sequence[float]]) -> Callable[..., Series]:
    def apply(ctx: Context, x: Series, g: Codes) -> Series:
        return each_group(ctx, g, function, x)

    return apply


def cs_scale(ctx: Context, x: Series, *, a: float = 1.0) -> Series:
    """Scale so that the absolute values sum to `a`."""
    return each_group(ctx, whole_market(ctx), lambda values: _scale(values, a), x)


def cs_resid(ctx: Context, y: Series, *regressors: Series) -> Series:
    """Residual of y on the regressors and an intercept, day by day."""
    return each_group(ctx, whole_market(ctx), _residual, y, *regressors)


def group_backfill(ctx: Context, x: Series, g: Codes, d: int) -> Series:
    """Fill a member's NaN by the winsorised mean of what its group had in the last `d` rows.

    A value counts where its symbol was in the universe and carried the label on its own day.
    """
    out = np.full(ctx.shape, np.nan)
    for t, n in np.ndindex(ctx.shape):
        if not ctx.universe[t, n] or g[t, n] < 0:
            continue
        out[t, n] = x[t, n]
        if math.isnan(x[t, n]):
            rows = range(max(0, t - d + 1), t + 1)
            cells = [(r, m) for r in rows for m in range(ctx.shape[1])]
            there = [float(x[c]) for c in cells if ctx.universe[c] and g[c] == g[t, n] and not math.isnan(x[c])]
            out[t, n] = mean(_winsorize(there, BACKFILL_STDS)) if there else math.nan
    return out


CROSS: dict[str, Callable[..., Series]] = {
    "cs_bucket": _market(_bucket),
    "cs_demean": _market(_demean),
    "cs_mad_clip": _market(_mad_clip),
    "cs_quantile_clip": _market(_quantile_clip),
    "cs_quantile_transform": _market(_quantile_transform),
    "cs_rank": _market(_rank),
    "cs_rank01": _market(_rank01),
    "cs_resid": cs_resid,
    "cs_scale": cs_scale,
    "cs_winsorize": _market(_winsorize),
    "cs_zscore": _market(_zscore),
    "group_backfill": group_backfill,
    "group_count": _grouped(_everywhere(lambda x: float(len(x)))),
    "group_mean": _grouped(_everywhere(mean)),
    "group_neutralize": _grouped(_demean),
    "group_rank": _grouped(_rank),
    "group_scale": _grouped(_scale),
    "group_std": _grouped(_everywhere(std)),
    "group_sum": _grouped(_everywhere(math.fsum)),
    "group_zscore": _grouped(_zscore),
}
