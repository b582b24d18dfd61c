"""What a count of hits says about its rate: exact binomial bounds (Clopper and Pearson 1934)."""

from __future__ import annotations

from scipy.stats import beta


def upper_bound(hits: int, trials: int, confidence: float = 0.95) -> float:
    """The rate that is too high to have given so few hits, one-sided."""
    return 1.0 if hits >= trials else float(beta.ppf(confidence, hits + 1, trials - hits))


def interval(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided."""
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else float(beta.ppf(tail, hits, trials - hits + 1))
    return low, 1.0 if hits >= trials else float(beta.ppf(1 - tail, hits + 1, trials - hits))
