"""Forward returns: what a decision made at close t would have earned."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.backtest.vector import FILLS, Fill
from alphaswarm.core import EvidenceInvalid, Panel

__all__ = ["forward_returns"]


def forward_returns(panel: Panel, horizon: int, fill: Fill = "close_t1") -> NDArray[np.float64]:
    """The return from the fill after close t to the same moment `horizon` rows later.

    - `close_t1`: ``close[t+1+h] / close[t+1] - 1``
    - `open_t1`: ``open[t+1+h] / open[t+1] - 1``

    One session between decision and fill: a factor that reads close t can't be traded at close t,
    and most of a one-day reversal measured that way is the bounce between bid and ask. The backtest
    fills at the same price on the same day. Nothing is filled forward: a label that needs or spans
    a row where the name has no positive price is NaN, as are the last h + 1 rows.

    Args:
        panel: must hold `close`, or `open` for `open_t1`.
        horizon: h, rows from fill to exit, 1 or more.
        fill: when the decision is carried out.

    Returns:
        float64 [T, N].

    Raises:
        EvidenceInvalid: a horizon below 1 or an unknown fill.
        FieldNotFound: the panel lacks the price.
    """
    if horizon < 1:
        raise EvidenceInvalid(f"a horizon must be at least 1 row, got {horizon}")
    if fill not in FILLS:
        raise EvidenceInvalid(f"fill must be one of {', '.join(FILLS)}, got {fill!r}")
    prices = panel["close" if fill == "close_t1" else "open"]
    good = prices > 0
    labels = np.full(prices.shape, np.nan)
    rows = prices.shape[0] - horizon - 1
    if rows < 1:
        return labels
    entry, leave = prices[1 : 1 + rows], prices[1 + horizon :]
    whole = good[1 : 1 + rows].copy()
    for step in range(1, horizon + 1):
        whole &= good[1 + step : 1 + step + rows]
    np.divide(leave, entry, out=labels[:rows], where=whole)
    labels[:rows] -= 1.0
    return labels
