"""The rank portfolio of a factor: what it earns and what it trades, day by day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest import RankedRows, rank_rows
from alphaswarm.backtest.ranking import MIN_NAMES
from alphaswarm.core.jit import jit, sums

__all__ = ["RankBook", "rank_book", "turnover"]


@dataclass(frozen=True, eq=False)
class RankBook:
    """Gross result and turnover of the staggered rank weights W, no drift, on gross 1.

    Attributes:
        weights: [D, N], W.
        traded: [D, N], ``abs(W_d - W_{d-1})``; the first day's against what was held before.
        gross: [D], ``sum(W_d * earned_d)``; a missing return counts as 0.
        turnover: [D], ``sum(abs(W_d - W_{d-1}))``: both sides; the first day pays its entry.
        active: bool [D], whether the book holds or trades that day.
        missing: int64 [D], returns that the book needed and `earned` did not have.
    """

    weights: NDArray[np.float64]
    traded: NDArray[np.float64]
    gross: NDArray[np.float64]
    turnover: NDArray[np.float64]
    active: NDArray[np.bool_]
    missing: NDArray[np.int64]


def rank_book(ranked: RankedRows, earned: NDArray[np.float64], tranches: int) -> RankBook:
    """The book of a ranked factor on the last D rows of `ranked`.

    Args:
        ranked: the factor; rows before the last D only fill the first staggered rows and say
            what was held before the first day. Before its first row the book is flat.
        earned: [D, N], the return after the fill of each decision.
        tranches: how many periods a row is held.
    """
    ahead = ranked.count.size - earned.shape[0]
    held, traded, known = (np.empty(earned.shape) for _ in range(3))
    missing = np.empty(earned.shape[0], np.int64)
    _staggered(ranked.ranks, ranked.count, earned, tranches, ahead, MIN_NAMES, held, traded, known, missing)
    turned = traded.sum(axis=1)
    gross = np.einsum("ti,ti->t", held, known)
    return RankBook(held, traded, gross, turned, (turned > 0.0) | held.any(axis=1), missing)


def turnover(factor: ArrayLike, tranches: int = 1) -> float | None:
    """What the rank portfolio of `factor` [T, N] trades per day, as a fraction of its gross.

    Mean of ``sum(abs(W_t - W_{t-1}))`` over the days after the first entry: both sides, no drift;
    `tranches` as in `stagger`. None where the factor is never ranked on a day before the last.
    """
    ranked = rank_rows(factor)
    book = rank_book(ranked, np.zeros(ranked.ranks.shape), tranches)
    traded = book.turnover[book.active][1:]
    return float(traded.mean()) if traded.size else None


@jit
def _staggered(
    ranks: NDArray[np.float64],
    count: NDArray[np.int64],
    earned: NDArray[np.float64],
    tranches: int,
    ahead: int,
    min_names: int,
    held: NDArray[np.float64],
    traded: NDArray[np.float64],
    known: NDArray[np.float64],
    missing: NDArray[np.int64],
) -> None:
    """``stagger(weights_of_ranks(.))`` row by row, to the last bit, and what becomes of it on the last D rows."""
    days, names = ranks.shape
    parts = max(1, min(tranches, days))
    weights = np.zeros((parts, names))
    total = np.empty(names)
    before = np.zeros(names)
    for t in range(days):
        now = weights[t % parts]
        middle = 0.5 * (count[t] + 1.0)
        for i in range(names):
            centred = ranks[t, i] - middle
            now[i] = 0.0 if np.isnan(centred) else centred
        gross = _gross(now)
        if count[t] < min_names or gross == 0.0:
            gross = np.inf
        for i in range(names):
            now[i] /= gross
        total[:] = now
        for lag in range(1, min(parts, t + 1)):
            earlier = weights[(t - lag) % parts]
            for i in range(names):
                total[i] += earlier[i]
        for i in range(names):
            total[i] /= tranches
        d = t - ahead
        if d >= 0:
            lost = 0
            for i in range(names):
                held[d, i] = total[i]
                traded[d, i] = abs(total[i] - before[i])
                unknown = np.isnan(earned[d, i])
                known[d, i] = 0.0 if unknown else earned[d, i]
                lost += unknown and total[i] != 0.0
            missing[d] = lost
        before[:] = total


@sums
def _gross(centred: NDArray[np.float64]) -> float:
    """The sum without signs; of half numbers, and so the same in any order."""
    total = 0.0
    for i in range(centred.size):
        total += abs(centred[i])
    return total
