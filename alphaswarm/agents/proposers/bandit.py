"""Which of several ways of proposing is to be used next: the one that a draw from its posterior says most for.

What an arm brings is a number with unknown mean and variance. Their conjugate prior is normal-inverse-gamma (Murphy
2007, "Conjugate Bayesian analysis of the Gaussian distribution", section 6), and each arm is used about as often as it
is likely to be the best (Thompson 1933).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["PRIOR", "Posterior", "thompson"]


@dataclass(frozen=True)
class Posterior:
    """What is believed of an arm: variance ~ inverse gamma(shape, scale), mean ~ normal(mean, variance / weight).

    Attributes:
        mean: the expected gain.
        weight: how many gains that is worth.
        shape: half as many gains as the variance is known from.
        scale: half the sum of their squared distances from the mean.
    """

    mean: float
    weight: float
    shape: float
    scale: float

    def after(self, gains: Sequence[float]) -> Posterior:
        """What is believed once `gains` were seen as well."""
        seen = np.asarray(gains, np.float64)
        if not seen.size:
            return self
        count, average = seen.size, float(seen.mean())
        weight = self.weight + count
        between = self.weight * count * (average - self.mean) ** 2 / weight
        return Posterior(
            mean=(self.weight * self.mean + count * average) / weight,
            weight=weight,
            shape=self.shape + count / 2,
            scale=self.scale + 0.5 * (float(((seen - average) ** 2).sum()) + between),
        )

    def draw(self, rng: np.random.Generator) -> float:
        """A mean as it may be."""
        variance = self.scale / rng.gamma(self.shape)
        return float(rng.normal(self.mean, np.sqrt(variance / self.weight)))


# Worth one trial that brought half a t-value, give or take as much: more than most trials bring, so every arm is tried.
PRIOR = Posterior(mean=0.5, weight=1.0, shape=1.0, scale=0.25)


def thompson(
    gains: Mapping[str, Sequence[float]], rng: np.random.Generator, prior: Posterior = PRIOR
) -> tuple[str, ...]:
    """The arms, the one to be used next first.

    Args:
        gains: what each use of each arm brought; an arm that was not used yet has none.
        rng: the source of randomness.
        prior: what is believed of an arm before it is used.
    """
    drawn = {arm: prior.after(gains[arm]).draw(rng) for arm in sorted(gains)}
    return tuple(sorted(drawn, key=lambda arm: (-drawn[arm], arm)))
