"""How much of a Sharpe ratio is left after its error, its moments and the number of tries.

Everywhere: Sharpe ratios are per period, not annualised, variances are of such ratios, and kurtosis is
that of the fourth moment, 3 for a normal distribution. To bring an annual Sharpe ratio here divide it
by the square root of the periods in a year; divide the variance of annual ones by the periods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from alphaswarm.backtest import metrics
from alphaswarm.core import EvidenceInvalid

__all__ = [
    "SharpeMoments",
    "deflated_sharpe_ratio",
    "expected_max_sharpe",
    "minimum_backtest_length",
    "minimum_track_record_length",
    "probabilistic_sharpe_ratio",
    "sharpe_moments",
]

NORMAL_KURTOSIS = 3.0
CONFIDENCE = 0.95


@dataclass(frozen=True)
class SharpeMoments:
    """What the ratios of this module need to know of a return series.

    Attributes:
        sharpe: mean over standard deviation (ddof 1), per period.
        n_obs: finite returns.
        skew: third standardised moment.
        kurtosis: fourth standardised moment, 3 for a normal distribution.
    """

    sharpe: float
    n_obs: int
    skew: float
    kurtosis: float


def sharpe_moments(returns: ArrayLike) -> SharpeMoments | None:
    """The moments of `returns` [T], those that are not finite left out; None where they do not vary."""
    values = np.asarray(returns, np.float64)
    values = values[np.isfinite(values)]
    ratio = metrics.sharpe(values, 1.0)
    if ratio is None:
        return None
    standard = (values - values.mean()) / values.std()
    return SharpeMoments(ratio, values.size, float((standard**3).mean()), float((standard**4).mean()))


def probabilistic_sharpe_ratio(
    sharpe: float, n_obs: int, skew: float = 0.0, kurtosis: float = NORMAL_KURTOSIS, benchmark: float = 0.0
) -> float:
    """The probability that the true Sharpe ratio exceeds `benchmark` (Bailey and Lopez de Prado 2012).

    ``Phi((SR - SR*) sqrt(n - 1) / sqrt(1 - skew SR + (kurtosis - 1) / 4 SR^2))``

    Args:
        sharpe: SR, as measured.
        n_obs: returns behind it, 2 or more.
        skew: of the returns.
        kurtosis: of the returns, not the excess over 3.
        benchmark: SR*.

    Raises:
        EvidenceInvalid: fewer than two returns, a number that is not finite, or moments that no
            distribution has.
    """
    _finite(benchmark=benchmark)
    spread = math.sqrt(_estimation_variance(sharpe, n_obs, skew, kurtosis))
    return float(ndtr((sharpe - benchmark) * math.sqrt(n_obs - 1) / spread))


def expected_max_sharpe(n_trials: int, variance: float) -> float:
    """The highest Sharpe ratio to be expected of `n_trials` strategies without any skill.

    ``sqrt(V) ((1 - g) Phi^-1(1 - 1 / N) + g Phi^-1(1 - 1 / (N e)))``, g the constant of Euler and
    Mascheroni (Bailey and Lopez de Prado 2014). One trial is no choice: 0.

    Args:
        n_trials: N, independent trials.
        variance: V, of the trials' Sharpe ratios; 1 / T where they are noise of T periods.

    Raises:
        EvidenceInvalid: fewer than one trial, or a variance that is negative or not finite.
    """
    _trials(n_trials)
    if not 0.0 <= variance < math.inf:
        raise EvidenceInvalid(f"the variance of Sharpe ratios must be 0 or more and finite, got {variance}")
    if n_trials == 1:
        return 0.0
    upper, further = -float(ndtri(1.0 / n_trials)), -float(ndtri(1.0 / (n_trials * math.e)))
    return math.sqrt(variance) * ((1.0 - np.euler_gamma) * upper + np.euler_gamma * further)


def deflated_sharpe_ratio(
    sharpe: float,
    n_obs: int,
    n_trials: int,
    variance: float,
    skew: float = 0.0,
    kurtosis: float = NORMAL_KURTOSIS,
) -> float:
    """The probability that the best of `n_trials` is more than luck (Bailey and Lopez de Prado 2014).

    `probabilistic_sharpe_ratio` against `expected_max_sharpe`.

    Args:
        sharpe: of the chosen strategy.
        n_obs: returns behind it.
        n_trials: strategies it was chosen from.
        variance: of their Sharpe ratios.
        skew: of the chosen strategy's returns.
        kurtosis: of the chosen strategy's returns, not the excess over 3.

    Raises:
        EvidenceInvalid: as in the two functions.
    """
    return probabilistic_sharpe_ratio(sharpe, n_obs, skew, kurtosis, expected_max_sharpe(n_trials, variance))


def minimum_track_record_length(
    sharpe: float,
    skew: float = 0.0,
    kurtosis: float = NORMAL_KURTOSIS,
    benchmark: float = 0.0,
    confidence: float = CONFIDENCE,
) -> float | None:
    """Returns needed before `sharpe` exceeds `benchmark` at `confidence` (Bailey and Lopez de Prado 2012).

    ``1 + (1 - skew SR + (kurtosis - 1) / 4 SR^2) (Phi^-1(confidence) / (SR - SR*))^2``: the length at
    which `probabilistic_sharpe_ratio` is `confidence`.

    Returns:
        A number of periods, not rounded; None where no length is enough, the ratio not being above
        the benchmark.

    Raises:
        EvidenceInvalid: as in `probabilistic_sharpe_ratio`, or a confidence outside 0.5 to 1.
    """
    _finite(benchmark=benchmark)
    variance = _estimation_variance(sharpe, 2, skew, kurtosis)
    if not 0.5 < confidence < 1.0:
        raise EvidenceInvalid(f"confidence must lie between 0.5 and 1, got {confidence}")
    if sharpe <= benchmark:
        return None
    return 1.0 + variance * (float(ndtri(confidence)) / (sharpe - benchmark)) ** 2


def minimum_backtest_length(n_trials: int, sharpe: float) -> float:
    """Returns needed before `n_trials` without skill are no longer expected to show `sharpe`.

    ``(E[max of N] / SR)^2``, the maximum being that of N standard normal values (Bailey, Borwein,
    Lopez de Prado and Zhu 2014). A shorter backtest proves nothing for the best of them.

    Returns:
        A number of periods, not rounded; 0 for one trial.

    Raises:
        EvidenceInvalid: fewer than one trial, or a ratio that is not positive.
    """
    if not 0.0 < sharpe < math.inf:
        raise EvidenceInvalid(f"a backtest length needs a positive Sharpe ratio to guard, got {sharpe}")
    return (expected_max_sharpe(n_trials, 1.0) / sharpe) ** 2


def _estimation_variance(sharpe: float, n_obs: int, skew: float, kurtosis: float) -> float:
    """``n - 1`` times the variance of an estimated Sharpe ratio (Mertens 2002)."""
    _finite(sharpe=sharpe, skew=skew, kurtosis=kurtosis)
    if n_obs < 2:
        raise EvidenceInvalid(f"a Sharpe ratio needs at least 2 returns, got {n_obs}")
    variance = 1.0 - skew * sharpe + 0.25 * (kurtosis - 1.0) * sharpe**2
    if kurtosis < 1.0 or variance <= 0.0:
        raise EvidenceInvalid(
            f"no distribution has skew {skew:g} and kurtosis {kurtosis:g} at a Sharpe ratio of {sharpe:g}; "
            "kurtosis must be at least 1 + skew^2, and 3 for a normal distribution"
        )
    return variance


def _trials(n_trials: int) -> None:
    if n_trials < 1:
        raise EvidenceInvalid(f"the number of trials must be at least 1, got {n_trials}")


def _finite(**numbers: float) -> None:
    for name, value in numbers.items():
        if not math.isfinite(value):
            raise EvidenceInvalid(f"{name} must be finite, got {value}")
