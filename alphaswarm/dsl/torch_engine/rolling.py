"""Operators over the last `d` rows of one series."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product as pairs_of

import torch
from torch import Tensor

from alphaswarm.dsl.torch_engine.base import WIDE, Context, Operator, empty, finite
from alphaswarm.dsl.torch_engine.sample import Sample, product, total

__all__ = ["ROLLING", "over_windows"]

ENTROPY_BINS = 10
# Wide numbers that a cell of a window takes while its statistic is computed.
COPIES = 12


def over_windows(
    ctx: Context,
    statistic: Callable[..., Tensor],
    d: int,
    min_obs: int | None,
    *series: Tensor,
    today: bool = False,
) -> Tensor:
    """`statistic` of the last `d` rows of each column, block by block.

    It gets a sample [d, rows, columns] for each series, with the rows that are valid in all of them. Fewer than
    `min_obs` (default `d`) give NaN; rows before the panel count as missing. With `today`, the current row must
    be valid.
    """
    out = empty(ctx)
    rows, columns = ctx.shape
    cells = max(1, ctx.cells(COPIES * len(series)) // d)
    width = min(columns, cells)
    height = max(1, cells // width)
    for first, left in pairs_of(range(0, rows, height), range(0, columns, width)):
        stop, right = min(first + height, rows), min(left + width, columns)
        windows = [_windows(one[:stop, left:right], first, d) for one in series]
        valid = ~torch.isnan(windows[0])
        for other in windows[1:]:
            valid &= ~torch.isnan(other)
        samples = [Sample.of(one, valid) for one in windows]
        held = samples[0].count >= (d if min_obs is None else min_obs)
        if today:
            held &= valid[-1]
        value = torch.where(held, statistic(*samples), torch.nan)
        out[first:stop, left:right] = finite(value.to(ctx.dtype))
    return out


def _windows(x: Tensor, first: int, d: int) -> Tensor:
    """The `d` rows up to each row from `first` on, oldest first: [d, rows, columns]."""
    block = x[max(0, first - d + 1) :].to(WIDE)
    missing = max(0, d - 1 - first)
    if missing:
        block = torch.cat([torch.full((missing, x.shape[1]), torch.nan, dtype=WIDE, device=x.device), block])
    return block.unfold(0, d, 1).movedim(-1, 0).contiguous()


def _ages(sample: Sample) -> Tensor:
    """Days since each place of the windows, [d, 1, 1]."""
    return torch.arange(len(sample.values) - 1, -1, -1, dtype=WIDE, device=sample.values.device).reshape(-1, 1, 1)


def _skew(x: Sample) -> Tensor:
    """Adjusted Fisher-Pearson coefficient, as pandas has it."""
    n, second = x.count, x.deviations.powers(2)
    factor = (n * (n - 1)).sqrt() / (n - 2) * n.sqrt()
    skew = factor * x.deviations.powers(3) / (second * second.sqrt())
    return torch.where((n >= 3) & ~x.constant, skew, torch.nan)


def _kurt(x: Sample) -> Tensor:
    """Adjusted excess kurtosis, as pandas has it."""
    n, second = x.count, x.deviations.powers(2)
    excess = n * x.deviations.powers(4) / (second * second) - 3
    kurtosis = (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * excess + 6)
    return torch.where((n >= 4) & ~x.constant, kurtosis, torch.nan)


def _zscore(x: Sample) -> Tensor:
    return torch.where(x.constant, torch.nan, x.deviations.shares[-1] / x.variance.sqrt())


def _ir(x: Sample) -> Tensor:
    return torch.where(x.constant, torch.nan, x.mean / x.deviations.reach / x.variance.sqrt())


def _age_of(best: Tensor, x: Sample) -> Tensor:
    return torch.where(x.valid & (x.values == best), _ages(x), torch.inf).amin(0)


def _rank(x: Sample) -> Tensor:
    below = ((x.values < x.today) & x.valid).sum(0)
    equal = ((x.values == x.today) & x.valid).sum(0)
    return (below + (equal + 1) / 2) / x.count


def _mad(x: Sample) -> Tensor:
    return total(x.deviations.shares.abs()) / x.count * x.deviations.reach


def _entropy(x: Sample) -> Tensor:
    width = x.high - x.low
    place = torch.where(x.valid, (x.values - x.low) / width * ENTROPY_BINS, -1.0).floor().clamp(max=ENTROPY_BINS - 1)
    shares = torch.stack([(place == number).sum(0) / x.count for number in range(ENTROPY_BINS)])
    entropy = -total(torch.where(shares > 0, shares * shares.log(), 0.0))
    return torch.where(torch.isinf(width), torch.nan, torch.where(width == 0, 0.0, entropy))


def _weighted(x: Sample, weights: Tensor) -> Tensor:
    held = torch.where(x.valid, weights, 0.0)
    return x.within(total(held * x.values) / total(held))


def _decay_linear(x: Sample) -> Tensor:
    return _weighted(x, len(x.values) - _ages(x))


# name: (statistic of the valid rows, whether today must be valid)
_STATISTICS: dict[str, tuple[Callable[[Sample], Tensor], bool]] = {
    "decay_linear": (_decay_linear, False),
    "ts_argmax": (lambda x: _age_of(x.high, x), False),
    "ts_argmin": (lambda x: _age_of(x.low, x), False),
    "ts_av_diff": (lambda x: x.today - x.mean, True),
    "ts_entropy": (_entropy, False),
    "ts_ir": (_ir, False),
    "ts_kurt": (_kurt, False),
    "ts_mad": (_mad, False),
    "ts_max": (lambda x: x.high, False),
    "ts_max_diff": (lambda x: x.today - x.high, True),
    "ts_mean": (lambda x: x.mean, False),
    "ts_medad": (lambda x: x.median_distance, False),
    "ts_median": (lambda x: x.median, False),
    "ts_min": (lambda x: x.low, False),
    "ts_min_diff": (lambda x: x.today - x.low, True),
    "ts_product": (lambda x: product(torch.where(x.valid, x.values, 1.0)), False),
    "ts_rank": (_rank, True),
    "ts_scale": (lambda x: (x.today - x.low) / (x.high - x.low), True),
    "ts_skew": (_skew, False),
    "ts_std": (lambda x: x.std, False),
    "ts_sum": (lambda x: total(x.values), False),
    "ts_var": (lambda x: x.deviations.reach * x.variance * x.deviations.reach, False),
    "ts_zscore": (_zscore, True),
}


def _operator(statistic: Callable[[Sample], Tensor], today: bool) -> Operator:
    def apply(ctx: Context, x: Tensor, d: int, *, min_obs: int | None = None) -> Tensor:
        return over_windows(ctx, statistic, d, min_obs, x, today=today)

    return apply


def ts_quantile(ctx: Context, x: Tensor, d: int, q: float, *, min_obs: int | None = None) -> Tensor:
    """Linear quantile `q`."""
    return over_windows(ctx, lambda sample: sample.quantile(q), d, min_obs, x)


def ts_moment(ctx: Context, x: Tensor, d: int, k: int, *, min_obs: int | None = None) -> Tensor:
    """Central moment of order `k`, with 1/n."""

    def moment(sample: Sample) -> Tensor:
        if k == 1:
            return torch.zeros_like(sample.count)
        value = sample.deviations.powers(k) / sample.count
        for _ in range(k):
            value = value * sample.deviations.reach
        return value

    return over_windows(ctx, moment, d, min_obs, x)


def decay_exp(ctx: Context, x: Tensor, d: int, f: float, *, min_obs: int | None = None) -> Tensor:
    """Weights f ** age, renormalised over the valid rows."""
    weights = torch.tensor([math.pow(f, age) for age in range(d - 1, -1, -1)], dtype=WIDE, device=x.device)
    return over_windows(ctx, lambda sample: _weighted(sample, weights.reshape(-1, 1, 1)), d, min_obs, x)


def ts_count(ctx: Context, c: Tensor, d: int, *, min_obs: int | None = None) -> Tensor:
    """Days on which the condition held."""
    return over_windows(ctx, lambda sample: (sample.values != 0).sum(0), d, min_obs, c)


def ts_sumif(ctx: Context, x: Tensor, c: Tensor, d: int, *, min_obs: int | None = None) -> Tensor:
    """Sum of `x` over the days on which the condition held; a day counts where both are valid."""
    return over_windows(
        ctx, lambda kept, held: total(torch.where(held.values != 0, kept.values, 0.0)), d, min_obs, x, c
    )


ROLLING: dict[str, Operator] = {
    **{name: _operator(statistic, today) for name, (statistic, today) in _STATISTICS.items()},
    "decay_exp": decay_exp,
    "ts_count": ts_count,
    "ts_moment": ts_moment,
    "ts_quantile": ts_quantile,
    "ts_sumif": ts_sumif,
}
