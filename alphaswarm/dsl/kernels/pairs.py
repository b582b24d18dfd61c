"""Co-movement and regression of two series over windows, from deviations of the means."""

from __future__ import annotations

import math

import numpy as np

from alphaswarm.core.jit import jit
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Flat, Kernel, Series, by_column, from_columns
from alphaswarm.dsl.kernels.moments import center, deviation_scale
from alphaswarm.dsl.kernels.shift import delay

__all__ = ["PAIRS"]

COV, CORR, BETA, RESID, RSQ = range(5)
REGRESSION_ROWS = 3
# What a perfect fit may leave by rounding: it is then taken as perfect, so that ties stay ties.
ROUNDING = 8 * 2.0**-53


@jit
def _pair_value(op: int, x: Flat, y: Flat, start: int, stop: int, count: int) -> float:
    mx, rx, smallest_x, largest_x = center(x, start, stop, count)
    my, ry, smallest_y, largest_y = center(y, start, stop, count)
    constant_x, constant_y = smallest_x == largest_x, smallest_y == largest_y
    if op == COV:
        if count < 2:
            return np.nan
    elif constant_x or ((op in (CORR, RSQ)) and constant_y) or (op != CORR and count < REGRESSION_ROWS):
        return np.nan
    kx, ky = deviation_scale(mx, smallest_x, largest_x), deviation_scale(my, smallest_y, largest_y)
    xx, xy, yy = 0.0, 0.0, 0.0
    for i in range(start, stop):
        if not math.isnan(x[i]):
            dx, dy = ((x[i] - mx) - rx) * kx, ((y[i] - my) - ry) * ky
            xx += dx * dx
            xy += dx * dy
            yy += dy * dy
    if op == COV:
        return xy / (count - 1) / max(kx, ky) / min(kx, ky)
    if op == BETA:
        return xy / xx / ky * kx
    if op == RESID:
        away, fitted = ((y[stop - 1] - my) - ry) * ky, xy / xx * (((x[stop - 1] - mx) - rx) * kx)
        return 0.0 if abs(away - fitted) <= ROUNDING * abs(away) else (away - fitted) / ky
    correlation = xy / math.sqrt(xx * yy)
    if abs(correlation) >= 1.0 - ROUNDING:
        correlation = math.copysign(1.0, correlation)
    return correlation * correlation if op == RSQ else correlation


@jit
def _pairs(op: int, x: Flat, y: Flat, rows: int, d: int, min_obs: int, out: Flat) -> None:
    for base in range(0, x.size, rows):
        count = 0
        for t in range(base, base + rows):
            count += not math.isnan(x[t])
            if t - d >= base:
                count -= not math.isnan(x[t - d])
            if count >= min_obs:
                out[t] = _pair_value(op, x, y, max(base, t - d + 1), t + 1, count)


def _pairwise(op: int, x: Series, y: Series, d: int, min_obs: int | None) -> Series:
    """`op` of each window over the rows in which both are valid."""
    missing = np.isnan(x) | np.isnan(y)
    out = np.full(x.size, np.nan)
    columns = by_column(np.where(missing, np.nan, x)), by_column(np.where(missing, np.nan, y))
    _pairs(op, *columns, x.shape[0], d, d if min_obs is None else min_obs, out)
    return from_columns(out, (x.shape[0], x.shape[1]))


def _symmetric(op: int) -> Kernel:
    def apply(_ctx: Context, x: Series, y: Series, d: int, *, min_obs: int | None = None) -> Series:
        return _pairwise(op, x, y, d, min_obs)

    return apply


def _regression(op: int) -> Kernel:
    def apply(_ctx: Context, y: Series, x: Series, d: int, *, min_obs: int | None = None) -> Series:
        return _pairwise(op, x, y, d, min_obs)

    return apply


def ts_slope(_ctx: Context, y: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Slope of `y` against the row number."""
    row = np.broadcast_to(np.arange(float(y.shape[0]))[:, None], y.shape)
    return _pairwise(BETA, row, y, d, min_obs)


def ts_autocorr(ctx: Context, x: Series, d: int, lag: int, *, min_obs: int | None = None) -> Series:
    """Correlation with what the series was `lag` rows before."""
    return _pairwise(CORR, x, delay(ctx, x, lag), d, min_obs)


PAIRS: dict[str, Kernel] = {
    "ts_autocorr": ts_autocorr,
    "ts_beta": _regression(BETA),
    "ts_corr": _symmetric(CORR),
    "ts_cov": _symmetric(COV),
    "ts_resid": _regression(RESID),
    "ts_rsq": _regression(RSQ),
    "ts_slope": ts_slope,
}
