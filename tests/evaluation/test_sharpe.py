import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from alphaswarm.core import EvidenceInvalid
from alphaswarm.evaluation import (
    SharpeMoments,
    deflated_sharpe_ratio,
    expected_max_sharpe,
    minimum_backtest_length,
    minimum_track_record_length,
    probabilistic_sharpe_ratio,
    sharpe_moments,
)

DAYS = 250
DAILY = 2.5 / math.sqrt(DAYS)


@pytest.mark.parametrize(("trials", "expected"), [(100, 0.9004), (46, 0.9505), (88, 0.9102)])
def test_the_published_example(trials, expected):
    found = deflated_sharpe_ratio(DAILY, 1250, trials, 0.5 / DAYS, skew=-3, kurtosis=10)
    assert found == pytest.approx(expected, abs=5e-5)


def test_the_published_threshold():
    assert expected_max_sharpe(100, 0.5 / DAYS) == pytest.approx(0.1132, abs=5e-5)


@pytest.mark.parametrize(("trials", "annual"), [(200, 2.77), (1000, 3.26)])
def test_best_of_noise_over_one_year(trials, annual):
    assert expected_max_sharpe(trials, 1.0) == pytest.approx(annual, abs=0.005)


@pytest.mark.parametrize(("trials", "away"), [(2, 0.05), (10, 0.04), (100, 0.03), (10_000, 0.02)])
def test_expected_maximum_is_near_the_integral_over_order_statistics(trials, away):
    def density(x):
        return x * trials * stats.norm.pdf(x) * stats.norm.cdf(x) ** (trials - 1)

    exact = integrate.quad(density, -10, 10, limit=200)[0]
    assert expected_max_sharpe(trials, 4.0) == pytest.approx(2 * exact, abs=2 * away)


def test_by_hand():
    # 1 - (-0.5)(0.1) + (5 - 1) / 4 * 0.01 = 1.06; (0.1 - 0.04) sqrt(100) / sqrt(1.06) = 0.58277
    assert probabilistic_sharpe_ratio(0.1, 101, -0.5, 5.0, 0.04) == pytest.approx(stats.norm.cdf(0.6 / math.sqrt(1.06)))
    assert probabilistic_sharpe_ratio(0.1, 101) == pytest.approx(stats.norm.cdf(1 / math.sqrt(1.005)))


def test_one_trial_is_no_choice():
    assert expected_max_sharpe(1, 0.3) == 0.0
    assert deflated_sharpe_ratio(0.1, 500, 1, 0.002) == probabilistic_sharpe_ratio(0.1, 500)
    assert minimum_backtest_length(1, 0.1) == 0.0


@settings(max_examples=50, deadline=None)
@given(st.floats(0.01, 0.5), st.floats(-2, 1), st.floats(6, 20), st.floats(-0.2, 0.005), st.floats(0.6, 0.99))
def test_at_the_minimum_length_the_probability_is_the_confidence(sharpe, skew, kurtosis, benchmark, confidence):
    length = minimum_track_record_length(sharpe, skew, kurtosis, benchmark, confidence)
    away = (sharpe - benchmark) * math.sqrt(length - 1)
    spread = math.sqrt(1 - skew * sharpe + (kurtosis - 1) / 4 * sharpe**2)
    assert stats.norm.cdf(away / spread) == pytest.approx(confidence, rel=1e-9)
    over = probabilistic_sharpe_ratio(sharpe, max(2, math.ceil(length)), skew, kurtosis, benchmark)
    assert over >= confidence - 1e-12


def test_minimum_track_record_by_hand():
    # annual Sharpe 2 of daily normal returns: the 2.73 years of Bailey and Lopez de Prado (2012)
    days = minimum_track_record_length(2 / math.sqrt(252), benchmark=1 / math.sqrt(252))
    assert days / 252 == pytest.approx(2.73, abs=0.01)
    assert minimum_track_record_length(0.1, benchmark=0.1) is None
    assert minimum_track_record_length(-0.1) is None


def test_minimum_backtest_by_hand():
    # 45 trials over five years: the best is expected to show an annual Sharpe of 1 (Bailey et al. 2014)
    assert minimum_backtest_length(45, 1.0) == pytest.approx(5.0, abs=0.1)
    for trials in (2, 10, 100, 1000):
        assert minimum_backtest_length(trials, 1.0) < 2 * math.log(trials)


def test_what_lowers_confidence():
    base = deflated_sharpe_ratio(0.1, 1000, 50, 1 / 1000)
    assert deflated_sharpe_ratio(0.1, 1000, 500, 1 / 1000) < base
    assert deflated_sharpe_ratio(0.1, 1000, 50, 2 / 1000) < base
    assert probabilistic_sharpe_ratio(0.1, 1000, skew=-2) < probabilistic_sharpe_ratio(0.1, 1000)
    assert probabilistic_sharpe_ratio(0.1, 1000, kurtosis=30) < probabilistic_sharpe_ratio(0.1, 1000)


def test_the_standard_error_is_that_of_simulated_skewed_returns():
    rng = np.random.default_rng(3)
    returns = 0.3 - (rng.exponential(1.0, (4000, 200)) - 1)  # skew -2, kurtosis 9
    ratios = returns.mean(axis=1) / returns.std(axis=1, ddof=1)
    share = np.mean([probabilistic_sharpe_ratio(r, 200, -2, 9, benchmark=0.3) < 0.05 for r in ratios])
    assert share == pytest.approx(0.05, abs=0.02)


def test_moments_are_those_of_scipy():
    values = np.random.default_rng(4).standard_t(5, 300) * 0.01 + 0.001
    with_gaps = np.concatenate([[np.nan], values, [np.inf]])
    found = sharpe_moments(with_gaps)
    assert found.n_obs == 300
    assert found.sharpe == pytest.approx(values.mean() / values.std(ddof=1), rel=1e-12)
    assert found.skew == pytest.approx(stats.skew(values), rel=1e-10)
    assert found.kurtosis == pytest.approx(stats.kurtosis(values, fisher=False), rel=1e-10)
    assert isinstance(found, SharpeMoments)


@pytest.mark.parametrize("values", [[], [0.1], [0.1] * 20, [np.nan] * 5])
def test_what_does_not_vary_has_no_moments(values):
    assert sharpe_moments(values) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: probabilistic_sharpe_ratio(0.1, 1), "at least 2 returns"),
        (lambda: probabilistic_sharpe_ratio(0.1, 100, 0.0, 0.0), "3 for a normal"),
        (lambda: probabilistic_sharpe_ratio(1.0, 100, 3.0, 3.0), "no distribution"),
        (lambda: probabilistic_sharpe_ratio(math.nan, 100), "sharpe must be finite"),
        (lambda: probabilistic_sharpe_ratio(0.1, 100, benchmark=math.inf), "benchmark must be finite"),
        (lambda: deflated_sharpe_ratio(0.1, 100, 0, 0.1), "at least 1"),
        (lambda: expected_max_sharpe(5, -0.1), "0 or more"),
        (lambda: minimum_track_record_length(0.1, confidence=1.0), "between 0.5 and 1"),
        (lambda: minimum_backtest_length(10, 0.0), "positive"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(EvidenceInvalid, match=message):
        call()
