"""The bandit: its posterior against its closed form, and what it does with arms of known worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import invgamma, kstest, norm, t

from alphaswarm.agents.proposers.bandit import PRIOR, Posterior, thompson

numbers = st.lists(st.floats(-5, 5), max_size=12)


def student(belief: Posterior):
    """The distribution of the mean once the variance is integrated out."""
    return t(2 * belief.shape, belief.mean, np.sqrt(belief.scale / (belief.shape * belief.weight)))


def test_the_posterior_is_prior_times_likelihood() -> None:
    """By numerical integration over the variance, at several means."""
    gains = [0.0, 0.7, 0.1, 2.0]
    belief = PRIOR.after(gains)

    def joint(mean: float) -> float:
        def at(variance: float) -> float:
            likelihood = np.prod(norm.pdf(gains, mean, np.sqrt(variance)))
            prior = norm.pdf(mean, PRIOR.mean, np.sqrt(variance / PRIOR.weight))
            return float(likelihood * prior * invgamma.pdf(variance, PRIOR.shape, scale=PRIOR.scale))

        return quad(at, 0, np.inf, limit=200)[0]

    evidence = quad(joint, -np.inf, np.inf, limit=200)[0]
    for mean in (-0.5, 0.2, 0.6, 1.5):
        assert joint(mean) / evidence == pytest.approx(student(belief).pdf(mean), rel=1e-5)


def test_the_closed_form_by_hand() -> None:
    belief = Posterior(mean=1.0, weight=2.0, shape=3.0, scale=4.0).after([2.0, 4.0])
    assert belief == Posterior(mean=2.0, weight=4.0, shape=4.0, scale=4.0 + 0.5 * (2.0 + 2 * 2 * 4.0 / 4))
    assert PRIOR.after([]) == PRIOR


@given(numbers, numbers)
def test_gains_may_come_at_once_or_one_after_the_other(first: list[float], second: list[float]) -> None:
    at_once, in_turn = PRIOR.after(first + second), PRIOR.after(first).after(second)
    for name in ("mean", "weight", "shape", "scale"):
        assert getattr(at_once, name) == pytest.approx(getattr(in_turn, name), rel=1e-9, abs=1e-9)


def test_draws_follow_the_marginal_of_the_mean() -> None:
    belief = PRIOR.after([0.0, 0.3, 1.0])
    rng = np.random.default_rng(5)
    assert kstest([belief.draw(rng) for _ in range(4000)], student(belief).cdf).pvalue > 0.01


def used(worth: dict[str, float], seed: int, rounds: int = 300) -> dict[str, int]:
    """How often each arm is used where it brings exponential gains of a known mean."""
    rng = np.random.default_rng(seed)
    gains: dict[str, list[float]] = {arm: [] for arm in worth}
    for _ in range(rounds):
        arm = thompson(gains, rng)[0]
        gains[arm].append(float(rng.exponential(worth[arm])))
    return {arm: len(seen) for arm, seen in gains.items()}


@pytest.mark.parametrize("seed", range(5))
def test_the_best_arm_is_used_most_and_none_is_forgotten(seed: int) -> None:
    count = used({"good": 0.6, "fair": 0.2, "useless": 1e-9}, seed)
    assert count["good"] > 0.6 * 300
    assert min(count.values()) >= 1
    assert count["useless"] < 40


def test_an_arm_is_chosen_as_often_as_it_is_likely_to_be_the_best() -> None:
    gains = {"a": [0.4, 0.5, 0.9], "b": [0.2, 0.1, 0.6]}
    rng = np.random.default_rng(2)
    share = np.mean([thompson(gains, rng)[0] == "a" for _ in range(4000)])
    one, other = (student(PRIOR.after(gains[arm])) for arm in "ab")
    likely = quad(lambda x: one.pdf(x) * other.cdf(x), -np.inf, np.inf, limit=200)[0]
    assert share == pytest.approx(likely, abs=0.03)


def test_the_order_of_arms_does_not_matter() -> None:
    gains: dict[str, list[float]] = {"a": [1.0], "b": [], "c": [0.0, 0.0]}
    turned = dict(reversed(gains.items()))
    first = thompson(gains, np.random.default_rng(1))
    assert first == thompson(turned, np.random.default_rng(1))
    assert sorted(first) == ["a", "b", "c"]
