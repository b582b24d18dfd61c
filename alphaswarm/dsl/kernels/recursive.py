"""Operators with a memory: one pass down the rows, all symbols at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.base import Kernel, Series, finite

__all__ = ["RECURSIVE"]


def _smooth(x: Series, alpha: float, rows: int) -> Series:
    """Follow y = alpha x + (1 - alpha) y', seeded at the first valid value.

    NaN until `rows` valid values were seen; NaN keeps the state, more than `rows` in a row clear it.
    """
    out = np.full(x.shape, np.nan)
    state = np.full(x.shape[1], np.nan)
    seen, missing = np.zeros(x.shape[1], np.int64), np.zeros(x.shape[1], np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for t, today in enumerate(x):
            valid = ~np.isnan(today)
            missing = np.where(valid, 0, missing + 1)
            seen[missing > rows] = 0
            moved = np.where(seen == 0, today, alpha * today + (1.0 - alpha) * state)
            state = np.where(valid, moved, state)
            seen += valid
            np.copyto(out[t], state, where=valid & (seen >= rows))
    return finite(out)


def ema(_ctx: Context, x: Series, span: int) -> Series:
    """Exponential moving average, alpha = 2 / (span + 1)."""
    return _smooth(x, 2.0 / (span + 1.0), span)


def sma_cn(_ctx: Context, x: Series, n: int, m: int) -> Series:
    """Follow y = (m x + (n - m) y') / n."""
    return _smooth(x, m / n, n)


def hump(_ctx: Context, x: Series, h: float) -> Series:
    """Move from the last value toward x by at most `h`."""
    out = np.full(x.shape, np.nan)
    state = np.full(x.shape[1], np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        for t, today in enumerate(x):
            gap = today - state
            moved = np.where(np.abs(gap) > h, state + np.copysign(h, gap), today)
            state = np.where(np.isnan(today), state, moved)
            np.copyto(out[t], state, where=~np.isnan(today))
    return finite(out)


def trade_when(_ctx: Context, trigger: Series, x: Series, leave: Series) -> Series:
    """Exit true gives NaN, else trigger true gives x, else what was held; unknown is not true."""
    out = np.empty(x.shape)
    enters, leaves = _true(trigger), _true(leave)
    state = np.full(x.shape[1], np.nan)
    for t in range(x.shape[0]):
        state = np.where(leaves[t], np.nan, np.where(enters[t], x[t], state))
        out[t] = state
    return out


def _true(c: Series) -> NDArray[np.bool_]:
    held: NDArray[np.bool_] = (c != 0) & ~np.isnan(c)
    return held


def _rows_since(happened: NDArray[np.bool_]) -> Series:
    """Rows since it last happened, 0 today, NaN before the first time."""
    rows = np.arange(happened.shape[0])[:, None]
    last = np.maximum.accumulate(np.where(happened, rows, -1), axis=0)
    return np.where(last < 0, np.nan, rows - last)


def ts_days_since(_ctx: Context, c: Series) -> Series:
    """Days since the condition held, 0 today; an unknown condition gives NaN that day."""
    return np.where(np.isnan(c), np.nan, _rows_since(_true(c)))


def _latest(x: Series) -> Series:
    """The latest valid value, however old."""
    rows = np.arange(x.shape[0])[:, None]
    last = np.maximum.accumulate(np.where(np.isnan(x), 0, rows), axis=0)
    latest: Series = np.take_along_axis(x, last, axis=0)
    return latest


def _before(x: Series) -> Series:
    """The latest valid value before today."""
    out = np.full(x.shape, np.nan)
    out[1:] = _latest(x)[:-1]
    return out


def last_diff(_ctx: Context, x: Series) -> Series:
    """The latest earlier value that differs from today's."""
    before = _before(x)
    # at a change, what stood before it is the answer until the next change
    changed = np.where(~np.isnan(x) & ~np.isnan(before) & (x != before), before, np.nan)
    return np.where(np.isnan(x), np.nan, _latest(changed))


def days_from_change(_ctx: Context, x: Series) -> Series:
    """Days since x last changed, 0 on the day of the change; NaN before the first one."""
    before = _before(x)
    changed = ~np.isnan(x) & ~np.isnan(before) & (x != before)
    return np.where(np.isnan(x), np.nan, _rows_since(changed))


def ts_backfill(_ctx: Context, x: Series, d: int) -> Series:
    """The latest valid value of the last `d` rows."""
    age = _rows_since(~np.isnan(x))
    return np.where(age < d, _latest(x), np.nan)


RECURSIVE: dict[str, Kernel] = {
    "days_from_change": days_from_change,
    "ema": ema,
    "hump": hump,
    "last_diff": last_diff,
    "sma_cn": sma_cn,
    "trade_when": trade_when,
    "ts_backfill": ts_backfill,
    "ts_days_since": ts_days_since,
}
