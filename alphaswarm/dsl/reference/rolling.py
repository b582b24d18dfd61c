"""Operators over the last `d` rows of one series, window by window."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.reference.base import (
    Series,
    central_sum,
    each_cell,
    each_window,
    exact_mean,
    mean,
    quantile,
    signed_root,
    std,
)

__all__ = ["ROLLING", "ts_sum"]

Ages = Sequence[int]
Values = Sequence[float]
ENTROPY_BINS = 10


def _skew(_ages: Ages, x: Values) -> float | None:
    """Adjusted Fisher-Pearson coefficient, as pandas has it."""
    n, spread = len(x), central_sum(x, 2)
    if n < 3 or spread == 0:
        return None
    third = central_sum(x, 3)
    return math.sqrt(n * (n - 1)) / (n - 2) * signed_root(third, n * third**2 / spread**3)


def _kurt(_ages: Ages, x: Values) -> float | None:
    """Adjusted excess kurtosis, as pandas has it."""
    n, spread = len(x), central_sum(x, 2)
    if n < 4 or spread == 0:
        return None
    excess = n * central_sum(x, 4) / spread**2 - 3
    return float(Fraction(n - 1, (n - 2) * (n - 3)) * ((n + 1) * excess + 6))


def _var(_ages: Ages, x: Values) -> float | None:
    return float(central_sum(x, 2) / (len(x) - 1)) if len(x) >= 2 else None


def _in_stds(value: Fraction, x: Values) -> float | None:
    if len(x) < 2 or central_sum(x, 2) == 0:
        return None
    return signed_root(value, value**2 / (central_sum(x, 2) / (len(x) - 1)))


def _zscore(_ages: Ages, x: Values) -> float | None:
    return _in_stds(Fraction(x[-1]) - exact_mean(x), x)


def _ir(_ages: Ages, x: Values) -> float | None:
    return _in_stds(exact_mean(x), x)


def _age_of(extreme: Callable[[Values], float]) -> Callable[[Ages, Values], float]:
    def age(ages: Ages, x: Values) -> float:
        best = extreme(x)
        return min(age for age, value in zip(ages, x, strict=True) if value == best)

    return age


def _rank(_ages: Ages, x: Values) -> float:
    below = sum(value < x[-1] for value in x)
    equal = sum(value == x[-1] for value in x)
    return (below + (equal + 1) / 2) / len(x)


def _scale(_ages: Ages, x: Values) -> float:
    return (x[-1] - min(x)) / (max(x) - min(x))


def _mad(_ages: Ages, x: Values) -> float:
    middle = exact_mean(x)
    return float(sum(abs(Fraction(value) - middle) for value in x) / len(x))


def _medad(_ages: Ages, x: Values) -> float:
    middle = _median(_ages, x)
    return _median(_ages, [abs(value - middle) for value in x])


def _median(_ages: Ages, x: Values) -> float:
    ordered = sorted(x)
    return (ordered[(len(x) - 1) // 2] + ordered[len(x) // 2]) / 2


def _entropy(_ages: Ages, x: Values) -> float:
    low, width = min(x), max(x) - min(x)
    if width == 0:
        return 0.0
    bins = Counter(min(int((value - low) / width * ENTROPY_BINS), ENTROPY_BINS - 1) for value in x)
    return -math.fsum(count / len(x) * math.log(count / len(x)) for count in bins.values())


def _weighted(x: Values, weights: Values) -> float:
    """Weighted mean; rounding never pushes it out of the range of the values."""
    total = math.fsum(weight * value for weight, value in zip(weights, x, strict=True))
    return min(max(total / math.fsum(weights), min(x)), max(x))


# name: (statistic of the valid rows, whether today must be valid)
_STATISTICS: dict[str, tuple[Callable[[Ages, Values], float | None], bool]] = {
    "ts_sum": (lambda _ages, x: math.fsum(x), False),
    "ts_mean": (lambda _ages, x: mean(x), False),
    "ts_product": (lambda _ages, x: math.prod(x), False),
    "ts_std": (lambda _ages, x: std(x), False),
    "ts_var": (_var, False),
    "ts_skew": (_skew, False),
    "ts_kurt": (_kurt, False),
    "ts_min": (lambda _ages, x: min(x), False),
    "ts_max": (lambda _ages, x: max(x), False),
    "ts_argmin": (_age_of(min), False),
    "ts_argmax": (_age_of(max), False),
    "ts_rank": (_rank, True),
    "ts_zscore": (_zscore, True),
    "ts_scale": (_scale, True),
    "ts_median": (_median, False),
    "ts_mad": (_mad, False),
    "ts_medad": (_medad, False),
    "ts_ir": (_ir, False),
    "ts_av_diff": (lambda _ages, x: x[-1] - mean(x), True),
    "ts_max_diff": (lambda _ages, x: x[-1] - max(x), True),
    "ts_min_diff": (lambda _ages, x: x[-1] - min(x), True),
    "ts_entropy": (_entropy, False),
}


def _operator(statistic: Callable[[Ages, Values], float | None], today: bool) -> Callable[..., Series]:
    def apply(_ctx: Context, x: Series, d: int, *, min_obs: int | None = None) -> Series:
        return each_window(statistic, d, min_obs, x, today=today)

    return apply


def ts_sum(_ctx: Context, x: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Sum, rounded once."""
    return each_window(lambda _ages, values: math.fsum(values), d, min_obs, x)


def ts_quantile(_ctx: Context, x: Series, d: int, q: float, *, min_obs: int | None = None) -> Series:
    """Linear quantile `q`."""
    return each_window(lambda _ages, values: quantile(values, q), d, min_obs, x)


def ts_moment(_ctx: Context, x: Series, d: int, k: int, *, min_obs: int | None = None) -> Series:
    """Central moment of order `k`, with 1/n."""
    return each_window(lambda _ages, values: float(central_sum(values, int(k)) / len(values)), d, min_obs, x)


def decay_linear(_ctx: Context, x: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Weights d (today) to 1 (oldest), renormalised over the valid rows."""
    return each_window(lambda ages, values: _weighted(values, [d - age for age in ages]), d, min_obs, x)


def decay_exp(_ctx: Context, x: Series, d: int, f: float, *, min_obs: int | None = None) -> Series:
    """Weights f ** age, renormalised over the valid rows."""
    return each_window(lambda ages, values: _weighted(values, [f**age for age in ages]), d, min_obs, x)


def ts_count(ctx: Context, c: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Days on which the condition held."""
    return ts_sum(ctx, each_cell(ctx, lambda value: float(value != 0), c), d, min_obs=min_obs)


def ts_sumif(ctx: Context, x: Series, c: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Sum of `x` over the days on which the condition held; a day counts where both are valid."""
    return ts_sum(ctx, each_cell(ctx, lambda value, held: value if held != 0 else 0.0, x, c), d, min_obs=min_obs)


ROLLING: dict[str, Callable[..., Series]] = {
    **{name: _operator(statistic, today) for name, (statistic, today) in _STATISTICS.items()},
    "decay_exp": decay_exp,
    "decay_linear": decay_linear,
    "ts_count": ts_count,
    "ts_moment": ts_moment,
    "ts_quantile": ts_quantile,
    "ts_sumif": ts_sumif,
}
