"""What costs need to know of the names on the day of a trade, from data that were known when it was decided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Panel
from alphaswarm.core.jit import jit

__all__ = [
    "VOLATILITY_ROWS",
    "VOLUME_ROWS",
    "dollar_volume",
    "last_known",
    "tradable",
    "trailing_mean",
    "trailing_volatility",
]

# Rows behind the volume and the volatility that an order of the next session is measured by.
VOLUME_ROWS = 20
VOLATILITY_ROWS = 60

Array = NDArray[np.float64]


def dollar_volume(panel: Panel) -> Array | None:
    """Value traded [T, N] by row; None where the panel can't say."""
    if "dollar_volume" in panel.fields:
        return panel["dollar_volume"]
    if "close" in panel.fields and "volume" in panel.fields:
        return panel["close"] * panel["volume"]
    return None


def last_known(prices: Array) -> Array:
    """The last price up to each row [T, N]; NaN before the first."""
    rows = np.where(prices > 0.0, np.arange(prices.shape[0])[:, None], 0)
    known: Array = np.take_along_axis(prices, np.maximum.accumulate(rows, axis=0), axis=0)
    return np.where(known > 0.0, known, np.nan)


def tradable(panel: Panel, prices: Array) -> NDArray[np.bool_]:
    """Where [T, N] a name can be traded at `prices` [T, N]: there is one, and the day's volume is not 0.

    A volume that is missing halts nothing.
    """
    priced = prices > 0.0
    volume = panel.fields.get("volume", panel.fields.get("dollar_volume"))
    return priced if volume is None else priced & (volume != 0.0)


@jit
def trailing_mean(values: Array, rows: int) -> Array:
    """Mean of the values above 0 of the last `rows` rows [T, N]; NaN with fewer than half of them."""
    days, names = values.shape
    out = np.full((days, names), np.nan)
    total = np.empty(names)
    count = np.empty(names)
    for t in range(days):
        total[:] = 0.0
        count[:] = 0.0
        for s in range(max(0, t - rows + 1), t + 1):  # no running sum: large days must leave no rounding behind
            for i in range(names):
                good = values[s, i] > 0.0
                total[i] += values[s, i] if good else 0.0
                count[i] += 1.0 if good else 0.0
        for i in range(names):
            if 2.0 * count[i] >= rows:
                out[t, i] = total[i] / count[i]
    return out


def trailing_volatility(returns: Array, rows: int = VOLATILITY_ROWS) -> Array:
    """Standard deviation (ddof 1) of the finite `returns` of the last `rows` rows [T, N]; NaN with fewer than half."""
    mean = _finite_mean(returns, rows)
    total = np.zeros(returns.shape)
    count = np.zeros(returns.shape, np.int64)
    for lag in range(min(rows, returns.shape[0])):  # two passes: no difference of large sums
        part = returns[: returns.shape[0] - lag] - mean[lag:]
        good = np.isfinite(part)
        total[lag:] += np.where(good, part, 0.0) ** 2
        count[lag:] += good
    enough = (2 * count >= rows) & (count > 1)
    variance: Array = np.divide(total, count - 1, out=np.full(returns.shape, np.nan), where=enough)
    return np.sqrt(variance)


def _finite_mean(values: Array, rows: int) -> Array:
    total = np.zeros(values.shape)
    count = np.zeros(values.shape, np.int64)
    for lag in range(min(rows, values.shape[0])):  # no running sum: a large day must not leave rounding behind
        part = values[: values.shape[0] - lag]
        good = np.isfinite(part)
        total[lag:] += np.where(good, part, 0.0)
        count[lag:] += good
    mean: Array = np.divide(total, count, out=np.full(values.shape, np.nan), where=2 * count >= rows)
    return mean
