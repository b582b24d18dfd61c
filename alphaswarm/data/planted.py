"""An alpha planted in a synthetic market: the return after the fill follows a ranked expression."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import rankdata

from alphaswarm.core import DataInvalid, EvidenceInvalid, Panel
from alphaswarm.data.market import Market
from alphaswarm.dsl import Expr, evaluate, parse

__all__ = ["plant"]

Array = NDArray[np.float64]

# Decide at the close of t, fill at the close of t+1: the return that follows ends in row t+2.
FILL_ROWS = 2
SMALLEST_CROSS_SECTION = 30
RANK_DECIMALS = 12  # equal sums that differ in the last bit are ties
LARGEST_IC = 0.3
STRENGTH_TOLERANCE = 1e-4
MOST_STRENGTH = 1000.0
MAX_ROUNDS = 60


def plant(market: Market, *, expression: str, ic: float, dies: str | None) -> Panel:
    """The panel of `market` with the alpha in it; see `synthetic_market` for what that means.

    The expression may read the returns that it moves, so values and returns are found together:
    evaluate, add the effect, evaluate again, until no rank changes. The language is causal and the
    effect comes two rows later, so each round makes at least two more rows final, and what
    settles is what a day-by-day simulation would have given.

    Raises:
        DataInvalid: `ic` or `dies` outside its range.
        ExpressionError: `expression` is not valid.
        EvidenceInvalid: nothing to rank, the IC can't be reached, or the rounds don't settle.
    """
    if not 0 < abs(ic) <= LARGEST_IC:
        raise DataInvalid(f"a planted ic must lie within -{LARGEST_IC}..{LARGEST_IC} and not be 0, got {ic}")
    tree = parse(expression)
    planted = {"expression": str(tree), "ic": ic, "dies": dies, "label": "close[t+2] / close[t+1] - 1"}
    market = replace(market, meta=market.meta | {"planted": planted})
    dead = _dead(market, dies)
    # A day's effect goes with that day's dispersion, so that the IC is about the same every day.
    deviations = np.abs(market.returns - np.median(market.returns, axis=1, keepdims=True))
    dispersion = np.median(deviations, axis=1, keepdims=True)

    scores = _scores(tree, market.panel(), dead)
    strength = _strength(scores, market.returns, dispersion, ic)
    for _ in range(MAX_ROUNDS):
        effect = np.zeros_like(market.returns)
        effect[FILL_ROWS:] = strength * dispersion[FILL_ROWS:] * np.nan_to_num(scores[:-FILL_ROWS])
        panel = market.panel(effect)
        before, scores = scores, _scores(tree, panel, dead)
        if np.array_equal(before, scores, equal_nan=True):
            return panel
    raise EvidenceInvalid(f"the ranks of {expression!r} must settle within {MAX_ROUNDS} rounds; plant a smaller ic")


def _dead(market: Market, dies: str | None) -> NDArray[np.bool_]:
    """Rows [T] whose decisions earn nothing."""
    if dies is None:
        return np.zeros(market.dates.size, np.bool_)
    try:
        day = np.datetime64(dies, "ns")
    except ValueError:
        raise DataInvalid(f"dies must be a date such as 2013-01-02, got {dies!r}") from None
    if not market.dates[0] < day <= market.dates[-1]:
        first, last = (str(date.astype("datetime64[D]")) for date in market.dates[[0, -1]])
        raise DataInvalid(f"dies must lie after {first} and not after {last}, got {dies}")
    return market.dates >= day


def _scores(tree: Expr, panel: Panel, dead: NDArray[np.bool_]) -> Array:
    """Each day's average ranks [T, N] with mean 0 and variance 1; NaN where the expression has none."""
    values = np.round(evaluate(tree, panel), RANK_DECIMALS)
    values[dead] = np.nan
    known = np.isfinite(values)
    ranks = np.where(known, rankdata(np.where(known, values, np.inf), axis=1), np.nan)
    count = known.sum(axis=1, keepdims=True)
    centred = ranks - np.nansum(ranks, axis=1, keepdims=True) / np.maximum(count, 1)
    spread = np.sqrt(np.nansum(centred**2, axis=1, keepdims=True) / np.maximum(count, 1))
    usable = (count >= SMALLEST_CROSS_SECTION) & (spread > 0)
    return np.where(usable, centred / np.where(spread > 0, spread, 1.0), np.nan)


def _strength(scores: Array, returns: Array, dispersion: Array, ic: float) -> float:
    """The effect per unit of score and dispersion that lifts the mean rank IC by `ic`."""
    scores, base, unit = scores[:-FILL_ROWS], returns[FILL_ROWS:], dispersion[FILL_ROWS:]
    rows = np.isfinite(scores).any(axis=1)
    if not rows.any():
        raise EvidenceInvalid("a planted expression must rank 30 names on at least one live day; it has no such day")
    scores, base = scores[rows], base[rows]
    push = unit[rows] * np.nan_to_num(scores)
    wanted = _mean_rank_ic(scores, base) + ic

    def excess(strength: float) -> float:
        """Monotone: a stronger push never reorders a pair of names against their scores."""
        return math.copysign(1.0, ic) * (_mean_rank_ic(scores, base + math.copysign(strength, ic) * push) - wanted)

    most = abs(ic)
    while excess(most) < 0:
        most *= 2
        if most > MOST_STRENGTH:
            raise EvidenceInvalid(f"a planted ic of {ic} can't be reached with this expression; plant a smaller one")
    return math.copysign(brentq(excess, 0.0, most, xtol=STRENGTH_TOLERANCE * most), ic)


def _mean_rank_ic(scores: Array, labels: Array) -> float:
    known = np.isfinite(scores)
    ranks = rankdata(np.where(known, labels, np.inf), axis=1)
    count = known.sum(axis=1)
    # ranks of distinct labels are 1..n: their variance is (n^2 - 1) / 12
    covariance = np.nansum(scores * ranks, axis=1) / count
    return float(np.mean(covariance / np.sqrt((count**2 - 1) / 12)))
