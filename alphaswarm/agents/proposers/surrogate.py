"""What the tried formulas say about the untried: where to look next, and how good it should be there.

A day's evidence is the scalar product of a formula's ranks with what the day brought. So evidence is, but for what a
real market has of its own, linear in behaviours, and a Gaussian process whose covariance is the correlation of two
behaviours guesses it (Rasmussen and Williams 2006, chapter 2). Signs don't matter: a formula that is sure to lose is
as good as one that is sure to win. Where to look when nothing is known is a question of cover: each formula
answers for those that it is like.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.special import ndtri

from alphaswarm.dsl.behaviour import WIDTH

__all__ = ["Map", "choose", "promising"]

Array = NDArray[np.float64]
Behaviours = NDArray[np.float32]

# Variance of evidence that behaviours don't explain, as a share of what they do: the drawn market is not the real one.
UNEXPLAINED = 0.05
# Standard deviations that a doubtful formula is believed to be better than its guess.
OPTIMISM = 1.0
# Places of a batch, first to last, that look where nothing like it was tried once something is promising, shows
# evidence that is. Until then all of them do: who climbs before that climbs noise, and climbs it well.
LOOKING = 2
# Promising is the |z| that the best of so many blind trials reaches by chance in one search of twenty, and never less.
PROMISING_T, CHANCE = 3.5, 0.05
# Formulas this close to one that was tried, or just chosen, are the same idea again.
SAME_IDEA = 0.97
# Scores are compared to so many decimals, so that a last bit that differs between processors decides nothing.
DECIMALS = 6
ROWS = 32


@dataclass(frozen=True, eq=False)
class Map:
    """Formulas that may be tried to look round, and what they answer for.

    Attributes:
        behaviours: [m, D], of length 1 each.
        ideas: [k, D], formulas as they might be true.
        likeness: [m, k], squared correlations of the two.
    """

    behaviours: Behaviours
    ideas: Behaviours
    likeness: NDArray[np.float32]

    @classmethod
    def empty(cls) -> Map:
        """Nothing to look round on."""
        return cls.of(np.zeros((0, WIDTH), np.float32), np.zeros((0, WIDTH), np.float32))

    @classmethod
    def of(cls, behaviours: Behaviours, others: Behaviours) -> Map:
        """A map whose ideas are its own formulas and `others`."""
        ideas = np.vstack([behaviours, others])
        return cls(behaviours, ideas, np.square(behaviours @ ideas.T))


def promising(trials: int) -> float:
    """The |z| that the best of `trials` formulas without merit seldom reaches: 3.5 for 100, 3.76 for 300."""
    return max(PROMISING_T, -float(ndtri(0.5 * CHANCE / max(trials, 1))))


def choose(
    known: Map,
    bred: Behaviours,
    cost: Array,
    tried: Behaviours,
    evidence: Array,
    count: int,
    *,
    look: bool = True,
) -> list[int]:
    """At most `count` formulas worth a trial, none of them near another or a tried one.

    Args:
        known: the map, m formulas.
        bred: behaviours [b, D] of what may be tried besides, of length 1 each, or 0 where nothing is known.
        cost: [m + b], in t-values: what a formula must bring more than others; infinite for what is not on offer.
        tried: behaviours [n, D].
        evidence: their t-values [n].
        count: how many are wanted.
        look: whether the first places are for looking round; else all are for what is guessed to be good.

    Returns:
        Places 0 to m - 1 in the map, m and more in `bred`.
    """
    offered = np.vstack([known.behaviours, bred])
    mapped = len(known.behaviours)
    model = _Model(tried, evidence, offered)
    covered = np.square(tried @ known.ideas.T).max(axis=0, initial=0.0)
    closest = np.abs(model.nearness).max(axis=1, initial=0.0)
    closest[~(offered.any(axis=1) & np.isfinite(cost))] = 1.0
    looking = LOOKING if np.abs(evidence).max(initial=0.0) >= promising(len(evidence)) else count
    looking *= look
    chosen: list[int] = []
    for place in range(count):
        score = np.full(len(offered), -np.inf)
        if place < looking:
            score[:mapped] = _gain(known.likeness, covered)
        else:
            spread = model.scale * np.sqrt(np.maximum(model.doubt, 0.0))
            score = np.abs(model.guess) + OPTIMISM * spread - cost
        score = np.where(closest < SAME_IDEA, np.round(score, DECIMALS), -np.inf)
        if not score.size or score.max() == -np.inf:
            continue
        best = int(score.argmax())
        chosen.append(best)
        covered = np.maximum(covered, np.square(known.ideas @ offered[best]))
        closest = np.maximum(closest, np.abs(model.foresee(best)))
    return chosen


def _gain(likeness: NDArray[np.float32], covered: Array) -> NDArray[np.float32]:
    """What each formula of the map answers for beyond what is covered; some rows at a time, which stay in the cache."""
    gain = np.empty(len(likeness), np.float32)
    for start in range(0, len(likeness), ROWS):
        here = slice(start, start + ROWS)
        gain[here] = np.maximum(likeness[here] - covered, 0.0).sum(axis=1)
    return gain


class _Model:
    """The Gaussian process of the evidence of `offered` [m, D], after that of `tried` is known.

    Attributes:
        scale: what the evidence of a formula is expected to be, in t-values.
        nearness: correlations with the tried [m, n].
        guess: expected evidence [m], in t-values.
        doubt: variance that is left [m], in units of scale squared.
    """

    def __init__(self, tried: Behaviours, evidence: Array, offered: Behaviours) -> None:
        self._offered = offered
        self.scale = max(1.0, float(np.sqrt(np.mean(evidence**2)))) if evidence.size else 1.0
        self.nearness = np.asarray(offered @ tried.T, np.float64)
        known = np.asarray(tried @ tried.T, np.float64) + UNEXPLAINED * np.eye(len(tried))
        lower = cholesky(known, lower=True)
        self._whitened: Array = solve_triangular(lower, self.nearness.T, lower=True)
        self.guess = self._whitened.T @ solve_triangular(lower, evidence, lower=True)
        self.doubt = 1.0 - (self._whitened**2).sum(axis=0)

    def foresee(self, place: int) -> Array:
        """Take away the doubt that a trial of this formula will take; its correlations with the offered [m]."""
        nearness = np.asarray(self._offered @ self._offered[place], np.float64)
        left = nearness - self._whitened.T @ self._whitened[:, place]
        self._whitened = np.vstack([self._whitened, left / np.sqrt(max(self.doubt[place], 0.0) + UNEXPLAINED)])
        self.doubt = self.doubt - self._whitened[-1] ** 2
        return nearness
