"""The z of a mean: against the definition, against scipy's t where there is no correlation, and on noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.fft import dct

from alphaswarm.core import EvidenceInvalid, make_rng
from alphaswarm.evaluation.ic import newey_west_t
from alphaswarm.evaluation.mean_test import cosine_count, mean_z


def overlapping(rng: np.random.Generator, n: int, horizon: int) -> np.ndarray:
    """What a factor that stays as it is sees of labels that overlap: sums of `horizon` neighbouring draws."""
    draws = rng.standard_normal(n + horizon - 1)
    return np.convolve(draws, np.ones(horizon), "valid")


@pytest.mark.parametrize(
    ("n", "horizon", "count"), [(648, 5, 29), (283, 5, 17), (1253, 5, 46), (283, 20, 4), (100, 1, 8)]
)
def test_the_number_of_cosines(n, horizon, count):
    assert cosine_count(n, horizon) == count


def test_it_is_the_t_of_the_mean_over_its_cosines():
    values = make_rng(1, "z").standard_normal(400) + 0.1
    count = cosine_count(400, 5)
    weights = dct(values, norm="ortho")[1 : count + 1]  # another's cosine transform
    t = values.mean() / np.sqrt((weights**2).mean() / 400)
    assert mean_z(values, horizon=5) == pytest.approx(stats.norm.isf(stats.t.sf(t, count)), rel=1e-10)


def test_noise_keeps_to_it_where_it_does_not_keep_to_newey_west():
    rng = make_rng(2, "z")
    series = [overlapping(rng, 300, 5) for _ in range(4000)]
    z = np.array([mean_z(one, horizon=5) for one in series])
    t = np.array([newey_west_t(one, horizon=5) for one in series])
    assert np.std(z) == pytest.approx(1.0, abs=0.06)
    assert (np.abs(z) > 1.96).mean() == pytest.approx(0.05, abs=0.015)
    assert (np.abs(z) > 3.0).mean() < 0.006
    assert np.std(t) > 1.15
    assert (np.abs(t) > 1.96).mean() > 0.085


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6), st.integers(1, 10))
def test_a_scale_changes_nothing_and_a_sign_turns_it(seed, scale, horizon):
    values = make_rng(seed, "z").standard_normal(200) + 0.1
    z = mean_z(values, horizon=horizon)
    assert mean_z(scale * values, horizon=horizon) == pytest.approx(z, rel=1e-9)
    assert mean_z(-values, horizon=horizon) == pytest.approx(-z, rel=1e-12)


def test_missing_dates_are_dropped():
    values = make_rng(3, "z").standard_normal(200)
    with_gaps = np.insert(values, [0, 50, 50, 200], np.nan)
    assert mean_z(with_gaps, horizon=2) == mean_z(values, horizon=2)


def test_no_mean_is_too_large_for_a_number():
    values = 1.0 + 1e-9 * make_rng(4, "z").standard_normal(2000)
    assert mean_z(values) == pytest.approx(37.5, abs=0.1)


def test_what_has_no_z():
    assert mean_z([]) is None
    assert mean_z(np.ones(500)) is None
    assert mean_z(make_rng(5, "z").standard_normal(59), horizon=5) is None  # three cosines
    with pytest.raises(EvidenceInvalid, match="at least 1 row"):
        mean_z(np.ones(10), horizon=0)
