"""Operators over the last `d` rows of two series: co-movement and regression.

A row counts where both series are valid. Regressions have an intercept and need three rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.reference.base import Series, average_ranks, each_window, exact_mean, signed_root
from alphaswarm.dsl.reference.shift import delay

__all__ = ["PAIRS"]

Values = Sequence[float]
REGRESSION_ROWS = 3


@dataclass(frozen=True)
class _Sums:
    """Exact sums of products of deviations."""

    xx: Fraction
    xy: Fraction
    yy: Fraction


def _sums(x: Values, y: Values) -> _Sums:
    dx = [Fraction(value) - exact_mean(x) for value in x]
    dy = [Fraction(value) - exact_mean(y) for value in y]
    return _Sums(
        sum((a * a for a in dx), Fraction(0)),
        sum((a * b for a, b in zip(dx, dy, strict=True)), Fraction(0)),
        sum((b * b for b in dy), Fraction(0)),
    )


def _cov(_ages: Sequence[int], x: Values, y: Values) -> float | None:
    return float(_sums(x, y).xy / (len(x) - 1)) if len(x) >= 2 else None


def _corr(_ages: Sequence[int], x: Values, y: Values) -> float | None:
    sums = _sums(x, y)
    if sums.xx == 0 or sums.yy == 0:
        return None
    return signed_root(sums.xy, sums.xy**2 / (sums.xx * sums.yy))


def _rank_corr(ages: Sequence[int], x: Values, y: Values) -> float | None:
    return _corr(ages, average_ranks(x), average_ranks(y))


def _beta(_ages: Sequence[int], y: Values, x: Values) -> float | None:
    sums = _sums(x, y)
    return None if len(x) < REGRESSION_ROWS or sums.xx == 0 else float(sums.xy / sums.xx)


def _resid(_ages: Sequence[int], y: Values, x: Values) -> float | None:
    sums = _sums(x, y)
    if len(x) < REGRESSION_ROWS or sums.xx == 0:
        return None
    return float(Fraction(y[-1]) - exact_mean(y) - sums.xy / sums.xx * (Fraction(x[-1]) - exact_mean(x)))


def _rsq(_ages: Sequence[int], y: Values, x: Values) -> float | None:
    sums = _sums(x, y)
    if len(x) < REGRESSION_ROWS or sums.xx == 0 or sums.yy == 0:
        return None
    return float(sums.xy**2 / (sums.xx * sums.yy))


def _slope(ages: Sequence[int], y: Values) -> float | None:
    return _beta(ages, y, [-float(age) for age in ages])


def _operator(statistic: Callable[..., float | None], today: bool = False) -> Callable[..., Series]:
    def apply(_ctx: Context, x: Series, y: Series, d: int, *, min_obs: int | None = None) -> Series:
        return each_window(statistic, d, min_obs, x, y, today=today)

    return apply


def ts_slope(_ctx: Context, y: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Slope of `y` against the row number."""
    return each_window(_slope, d, min_obs, y)


def ts_autocorr(ctx: Context, x: Series, d: int, lag: int, *, min_obs: int | None = None) -> Series:
    """Correlation with what the series was `lag` rows before."""
    return each_window(_corr, d, min_obs, x, delay(ctx, x, lag))


PAIRS: dict[str, Callable[..., Series]] = {
    "ts_autocorr": ts_autocorr,
    "ts_beta": _operator(_beta),
    "ts_corr": _operator(_corr),
    "ts_cov": _operator(_cov),
    "ts_rank_corr": _operator(_rank_corr),
    "ts_resid": _operator(_resid, today=True),
    "ts_rsq": _operator(_rsq),
    "ts_slope": ts_slope,
}
