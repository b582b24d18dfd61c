"""The rank portfolio of a factor: what it earns and what it trades, day by day."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest import RankedRows, rank_rows, stagger
from alphaswarm.backtest.weights import weights_of_ranks

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
    book = stagger(weights_of_ranks(ranked), tranches)
    ahead = book.shape[0] - earned.shape[0]
    traded = book[ahead:].copy()
    traded[max(0, 1 - ahead) :] -= book[max(0, ahead - 1) : -1]
    np.abs(traded, out=traded)
    turned = traded.sum(axis=1)
    held = book[ahead:]
    unknown = np.isnan(earned)
    gross = np.einsum("ti,ti->t", held, np.where(unknown, 0.0, earned))
    missing = ((held != 0.0) & unknown).sum(axis=1)
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
