"""Several factors together: which of them differ, what each adds, and how to combine them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest import RankedRows, rank_rows
from alphaswarm.backtest.ranking import MIN_NAMES
from alphaswarm.core import EvidenceInvalid, UnknownName
from alphaswarm.evaluation.gates import DISTINCT, MAX_FINALISTS
from alphaswarm.evaluation.ic import information_ratio, rank_correlation

__all__ = [
    "Decorrelation",
    "blend",
    "combine",
    "decorrelate",
    "marginal_contributions",
    "result_correlation",
    "value_correlation",
]

Array = NDArray[np.float64]
Method = Literal["ridge", "icir"]

# Estimated from some 1,500 days, covariances of a handful of factors are known to a few percent; a tenth of the
# mean variance keeps two near twins from being held against each other.
RIDGE = 0.1
# Below this share of the weights behind them, the names of a row are not ranked by the same thing.
MIN_WEIGHT = 0.5


@dataclass(frozen=True)
class Decorrelation:
    """Which candidates stay. `rivals` says of each one left out which stayed instead, and the correlation.

    Attributes:
        kept: places of those that stay, the strongest first.
        rivals: place of one that is left out to the place of the stronger one it moves with and the absolute
            correlation; None where only the number of places was spent.
    """

    kept: tuple[int, ...]
    rivals: Mapping[int, tuple[int, float] | None]


def decorrelate(
    results: Sequence[ArrayLike], strength: Sequence[float], *, limit: float = DISTINCT, most: int = MAX_FINALISTS
) -> Decorrelation:
    """Go through candidates from the strongest on and keep those unlike all kept before.

    Args:
        results: daily results [D] of each, risk-neutral ones where there are any.
        strength: |t| of each; equals stand in the order given.
        limit: absolute correlation from which two are one bet.
        most: places there are.
    """
    order = sorted(range(len(results)), key=lambda place: (-strength[place], place))
    kept: list[int] = []
    rivals: dict[int, tuple[int, float] | None] = {}
    for place in order:
        alike = [(abs(result_correlation(results[place], results[other])), other) for other in kept]
        closest = max(alike, key=lambda pair: pair[0], default=(0.0, -1))
        if closest[0] >= limit:
            rivals[place] = (closest[1], closest[0])
        elif len(kept) >= most:
            rivals[place] = None
        else:
            kept.append(place)
    return Decorrelation(tuple(kept), rivals)


def result_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Pearson correlation of two daily series over the days where both are finite; 0 where undefined."""
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if left.shape != right.shape:
        raise EvidenceInvalid(f"results must share their days, got {left.shape} and {right.shape}")
    both = np.isfinite(left) & np.isfinite(right)
    left, right = left[both], right[both]
    if left.size < 2:
        return 0.0
    left, right = left - left.mean(), right - right.mean()
    size = float(np.sqrt((left @ left) * (right @ right)))
    return float(np.clip(left @ right / size, -1.0, 1.0)) if size > 0.0 else 0.0


def value_correlation(a: RankedRows, b: RankedRows) -> float | None:
    """Mean rank correlation of two factors by row, over the rows where it is defined."""
    found = rank_correlation(a, b)
    found = found[np.isfinite(found)]
    return float(found.mean()) if found.size else None


def combine(evidence: ArrayLike, method: Method = "ridge", *, ridge: float = RIDGE) -> Array:
    """Weights of factors in their combination, 0 or more, summing to 1.

    A combination of standardised ranks has, to first order, the same combination of daily evidence.
    "ridge" therefore takes ``(cov(E) + ridge * mean variance * I)^-1 mean(E)``, the most mean for its
    variance; "icir" takes ``mean / std`` of each alone. A factor that would be held against its own
    sign gets 0: its sign was chosen, and judged, before.

    Args:
        evidence: [S, D] daily evidence of each factor turned to its sign, NaN where missing.
        method: "ridge" or "icir".
        ridge: how much of the mean variance is added to each.

    Raises:
        EvidenceInvalid: another shape, or fewer than two days that all factors share.
        UnknownName: no such method.
    """
    if method not in ("ridge", "icir"):
        raise UnknownName.of("method of combining", method, ("ridge", "icir"))
    series = _common(evidence)
    mean = series.mean(axis=1)
    covariance = np.atleast_2d(np.cov(series))
    variance = np.diag(covariance)
    if method == "ridge":
        penalty = max(ridge * float(variance.mean()), np.finfo(np.float64).tiny)
        weights = np.linalg.solve(covariance + penalty * np.eye(mean.size), mean)
    else:
        weights = mean / np.sqrt(np.maximum(variance, np.finfo(np.float64).tiny))
    weights = np.maximum(weights, 0.0)
    total = float(weights.sum())
    return weights / total if total > 0.0 else np.full(mean.size, 1.0 / mean.size)


def marginal_contributions(evidence: ArrayLike, method: Method = "ridge") -> list[float]:
    """What each factor adds: ICIR of the combination with it, less that of the best one without it.

    Arguments and errors as in `combine`. A lone factor adds its own ICIR.
    """
    series = _common(evidence)
    whole = _ratio(series, method)
    rest = [np.delete(series, place, axis=0) for place in range(series.shape[0])]
    return [whole - (_ratio(others, method) if others.size else 0.0) for others in rest]


def blend(factors: Sequence[ArrayLike], signs: Sequence[int], weights: ArrayLike) -> Array:
    """One factor [T, N] of several: the weighted mean of their centred ranks, each turned to its sign.

    Per row, over the factors that have a value for a name. A name backed by less than half of the weight is NaN.

    Raises:
        EvidenceInvalid: nothing to combine, or numbers of factors, signs and weights that differ.
    """
    shares = np.asarray(weights, np.float64)
    if not factors or not len(factors) == len(signs) == shares.size:
        raise EvidenceInvalid(
            f"a combination needs as many signs and weights as factors, got {len(factors)} factors, "
            f"{len(signs)} signs and {shares.size} weights"
        )
    total = np.zeros(np.shape(factors[0]))
    backing = np.zeros_like(total)
    for factor, sign, share in zip(factors, signs, shares.tolist(), strict=True):
        ranked = rank_rows(factor)
        count = np.where(ranked.count >= MIN_NAMES, ranked.count, 0)[:, None]
        unit = (ranked.ranks - 0.5 * (count + 1.0)) / np.where(count > 0, count, np.nan)
        known = np.isfinite(unit)
        total += np.where(known, sign * share * unit, 0.0)
        backing += np.where(known, share, 0.0)
    out = np.full_like(total, np.nan)
    np.divide(total, backing, out=out, where=backing >= MIN_WEIGHT * float(shares.sum()))
    return out


def _common(evidence: ArrayLike) -> Array:
    series = np.atleast_2d(np.asarray(evidence, np.float64))
    if series.ndim != 2:
        raise EvidenceInvalid(f"evidence must have the shape [S, D], got {series.shape}")
    shared = series[:, np.isfinite(series).all(axis=0)]
    if shared.shape[1] < 2:
        raise EvidenceInvalid("factors must share at least two days of evidence to be combined")
    return shared


def _ratio(series: Array, method: Method) -> float:
    return information_ratio(combine(series, method) @ series) or 0.0
