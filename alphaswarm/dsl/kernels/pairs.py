"""Co-movement and regression of two series over windows, from deviations of the means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.columns import Flat, read_column, write_column
from alphaswarm.dsl.kernels.moments import center, deviation_scale
from alphaswarm.dsl.kernels.vectors import itemsize
from alphaswarm.dsl.kernels.words import BLOCK, MIN_OBS, OP, OUT, ROWS, STEP, WINDOW, A, B

__all__ = ["PAIR_WINDOWS", "pair_windows"]

COV, CORR, BETA, RESID, RSQ = range(5)
PAIR_WINDOWS = {"ts_cov": COV, "ts_corr": CORR, "ts_beta": BETA, "ts_resid": RESID, "ts_rsq": RSQ}
REGRESSION_ROWS = 3
# What a perfect fit may leave by rounding: it is then taken as perfect, so that ties stay ties.
ROUNDING = 8 * 2.0**-53


@part
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


def pair_windows(kind: Any, words: Any) -> None:
    """Statistic OP of the first argument on the second, over rows of WINDOW in which both are valid."""
    rows, d, size = words[ROWS], words[WINDOW], itemsize(kind)
    y, x, out = np.empty(rows), np.empty(rows), np.empty(rows)
    for lane in range(0, BLOCK * size, size):
        read_column(kind, words[A] + lane, words[A + STEP], y)
        read_column(kind, words[B] + lane, words[B + STEP], x)
        count = 0
        for t in range(rows):
            if math.isnan(x[t]) or math.isnan(y[t]):
                x[t], y[t] = np.nan, np.nan
            count += not math.isnan(x[t])
            if t >= d:
                count -= not math.isnan(x[t - d])
            out[t] = np.nan
            if count >= words[MIN_OBS]:
                out[t] = _pair_value(words[OP], x, y, max(0, t - d + 1), t + 1, count)
        write_column(kind, words[OUT] + lane, words[OUT + STEP], out)
