"""What many trials do to the evidence of one."""

from __future__ import annotations

from scipy.special import ndtri

from alphaswarm.core import EvidenceInvalid

__all__ = ["MIN_HURDLE", "hurdle"]

# Harvey, Liu and Zhu (2016): after decades of published factors, a new one needs t of 3 or more.
MIN_HURDLE = 3.0

FALSE_POSITIVES = 0.05


def hurdle(n_trials: int) -> float:
    """c(N): the least ``|t|`` that counts as evidence for one of N trials.

    ``max(3, quantile(1 - 0.025 / N))`` of the normal distribution: 5 % two-sided over all trials
    (Bonferroni), never below 3. N is every distinct trial ever made on the panel. c(60) = 3.34,
    c(300) = 3.76, c(1000) = 4.06.

    Raises:
        EvidenceInvalid: fewer than one trial.
    """
    if n_trials < 1:
        raise EvidenceInvalid(f"a hurdle needs at least 1 trial, got {n_trials}")
    return max(MIN_HURDLE, -float(ndtri(0.5 * FALSE_POSITIVES / n_trials)))
