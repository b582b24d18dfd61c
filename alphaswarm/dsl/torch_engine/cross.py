"""Operators across the symbols of one day: the whole market (`cs_*`) or within groups (`group_*`)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from alphaswarm.dsl.torch_engine.base import WIDE, Context, Operator, empty, finite, row_blocks
from alphaswarm.dsl.torch_engine.groups import Statistic, across, of_groups, winsorized
from alphaswarm.dsl.torch_engine.sample import Sample, total, twice_ranks

__all__ = ["CROSS"]

# Makes the median absolute deviation of a normal sample estimate its standard deviation.
MAD_TO_STD = 1.4826
# A regressor whose squared length falls below this share once the others are taken out is collinear.
COLLINEAR = 1e-20
# What a perfect fit may leave of the largest deviation by rounding: it is then taken as perfect.
ROUNDING = 1e-14
# Wide numbers that a cell of a regression takes, for itself and for each regressor.
COPIES = 10


def _twice(sample: Sample) -> Tensor:
    """Twice the average ranks of members, which stand in ascending order."""
    return twice_ranks(torch.where(sample.valid, sample.values, torch.inf))


def _rank(sample: Sample) -> Tensor:
    return _twice(sample) / (2 * sample.count)


def _rank01(sample: Sample) -> Tensor:
    return (_twice(sample) - 2) / (2 * (sample.count - 1))


def _bucket(sample: Sample, n: int) -> Tensor:
    # whole numbers: a boundary must not depend on rounding
    return (_twice(sample) - 1) * n // (2 * sample.count.to(torch.int64)).clamp(min=1)


def _quantile_transform(sample: Sample) -> Tensor:
    quantiles: Tensor = torch.special.ndtri((_twice(sample) - 1) / (2 * sample.count))
    return quantiles


def _zscore(sample: Sample) -> Tensor:
    return torch.where(sample.constant, torch.nan, sample.deviations.shares / sample.variance.sqrt())


def _demean(sample: Sample) -> Tensor:
    return sample.values - sample.mean


def _scale(sample: Sample, a: float = 1.0) -> Tensor:
    return sample.values / total(sample.values.abs()) * a


def _mad_clip(sample: Sample, k: float) -> Tensor:
    middle, reach = sample.median, k * MAD_TO_STD * sample.median_distance
    return torch.minimum(torch.maximum(sample.values, middle - reach), middle + reach)


def _quantile_clip(sample: Sample, q: float) -> Tensor:
    return torch.minimum(torch.maximum(sample.values, sample.quantile(q)), sample.quantile(1.0 - q))


def _market(statistic: Callable[..., Tensor]) -> Operator:
    def apply(ctx: Context, x: Tensor, *parameters: float) -> Tensor:
        return across(ctx, lambda sample: statistic(sample, *parameters), x)

    return apply


def cs_scale(ctx: Context, x: Tensor, *, a: float = 1.0) -> Tensor:
    """Scale so that the absolute values sum to `a`."""
    return across(ctx, lambda sample: _scale(sample, a), x)


def cs_resid(ctx: Context, y: Tensor, *regressors: Tensor) -> Tensor:
    """Residual of y on the regressors and an intercept, by Gram-Schmidt on every day at once.

    Each projection is taken out twice ("twice is enough", Giraud et al., 2005). Days with fewer
    than two members more than regressors, or with constant or collinear regressors, are NaN.
    """
    out = empty(ctx)
    for rows in row_blocks(ctx, COPIES * (1 + len(regressors))):
        series = [one[rows].to(WIDE).T.contiguous() for one in (y, *regressors)]  # symbols first
        members = ctx.universe[rows].T & ~torch.isnan(torch.stack(series)).any(0)
        out[rows] = finite(_residual(members, *series).T.to(ctx.dtype))
    return out


def _residual(members: Tensor, y: Tensor, *regressors: Tensor) -> Tensor:
    defined = members.sum(0) >= len(regressors) + 2
    basis: list[Tensor] = []
    for x in regressors:
        sample = Sample.of(x, members)
        direction = sample.deviations.shares
        rest = _without(direction, basis)
        defined &= ~sample.constant & (total(rest * rest) > COLLINEAR * total(direction * direction))
        basis.append(rest)
    deviations = Sample.of(y, members).deviations
    residual = _without(deviations.shares, basis)
    perfect = residual.abs().amax(0) <= ROUNDING
    return torch.where(members & defined, torch.where(perfect, 0.0, residual * deviations.reach), torch.nan)


def _without(a: Tensor, basis: list[Tensor]) -> Tensor:
    """`a` less its projections on the basis."""
    for direction in basis * 2:
        square = total(direction * direction)
        a = a - total(a * direction) / torch.where(square > 0, square, 1.0) * direction
    return a


_GROUPED: dict[str, Statistic] = {
    "group_count": lambda sample: sample.count,
    "group_mean": lambda sample: sample.mean,
    "group_neutralize": _demean,
    "group_rank": _rank,
    "group_scale": _scale,
    "group_std": lambda sample: sample.std,
    "group_sum": lambda sample: total(sample.values),
    "group_zscore": _zscore,
}

CROSS: dict[str, Operator] = {
    "cs_bucket": _market(_bucket),
    "cs_demean": _market(_demean),
    "cs_mad_clip": _market(_mad_clip),
    "cs_quantile_clip": _market(_quantile_clip),
    "cs_quantile_transform": _market(_quantile_transform),
    "cs_rank": _market(_rank),
    "cs_rank01": _market(_rank01),
    "cs_resid": cs_resid,
    "cs_scale": cs_scale,
    "cs_winsorize": _market(winsorized),
    "cs_zscore": _market(_zscore),
    **{name: of_groups(statistic) for name, statistic in _GROUPED.items()},
}
