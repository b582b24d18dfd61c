import math

import numpy as np
import pytest

from alphaswarm.backtest import metrics
from alphaswarm.core import DataInvalid, Panel


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


@pytest.mark.parametrize("stated", [0, -1, "252", True, math.inf, math.nan])
def test_an_impossible_year_is_refused(stated):
    with pytest.raises(DataInvalid, match="periods_per_year"):
        metrics.periods_per_year(panel(periods_per_year=stated))
