import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.backtest import metrics
from alphaswarm.core import DataInvalid, EvidenceInvalid, Panel, make_rng

RETURNS = 0.0005 + 0.01 * make_rng(1, "metrics").standard_t(4, 900)


def panel(**meta):
    return Panel.from_arrays({"close": [[1.0]]}, ["2020-01-02"], ["A"], meta=meta)


def test_sharpe_and_volatility_by_hand():
    returns = [0.01, -0.01, 0.03]  # mean .01, deviations 0, -.02, .02: std .02
    assert metrics.sharpe(returns, 252) == pytest.approx(0.5 * math.sqrt(252), rel=1e-14)
    assert metrics.volatility(returns, 100) == pytest.approx(0.2, rel=1e-14)


@pytest.mark.parametrize("returns", [[], [0.01], [0.0, 0.0], [0.1] * 7])
def test_what_does_not_vary_has_no_sharpe(returns):
    assert metrics.sharpe(returns, 252) is None


def test_a_year_of_compounding():
    assert metrics.annual_return([0.1, 0.1], 2) == pytest.approx(0.21, rel=1e-14)
    assert metrics.annual_return([0.21], 0.5) == pytest.approx(0.1, rel=1e-14)
    assert metrics.annual_return([0.5, -0.5], 2) == pytest.approx(-0.25, rel=1e-14)
    assert metrics.annual_return([], 252) is None
    assert metrics.annual_return([0.5, -1.0], 252) is None
    assert metrics.annual_return([1e6, 1e6], 1e6) is None


def test_drawdown_counts_from_the_starting_capital():
    assert metrics.max_drawdown([0.9, 0.95]) == pytest.approx(-0.1, rel=1e-14)
    assert metrics.max_drawdown([1.2, 0.9, 1.3]) == pytest.approx(-0.25, rel=1e-14)
    assert metrics.max_drawdown([1.1, 1.2]) == 0.0
    assert metrics.max_drawdown([]) is None


def test_hits_among_days_that_moved():
    assert metrics.hit_rate([0.0, 0.1, -0.1, 0.2, 0.0]) == pytest.approx(2 / 3)
    assert metrics.hit_rate([0.0, 0.0]) is None


def test_a_mean_of_nothing_is_none():
    assert metrics.mean(np.array([])) is None
    assert metrics.mean([1.0, 2.0]) == 1.5


def test_the_panel_says_how_long_a_year_is():
    assert metrics.periods_per_year(panel()) == 252
    assert metrics.periods_per_year(panel(periods_per_year=365)) == 365
    weeks = np.datetime64("2020-01-03") + 7 * np.arange(30)
    assert metrics.periods_per_year(Panel.from_arrays({"close": np.ones((30, 1))}, weeks, ["A"])) == 52


@pytest.mark.parametrize("stated", [0, -1, "252", True, math.inf, math.nan])
def test_an_impossible_year_is_refused(stated):
    with pytest.raises(DataInvalid, match="periods_per_year"):
        metrics.periods_per_year(panel(periods_per_year=stated))


def test_sortino_by_hand():
    returns = [0.01, -0.02, 0.03, -0.01]  # mean .0025, downside sqrt(.0005 / 4)
    assert metrics.sortino(returns, 252) == pytest.approx(0.0025 / math.sqrt(0.000125) * math.sqrt(252), rel=1e-14)
    assert metrics.sortino([0.01, 0.02], 252) is None
    assert metrics.sortino([-0.01], 252) is None


def test_drawdown_lasts_until_the_high_is_back():
    assert metrics.max_drawdown_duration([1.1, 1.0, 1.05, 1.1, 1.0]) == 2
    assert metrics.max_drawdown_duration([0.9, 0.95, 0.99]) == 3  # the starting capital counts, and it never came back
    assert metrics.max_drawdown_duration([1.1, 1.2, 1.2]) == 0
    assert metrics.max_drawdown_duration([]) is None


@settings(deadline=None, max_examples=100)
@given(st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=40))
def test_drawdown_row_by_row(returns):
    equity = np.cumprod(1 + np.array(returns))
    high, worst, below, longest = 1.0, 0.0, 0, 0
    for value in equity:
        high = max(high, value)
        below = below + 1 if value < high else 0
        worst, longest = min(worst, value / high - 1), max(longest, below)
    assert metrics.max_drawdown(equity) == pytest.approx(worst, rel=1e-12)
    assert metrics.max_drawdown_duration(equity) == longest


def test_calmar():
    returns = [0.5, -0.2, 0.1]
    assert metrics.calmar(returns, np.cumprod(1 + np.array(returns)), 3) == pytest.approx(0.32 / 0.2, rel=1e-12)
    assert metrics.calmar([0.1], [1.1], 1) is None
    assert metrics.calmar([], [], 1) is None


def test_profit_factor():
    assert metrics.profit_factor([0.03, -0.01, 0.0, -0.01]) == pytest.approx(1.5)
    assert metrics.profit_factor([0.03]) is None
    assert metrics.profit_factor([]) is None


def test_the_interval_of_the_profit_factor_is_that_of_slow_resamples():
    returns = RETURNS[:50]  # blocks of 4, the last of 2
    starts = make_rng(3, "profit factor").integers(50, size=(200, 13))
    rows = (starts[:, :, None] + np.arange(4)).reshape(200, -1)[:, :50] % 50
    factors = [metrics.profit_factor(returns[picked]) for picked in rows]
    expected = np.quantile(factors, (0.05, 0.95), method="higher")
    found = metrics.profit_factor_interval(returns, seed=3, level=0.9, resamples=200)
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_interval_holds_the_estimate_and_repeats_itself():
    low, high = metrics.profit_factor_interval(RETURNS)
    assert low < metrics.profit_factor(RETURNS) < high
    assert metrics.profit_factor_interval(RETURNS) == (low, high)
    assert metrics.profit_factor_interval(RETURNS, seed=1) != (low, high)
    assert metrics.profit_factor_interval([0.1] * 30) is None
    assert metrics.profit_factor_interval([]) is None
    assert metrics.profit_factor_interval([-0.1]) is None
    with pytest.raises(EvidenceInvalid, match="level"):
        metrics.profit_factor_interval(RETURNS, level=1.0)


def test_tails():
    returns = np.arange(-10, 11) / 100
    assert metrics.value_at_risk(returns, 0.1) == pytest.approx(-0.08)
    assert metrics.expected_shortfall(returns, 0.1) == pytest.approx(-0.09)
    assert metrics.value_at_risk([], 0.1) is None
    assert metrics.expected_shortfall([], 0.1) is None
    with pytest.raises(EvidenceInvalid, match="tail"):
        metrics.value_at_risk(returns, 5)


def test_alpha_and_beta_are_recovered():
    benchmark = RETURNS
    ours = 0.0002 + 0.7 * benchmark
    found = metrics.against(ours, benchmark, 252)
    assert found["beta"] == pytest.approx(0.7, rel=1e-12)
    assert found["alpha"] == pytest.approx(252 * 0.0002, rel=1e-9)
    gapped = ours.copy()
    gapped[::3] = np.nan
    assert metrics.against(gapped, benchmark, 252)["beta"] == pytest.approx(0.7, rel=1e-12)
    assert metrics.against([0.1, 0.2], [0.1, 0.1], 252) == {"alpha": None, "beta": None}
    assert metrics.against([], [], 252) == {"alpha": None, "beta": None}
    with pytest.raises(EvidenceInvalid, match="same rows"):
        metrics.against([0.1], [0.1, 0.2], 252)
