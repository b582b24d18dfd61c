"""The panel of the benchmarks: a random walk of 2500 days and 1000 stocks whose values are exact in float32."""

from __future__ import annotations

import numpy as np

from alphaswarm.core import Panel

ROWS, NAMES = 2500, 1000


def arrays(rows: int = ROWS, names: int = NAMES, seed: int = 0) -> dict[str, np.ndarray]:
    """Fields by name, float32 [rows, names]."""
    rng = np.random.default_rng(seed)
    close = 50.0 * np.exp(np.cumsum(0.015 * rng.standard_normal((rows, names)), axis=0))
    open_ = close * np.exp(0.006 * rng.standard_normal((rows, names)))
    high = np.maximum(open_, close) * (1.0 + 0.004 * rng.random((rows, names)))
    low = np.minimum(open_, close) * (1.0 - 0.004 * rng.random((rows, names)))
    volume = np.exp(13.0 + 0.6 * rng.standard_normal((rows, names)))
    vwap = (high + low + close) / 3.0
    fields = {"open": open_, "high": high, "low": low, "close": close, "volume": volume, "vwap": vwap}
    fields["dollar_volume"] = vwap * volume
    made = {name: values.astype(np.float32) for name, values in fields.items()}
    made["returns"] = np.full((rows, names), np.nan, np.float32)
    made["returns"][1:] = made["close"][1:].astype(np.float64) / made["close"][:-1] - 1.0
    return made


def panel_of(fields: dict[str, np.ndarray]) -> Panel:
    """The fields as a panel."""
    rows, names = next(iter(fields.values())).shape
    dates = np.datetime64("2015-01-01") + np.arange(rows)
    return Panel.from_arrays(fields, dates, [f"s{n:04d}" for n in range(names)])
