"""Operators over the last `d` rows of one series, window by window.

For what needs every value of the window, skips missing ones, or has values beyond the reach of the block kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels import decay, extremes, moments
from alphaswarm.dsl.kernels.columns import Flat, read_column, write_column
from alphaswarm.dsl.kernels.decay import decay_value
from alphaswarm.dsl.kernels.extremes import extreme_value
from alphaswarm.dsl.kernels.moments import moment_value
from alphaswarm.dsl.kernels.vectors import itemsize
from alphaswarm.dsl.kernels.words import BLOCK, MIN_OBS, OP, OUT, ROWS, STEP, WINDOW, A, P, number

__all__ = ["ROLLING", "rolling", "rolling_value"]

FIRST_EXTREME, FIRST_DECAY = extremes.MIN, decay.DECAY_LINEAR

ROLLING = {
    "decay_exp": decay.DECAY_EXP,
    "decay_linear": decay.DECAY_LINEAR,
    "ts_argmax": extremes.ARGMAX,
    "ts_argmin": extremes.ARGMIN,
    "ts_av_diff": moments.AV_DIFF,
    "ts_entropy": extremes.ENTROPY,
    "ts_ir": moments.IR,
    "ts_kurt": moments.KURT,
    "ts_mad": moments.MAD,
    "ts_max": extremes.MAX,
    "ts_max_diff": extremes.MAX_DIFF,
    "ts_mean": moments.MEAN,
    "ts_min": extremes.MIN,
    "ts_min_diff": extremes.MIN_DIFF,
    "ts_moment": moments.MOMENT,
    "ts_product": extremes.PRODUCT,
    "ts_rank": extremes.RANK,
    "ts_scale": extremes.SCALE,
    "ts_skew": moments.SKEW,
    "ts_std": moments.STD,
    "ts_sum": moments.SUM,
    "ts_var": moments.VAR,
    "ts_zscore": moments.ZSCORE,
}


@part
def rolling_value(op: int, parameter: float, d: int, x: Flat, start: int, stop: int, count: int) -> float:
    """The statistic `op` of the `count` >= 1 valid values of x[start:stop]."""
    if op < FIRST_EXTREME:
        return moment_value(op, int(parameter), x, start, stop, count)
    if op < FIRST_DECAY:
        return extreme_value(op, x, start, stop, count)
    return decay_value(op, parameter, d, x, start, stop)


def rolling(kind: Any, words: Any) -> None:
    """The statistic OP of each window of WINDOW rows that holds MIN_OBS valid values, else NaN."""
    rows, d, size = words[ROWS], words[WINDOW], itemsize(kind)
    x, out = np.empty(rows), np.empty(rows)
    for lane in range(0, BLOCK * size, size):
        read_column(kind, words[A] + lane, words[A + STEP], x)
        count = 0
        for t in range(rows):
            count += not math.isnan(x[t])
            if t >= d:
                count -= not math.isnan(x[t - d])
            out[t] = np.nan
            if count >= words[MIN_OBS]:
                out[t] = rolling_value(words[OP], number(words, P), d, x, max(0, t - d + 1), t + 1, count)
        write_column(kind, words[OUT] + lane, words[OUT + STEP], out)
