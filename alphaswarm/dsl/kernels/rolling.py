"""Operators over the last `d` rows of one series: one compiled loop, statistics by code."""

from __future__ import annotations

import math

import numpy as np

from alphaswarm.core.jit import jit
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels import decay, extremes, moments
from alphaswarm.dsl.kernels.base import Flat, Kernel, Series, by_column, from_columns, full
from alphaswarm.dsl.kernels.decay import decay_value
from alphaswarm.dsl.kernels.extremes import extreme_value
from alphaswarm.dsl.kernels.moments import moment_value

__all__ = ["ROLLING", "rolling"]

FIRST_EXTREME, FIRST_DECAY = extremes.MIN, decay.DECAY_LINEAR


@jit
def _rolling(op: int, parameter: float, x: Flat, rows: int, d: int, min_obs: int, out: Flat) -> None:
    for base in range(0, x.size, rows):
        count = 0
        for t in range(base, base + rows):
            count += not math.isnan(x[t])
            if t - d >= base:
                count -= not math.isnan(x[t - d])
            if count < min_obs:
                continue
            start = max(base, t - d + 1)
            if op < FIRST_EXTREME:
                out[t] = moment_value(op, int(parameter), x, start, t + 1, count)
            elif op < FIRST_DECAY:
                out[t] = extreme_value(op, x, start, t + 1, count)
            else:
                out[t] = decay_value(op, parameter, d, x, start, t + 1)


def rolling(op: int, x: Series, d: int, min_obs: int | None, parameter: float = 0.0) -> Series:
    """The statistic `op` of each window of `x`; NaN where fewer than `min_obs` (default `d`) values are valid."""
    out = np.full(x.size, np.nan)
    _rolling(op, float(parameter), by_column(x), x.shape[0], d, d if min_obs is None else min_obs, out)
    return from_columns(out, (x.shape[0], x.shape[1]))


def _operator(op: int) -> Kernel:
    def apply(_ctx: Context, x: Series, d: int, parameter: float = 0.0, *, min_obs: int | None = None) -> Series:
        return rolling(op, x, d, min_obs, parameter)

    return apply


def ts_count(_ctx: Context, c: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Days on which the condition held."""
    held = np.where(np.isnan(c), np.nan, c != 0)
    return rolling(moments.SUM, held, d, min_obs)


def ts_sumif(ctx: Context, x: Series, c: Series, d: int, *, min_obs: int | None = None) -> Series:
    """Sum of `x` over the days on which the condition held; a day counts where both are valid."""
    kept = np.where(np.isnan(x) | np.isnan(c), np.nan, np.where(c != 0, x, 0.0))
    return rolling(moments.SUM, full(kept, ctx.shape), d, min_obs)


ROLLING: dict[str, Kernel] = {
    "decay_exp": _operator(decay.DECAY_EXP),
    "decay_linear": _operator(decay.DECAY_LINEAR),
    "ts_argmax": _operator(extremes.ARGMAX),
    "ts_argmin": _operator(extremes.ARGMIN),
    "ts_av_diff": _operator(moments.AV_DIFF),
    "ts_count": ts_count,
    "ts_entropy": _operator(extremes.ENTROPY),
    "ts_ir": _operator(moments.IR),
    "ts_kurt": _operator(moments.KURT),
    "ts_mad": _operator(moments.MAD),
    "ts_max": _operator(extremes.MAX),
    "ts_max_diff": _operator(extremes.MAX_DIFF),
    "ts_mean": _operator(moments.MEAN),
    "ts_min": _operator(extremes.MIN),
    "ts_min_diff": _operator(extremes.MIN_DIFF),
    "ts_moment": _operator(moments.MOMENT),
    "ts_product": _operator(extremes.PRODUCT),
    "ts_rank": _operator(extremes.RANK),
    "ts_scale": _operator(extremes.SCALE),
    "ts_skew": _operator(moments.SKEW),
    "ts_std": _operator(moments.STD),
    "ts_sum": _operator(moments.SUM),
    "ts_sumif": ts_sumif,
    "ts_var": _operator(moments.VAR),
    "ts_zscore": _operator(moments.ZSCORE),
}
