"""What many trials do to the evidence of one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from alphaswarm.core import EvidenceInvalid

__all__ = ["MIN_HURDLE", "bh_fdr", "confirmation_hurdle", "effective_trials", "hurdle"]

# Harvey, Liu and Zhu (2016): after decades of published factors, a new one needs t of 3 or more.
MIN_HURDLE = 3.0

FALSE_POSITIVES = 0.05

# Trials closer than this in 1 - |correlation| are variants of one.
SAME_TRIAL = 0.5
# A correlation over fewer common days says nothing.
MIN_COMMON_DAYS = 20


def hurdle(n_trials: int) -> float:
    """c(N): the least ``|z|`` that counts as evidence for one of N trials.

    ``max(3, quantile(1 - 0.025 / N))`` of the normal distribution: 5 % two-sided over all trials
    (Bonferroni), never below 3. N is every distinct trial ever made on the panel. c(60) = 3.34,
    c(300) = 3.76, c(1000) = 4.06.

    Raises:
        EvidenceInvalid: fewer than one trial.
    """
    if n_trials < 1:
        raise EvidenceInvalid(f"a hurdle needs at least 1 trial, got {n_trials}")
    return max(MIN_HURDLE, -float(ndtri(0.5 * FALSE_POSITIVES / n_trials)))


def confirmation_hurdle(n_finalists: int) -> float:
    """The least z, in the direction found on search, that confirms one of K finalists on fresh rows.

    ``quantile(1 - 0.05 / K)`` of the normal distribution, K counting every finalist ever sent to those rows:
    1.645 for one, 2.33 for five. That is 5 % one-sided over K that are sent together (Bonferroni). Sent one
    after another, each against the K of its day, their errors add up like ``0.05 (1 + 1/2 + ... + 1/K)``: the
    chance of a false confirmation among 20 sent one by one is 17 %.

    Raises:
        EvidenceInvalid: fewer than one finalist.
    """
    if n_finalists < 1:
        raise EvidenceInvalid(f"a confirmation needs at least 1 finalist, got {n_finalists}")
    return -float(ndtri(FALSE_POSITIVES / n_finalists))


def bh_fdr(p: ArrayLike, q: float = 0.05) -> NDArray[np.bool_]:
    """Which of many tests to reject so that at most a share `q` of those is false in expectation.

    The step-up procedure of Benjamini and Hochberg (1995): with p sorted, all up to the largest i
    where ``p_i <= q i / n``.

    Args:
        p: p-values [n], each between 0 and 1.
        q: the share of false discoveries, above 0 and at most 1.

    Returns:
        bool [n].

    Raises:
        EvidenceInvalid: another shape, or values outside their range (NaN included).
    """
    values = np.asarray(p, np.float64)
    if values.ndim != 1:
        raise EvidenceInvalid(f"p-values must be a list [n], got shape {values.shape}")
    if not ((values >= 0.0) & (values <= 1.0)).all():
        raise EvidenceInvalid("p-values must lie between 0 and 1; drop tests that were not made, or count them as 1")
    if not 0.0 < q <= 1.0:
        raise EvidenceInvalid(f"q must be above 0 and at most 1, got {q}")
    n = values.size
    order = np.argsort(values, kind="stable")
    within = np.flatnonzero(values[order] <= q * np.arange(1, n + 1) / n)
    rejected = np.zeros(n, np.bool_)
    if within.size:
        rejected[order[: within[-1] + 1]] = True
    return rejected


def effective_trials(returns: ArrayLike) -> int:
    """How many different things were tried: clusters of trials whose returns move together.

    Average-linkage clusters of the distance ``1 - |correlation|``, cut at 0.5. A correlation is taken
    over the days where both trials have a finite return; one that is undefined (fewer than 20 such days, a
    constant series) counts as 0. For show only: a search that climbs makes its trials alike, so the
    number is too small to judge its best one by. Gate on the number of all trials.

    Args:
        returns: [T, S], one column a trial; memory grows with S squared.

    Raises:
        EvidenceInvalid: another shape, or no trial.
    """
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to load, and few callers need it
    from scipy.spatial.distance import squareform

    values = np.asarray(returns, np.float64)
    if values.ndim != 2 or values.shape[1] < 1:
        raise EvidenceInvalid(f"returns must have the shape [T, S] with at least one trial, got {values.shape}")
    if values.shape[1] == 1:
        return 1
    distance = np.clip(1.0 - np.abs(_correlations(values)), 0.0, 1.0)
    np.fill_diagonal(distance, 0.0)
    return int(fcluster(linkage(squareform(distance, checks=False), "average"), SAME_TRIAL, "distance").max())


def _correlations(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pearson correlation of each pair of columns over their common finite rows [S, S], 0 where undefined."""
    finite = np.isfinite(values)
    held = finite.astype(np.float64)
    # in units of their own deviation about their own mean, so that the sums of pairs lose nothing
    count = np.maximum(held.sum(axis=0), 1.0)
    centred = np.where(finite, values, 0.0)
    size = np.abs(centred).max(axis=0, initial=0.0)
    centred -= np.where(finite, centred.sum(axis=0) / count, 0.0)
    spread = np.sqrt((centred**2).sum(axis=0) / count)
    varies = spread > 1e-14 * size
    unit = np.where(varies, centred / np.where(varies, spread, 1.0), 0.0)
    days = held.T @ held
    per_day = 1.0 / np.maximum(days, 1.0)
    sums = unit.T @ held  # [i, j]: sum of i over the days of both
    squares = (unit**2).T @ held
    together = unit.T @ unit - sums * sums.T * per_day
    alone = np.maximum(squares - sums**2 * per_day, 0.0)
    scale = np.sqrt(alone * alone.T)
    known = (days >= MIN_COMMON_DAYS) & (np.minimum(alone, alone.T) > 1e-12 * days)
    out = np.zeros_like(scale)
    np.divide(together, scale, out=out, where=known)
    return np.asarray(np.clip(out, -1.0, 1.0))
