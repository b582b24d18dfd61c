"""Operators with a memory, column by column. They start at the first valid value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.reference.base import Series, each_column

__all__ = ["RECURSIVE"]

Values = Sequence[float]


def _smooth(x: Values, alpha: float, rows: int) -> list[float]:
    """Follow y = alpha x + (1 - alpha) y', seeded at the first valid value.

    NaN until `rows` valid values were seen; NaN keeps the state, more than `rows` in a row clear it.
    """
    out: list[float] = []
    state, seen, missing = math.nan, 0, 0
    for value in x:
        if math.isnan(value):
            missing += 1
            if missing > rows:
                seen = 0
            out.append(math.nan)
            continue
        state = value if seen == 0 else alpha * value + (1.0 - alpha) * state
        seen, missing = seen + 1, 0
        out.append(state if seen >= rows else math.nan)
    return out


def ema(_ctx: Context, x: Series, span: int) -> Series:
    """Exponential moving average, alpha = 2 / (span + 1)."""
    return each_column(lambda values: _smooth(values, 2.0 / (span + 1.0), span), x)


def sma_cn(_ctx: Context, x: Series, n: int, m: int) -> Series:
    """Follow y = (m x + (n - m) y') / n."""
    return each_column(lambda values: _smooth(values, m / n, n), x)


def _hump(x: Values, h: float) -> list[float]:
    out: list[float] = []
    state = math.nan
    for value in x:
        if math.isnan(value):
            out.append(math.nan)
            continue
        if math.isnan(state) or abs(value - state) <= h:
            state = value
        else:
            state += math.copysign(h, value - state)
        out.append(state)
    return out


def hump(_ctx: Context, x: Series, h: float) -> Series:
    """Move from the last value toward x by at most `h`."""
    return each_column(lambda values: _hump(values, h), x)


def _trade_when(trigger: Values, x: Values, leave: Values) -> list[float]:
    out: list[float] = []
    state = math.nan
    for enter, value, end in zip(trigger, x, leave, strict=True):
        if end != 0 and not math.isnan(end):
            state = math.nan
        elif enter != 0 and not math.isnan(enter):
            state = value
        out.append(state)
    return out


def trade_when(_ctx: Context, trigger: Series, x: Series, leave: Series) -> Series:
    """Exit true gives NaN, else trigger true gives x, else what was held; unknown is not true."""
    return each_column(_trade_when, trigger, x, leave)


def _days_since(c: Values) -> list[float]:
    out: list[float] = []
    days = math.nan
    for value in c:
        days += 1.0
        if not math.isnan(value) and value != 0:
            days = 0.0
        out.append(math.nan if math.isnan(value) else days)
    return out


def ts_days_since(_ctx: Context, c: Series) -> Series:
    """Days since the condition held, 0 today; an unknown condition gives NaN that day."""
    return each_column(_days_since, c)


def _last_diff(x: Values) -> list[float]:
    out: list[float] = []
    for t, value in enumerate(x):
        others = [past for past in x[:t] if not math.isnan(past) and past != value]
        out.append(others[-1] if others and not math.isnan(value) else math.nan)
    return out


def last_diff(_ctx: Context, x: Series) -> Series:
    """The latest earlier value that differs from today's."""
    return each_column(_last_diff, x)


def _days_from_change(x: Values) -> list[float]:
    out: list[float] = []
    last, days = math.nan, math.nan
    for value in x:
        days += 1.0
        if not math.isnan(value):
            if not math.isnan(last) and value != last:
                days = 0.0
            last = value
        out.append(math.nan if math.isnan(value) else days)
    return out


def days_from_change(_ctx: Context, x: Series) -> Series:
    """Days since x last changed, 0 on the day of the change; NaN before the first one."""
    return each_column(_days_from_change, x)


def ts_backfill(_ctx: Context, x: Series, d: int) -> Series:
    """The latest valid value of the last `d` rows."""

    def latest(values: Values) -> list[float]:
        out: list[float] = []
        for t in range(len(values)):
            valid = [value for value in values[max(0, t - d + 1) : t + 1] if not math.isnan(value)]
            out.append(valid[-1] if valid else math.nan)
        return out

    return each_column(latest, x)


RECURSIVE: dict[str, Callable[..., Series]] = {
    "days_from_change": days_from_change,
    "ema": ema,
    "hump": hump,
    "last_diff": last_diff,
    "sma_cn": sma_cn,
    "trade_when": trade_when,
    "ts_backfill": ts_backfill,
    "ts_days_since": ts_days_since,
}
