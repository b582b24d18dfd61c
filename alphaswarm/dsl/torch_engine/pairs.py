"""Operators over the last `d` rows of two series: co-movement and regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from alphaswarm.dsl.torch_engine.base import WIDE, Context, Operator
from alphaswarm.dsl.torch_engine.rolling import over_windows
from alphaswarm.dsl.torch_engine.sample import Sample, total, twice_ranks
from alphaswarm.dsl.torch_engine.shift import delay

__all__ = ["PAIRS"]

REGRESSION_ROWS = 3
# What a perfect fit may leave by rounding: it is then taken as perfect, so that ties stay ties.
ROUNDING = 8 * 2.0**-53


class _Sums(NamedTuple):
    """Sums of products of deviations, each a share of the largest one of its series."""

    xx: Tensor
    xy: Tensor
    yy: Tensor


def _sums(x: Sample, y: Sample) -> _Sums:
    dx, dy = x.deviations.shares, y.deviations.shares
    return _Sums(total(dx * dx), total(dx * dy), total(dy * dy))


def _cov(x: Sample, y: Sample) -> Tensor:
    reaches = x.deviations.reach, y.deviations.reach
    share = _sums(x, y).xy / (x.count - 1)
    covariance = share * torch.minimum(*reaches) * torch.maximum(*reaches)
    return torch.where(x.count >= 2, covariance, torch.nan)


def _corr(x: Sample, y: Sample) -> Tensor:
    sums = _sums(x, y)
    correlation = sums.xy / (sums.xx * sums.yy).sqrt()
    correlation = torch.where(correlation.abs() >= 1 - ROUNDING, correlation.sign(), correlation)
    return torch.where(x.constant | y.constant, torch.nan, correlation)


def _fits(x: Sample) -> Tensor:
    return (x.count >= REGRESSION_ROWS) & ~x.constant


def _beta(y: Sample, x: Sample) -> Tensor:
    sums = _sums(x, y)
    slope = sums.xy / sums.xx * y.deviations.reach / x.deviations.reach
    return torch.where(_fits(x), slope, torch.nan)


def _resid(y: Sample, x: Sample) -> Tensor:
    sums = _sums(x, y)
    away, fitted = y.deviations.shares[-1], sums.xy / sums.xx * x.deviations.shares[-1]
    rest = torch.where((away - fitted).abs() <= ROUNDING * away.abs(), 0.0, away - fitted)
    return torch.where(_fits(x), rest * y.deviations.reach, torch.nan)


def _rsq(y: Sample, x: Sample) -> Tensor:
    correlation = _corr(y, x)
    return torch.where(_fits(x), correlation * correlation, torch.nan)


def _slope(y: Sample) -> Tensor:
    row = torch.arange(len(y.values), dtype=WIDE, device=y.values.device).reshape(-1, 1, 1)
    return _beta(y, Sample(torch.where(y.valid, row, 0.0), y.valid, y.count))


def _twice_ranks(x: Sample) -> Tensor:
    """Twice the average ranks of the values in their places, 0 at empty ones."""
    ordered, order = torch.where(x.valid, x.values, torch.inf).sort(0)
    ranks = torch.empty_like(order).scatter_(0, order, twice_ranks(ordered))
    return torch.where(x.valid, ranks, 0)


def _rank_corr(x: Sample, y: Sample) -> Tensor:
    # whole numbers: nothing is rounded before the last division
    a, b, n = _twice_ranks(x), _twice_ranks(y), x.count.to(torch.int64)
    spread_a = n * (a * a).sum(0) - a.sum(0) ** 2
    spread_b = n * (b * b).sum(0) - b.sum(0) ** 2
    joint = n * (a * b).sum(0) - a.sum(0) * b.sum(0)
    correlation = joint / (spread_a.to(WIDE) * spread_b).sqrt()
    return torch.where((spread_a == 0) | (spread_b == 0), torch.nan, correlation.clamp(-1.0, 1.0))


def _operator(statistic: Callable[[Sample, Sample], Tensor], today: bool = False) -> Operator:
    def apply(ctx: Context, x: Tensor, y: Tensor, d: int, *, min_obs: int | None = None) -> Tensor:
        return over_windows(ctx, statistic, d, min_obs, x, y, today=today)

    return apply


def ts_slope(ctx: Context, y: Tensor, d: int, *, min_obs: int | None = None) -> Tensor:
    """Slope of `y` against the row number."""
    return over_windows(ctx, _slope, d, min_obs, y)


def ts_autocorr(ctx: Context, x: Tensor, d: int, lag: int, *, min_obs: int | None = None) -> Tensor:
    """Correlation with what the series was `lag` rows before."""
    return over_windows(ctx, _corr, d, min_obs, x, delay(ctx, x, lag))


PAIRS: dict[str, Operator] = {
    "ts_autocorr": ts_autocorr,
    "ts_beta": _operator(_beta),
    "ts_corr": _operator(_corr),
    "ts_cov": _operator(_cov),
    "ts_rank_corr": _operator(_rank_corr),
    "ts_resid": _operator(_resid, today=True),
    "ts_rsq": _operator(_rsq),
    "ts_slope": ts_slope,
}
