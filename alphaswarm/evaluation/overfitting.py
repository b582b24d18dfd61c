"""The probability that the best of many backtests is the one that fits the noise best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core import EvidenceInvalid

__all__ = ["Overfitting", "pbo"]

SPLITS = 16
# 184,756 combinations; two blocks more are four times as many.
MAX_SPLITS = 20
# Sharpe ratios held at a time, by combination and strategy: 16 MB.
CHUNK_CELLS = 2_000_000


@dataclass(frozen=True, eq=False)
class Overfitting(float):
    """What choosing the best of S strategies by its past is worth; as a number, `probability`.

    Attributes:
        probability: share of the combinations in which the strategy with the best Sharpe ratio in
            one half of the time lies at or below the median of all in the other half. One half for noise.
        slope: of the chosen strategy's Sharpe ratio in the other half on that in its own (ordinary
            least squares over the combinations); None where that does not vary. Below 0, a
            better past meant a worse future.
        loss_probability: share of the combinations in which the chosen strategy loses in the other half.
        n_combinations: how many ways there were to cut the time in halves.
    """

    probability: float
    slope: float | None
    loss_probability: float
    n_combinations: int

    def __new__(cls, probability: float, *_: object, **__: object) -> Self:
        """The number is the first field."""
        return super().__new__(cls, probability)


def pbo(returns: ArrayLike, n_splits: int = SPLITS) -> Overfitting:
    """Combinatorially symmetric cross-validation (Bailey, Borwein, Lopez de Prado and Zhu 2017).

    Time is cut into `n_splits` blocks of equal length; each choice of half of the blocks, in their
    order, is once the past in which the best strategy is chosen, the rest the future in which its
    rank among all is taken. It is a figure about the pool and its search: it neither accepts nor
    rejects a strategy. Over one matrix of noise it scatters widely about 0.5 (standard
    deviation 0.17 for 100 strategies and 1,000 days). Strategies turned so that their whole past is
    positive look overfitted by that alone: keep their signs as they were, or enter both.

    Args:
        returns: [T, S], one column a strategy. Rows with a missing value are left out, then the
            earliest rows that fill no block.
        n_splits: an even number from 2 to 20.

    Returns:
        An `Overfitting`. A strategy without any variation in a half has a Sharpe ratio of 0 there.

    Raises:
        EvidenceInvalid: another shape, fewer than two strategies or than two rows a block, or
            another number of splits.
    """
    if n_splits % 2 or not 2 <= n_splits <= MAX_SPLITS:
        raise EvidenceInvalid(f"the number of splits must be even and between 2 and {MAX_SPLITS}, got {n_splits}")
    values = np.asarray(returns, np.float64)
    if values.ndim != 2 or values.shape[1] < 2:
        raise EvidenceInvalid(f"returns must have the shape [T, S] with at least 2 strategies, got {values.shape}")
    values = values[np.isfinite(values).all(axis=1)]
    length = values.shape[0] // n_splits
    if length < 2:
        raise EvidenceInvalid(
            f"{n_splits} splits need at least {2 * n_splits} rows without a missing value, got {values.shape[0]}"
        )
    inside, outside, rank = _choices(values[values.shape[0] - length * n_splits :], n_splits)
    return Overfitting(
        probability=float((rank <= 0.5).mean()),
        slope=_slope(inside, outside),
        loss_probability=float((outside < 0.0).mean()),
        n_combinations=rank.size,
    )


def _choices(
    values: NDArray[np.float64], n_splits: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """By combination: Sharpe ratio of the best inside, its ratio outside, its relative rank there."""
    halves = np.array(list(combinations(range(n_splits), n_splits // 2)))
    # The lexicographic list is its own complement backwards: the first half of it says everything.
    halves = halves[: len(halves) // 2]
    sums = _Sums.of(values, n_splits)
    parts = []
    step = max(1, CHUNK_CELLS // values.shape[1])
    for begin in range(0, len(halves), step):
        rows = halves[begin : begin + step]
        chosen = np.zeros((len(rows), n_splits))
        np.put_along_axis(chosen, rows, 1.0, axis=1)
        one, other = sums.sharpe(chosen), sums.sharpe(1.0 - chosen)
        parts += [_best(one, other), _best(other, one)]
    inside, outside, rank = np.concatenate(parts, axis=1)
    return inside, outside, rank


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of each block [n_splits, S] about the strategies' means, from which any half's Sharpe ratio follows."""

    mean: NDArray[np.float64]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    size: NDArray[np.float64]
    rows: int

    @classmethod
    def of(cls, values: NDArray[np.float64], n_splits: int) -> _Sums:
        mean = values.mean(axis=0)
        blocks = (values - mean).reshape(n_splits, -1, values.shape[1])
        return cls(mean, blocks.sum(axis=1), (blocks**2).sum(axis=1), np.abs(values).max(axis=0), values.shape[0] // 2)

    def sharpe(self, chosen: NDArray[np.float64]) -> NDArray[np.float64]:
        """Per period, of the blocks marked 1 in each row of `chosen` [C, n_splits]: [C, S]."""
        away = chosen @ self.first
        away /= self.rows
        variance = chosen @ self.second
        variance -= self.rows * away**2
        variance /= self.rows - 1
        away += self.mean
        varies = variance > (1e-14 * self.size) ** 2  # else only rounding is left
        ratio = np.zeros_like(away)
        np.divide(away, np.sqrt(variance, out=variance, where=varies), out=ratio, where=varies)
        return ratio


def _best(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each row's best inside: its ratio inside, outside, and its rank outside by S + 1; [3, C]."""
    rows = np.arange(len(inside))
    place = inside.argmax(axis=1)
    there = outside[rows, place]
    below = (outside < there[:, None]).sum(axis=1)
    equal = (outside == there[:, None]).sum(axis=1)
    rank = (below + 0.5 * (equal + 1)) / (outside.shape[1] + 1)
    return np.stack([inside[rows, place], there, rank])


def _slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float | None:
    away = x - x.mean()
    spread = float(away @ away)
    if math.sqrt(spread / x.size) <= 1e-14 * float(np.abs(x).max()):
        return None
    return float(away @ (y - y.mean())) / spread
