import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from alphaswarm.backtest import metrics
from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.evaluation import Evaluator, Window
from alphaswarm.evaluation.capacity import CURVE_AUM, Capacity, book_capacity, cost_curve, liquidity
from alphaswarm.trading import SquareRootImpact, TradedNames

DAYS, NAMES = 400, 12


def book(seed=1, drift=6e-4):
    """Weights traded, gross result, and what is known of the names."""
    rng = np.random.default_rng(seed)
    traded = np.abs(rng.normal(0, 0.02, (DAYS, NAMES)))
    result = rng.normal(drift, 4e-3, DAYS)
    names = TradedNames(
        dollar_volume=np.exp(rng.normal(17, 1, (DAYS, NAMES))), volatility=rng.uniform(0.01, 0.04, (DAYS, NAMES))
    )
    return traded, result, names


def after_impact(money, traded, result, names, coefficient=1.0):
    """The result of a book of that much money, cost by cost."""
    value = money * traded
    cost = coefficient * names.volatility * np.sqrt(value / names.dollar_volume) * value
    return result - np.nansum(cost, axis=1) / money


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("coefficient", [0.3, 1.0])
def test_half_of_the_sharpe_ratio_is_left_at_that_money(seed, coefficient):
    traded, result, names = book(seed)
    found = book_capacity(traded, result, names, periods=252, impact=SquareRootImpact(coefficient))
    gross = metrics.sharpe(result, 252)
    left = metrics.sharpe(after_impact(found.impact_aum, traded, result, names, coefficient), 252)
    assert left == pytest.approx(gross / 2, rel=1e-9)
    searched = brentq(
        lambda money: metrics.sharpe(after_impact(money, traded, result, names, coefficient), 252) - gross / 2, 1, 1e13
    )
    assert found.impact_aum == pytest.approx(searched, rel=1e-6)
    assert found.reason == ""
    assert found.covered == 1.0


def test_one_name_by_hand():
    # a tenth of the money is traded each day in a name with a volume of 1e6 and a volatility of 4 %; the
    # book earns 10 bp a day give or take 1: halved where the cost is 5 bp of the money
    result = np.tile([11e-4, 9e-4], 50)
    traded = np.full((100, 1), 0.1)
    names = TradedNames(dollar_volume=np.full((100, 1), 1e6), volatility=np.full((100, 1), 0.04))
    found = book_capacity(traded, result, names, periods=252)
    share = (5e-4 / 0.1 / 0.04) ** 2  # of the day's volume, at which trading costs 50 bp
    assert found.impact_aum == pytest.approx(share * 1e6 / 0.1, rel=1e-9)
    assert found.volume_aum == pytest.approx(0.05 * 1e6 / 0.1, rel=1e-12)
    assert found.aum == found.impact_aum
    assert found.participation == pytest.approx(share, rel=1e-9)
    cheap = book_capacity(traded, result, names, periods=252, impact=SquareRootImpact(0.1, cap=0.01))
    assert cheap.impact_aum == pytest.approx(100 * found.impact_aum, rel=1e-9)
    assert cheap.aum == cheap.volume_aum == pytest.approx(1e5, rel=1e-12)
    assert cheap.participation == pytest.approx(0.01, rel=1e-12)


def test_the_average_dollar_meets_the_cap():
    traded, result, names = book()
    found = book_capacity(traded, result, names, periods=252, impact=SquareRootImpact(0.0, cap=0.02))
    assert found.impact_aum is None
    assert found.aum == found.volume_aum
    share = found.volume_aum * traded / names.dollar_volume
    assert np.average(share, weights=traded) == pytest.approx(0.02, rel=1e-12)
    assert found.participation == pytest.approx(0.02, rel=1e-12)


def test_the_curve_is_the_sharpe_ratio_at_each_money():
    traded, result, names = book()
    curve = book_capacity(traded, result, names, periods=252).curve
    assert [money for money, _ in curve] == list(CURVE_AUM)
    expected = [metrics.sharpe(after_impact(money, traded, result, names), 252) for money in CURVE_AUM]
    np.testing.assert_allclose([sharpe for _, sharpe in curve], expected, rtol=1e-9)


@given(scale=st.floats(0.01, 100))
def test_a_market_as_much_larger_carries_as_much_more(scale):
    traded, result, names = book()
    larger = TradedNames(dollar_volume=scale * names.dollar_volume, volatility=names.volatility)
    one, other = (book_capacity(traded, result, known, periods=252) for known in (names, larger))
    assert other.impact_aum == pytest.approx(scale * one.impact_aum, rel=1e-9)
    assert other.volume_aum == pytest.approx(scale * one.volume_aum, rel=1e-9)
    assert other.participation == pytest.approx(one.participation, rel=1e-9)


def test_unknown_volume_is_said():
    traded, result, names = book()
    volume = names.dollar_volume.copy()
    volume[:, :3] = np.nan
    partly = TradedNames(dollar_volume=volume, volatility=names.volatility)
    found = book_capacity(traded, result, partly, periods=252)
    assert found.covered == pytest.approx(traded[:, 3:].sum() / traded.sum(), rel=1e-12)
    left = metrics.sharpe(after_impact(found.impact_aum, traded, result, partly), 252)
    assert left == pytest.approx(metrics.sharpe(result, 252) / 2, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"names": None}, "no dollar volume"),
        ({"names": TradedNames(volatility=np.ones((DAYS, NAMES)))}, "no dollar volume"),
        ({"traded": np.zeros((DAYS, NAMES))}, "nothing is traded"),
        ({"names": TradedNames(dollar_volume=np.zeros((DAYS, NAMES)), volatility=np.ones((DAYS, NAMES)))}, "nothing"),
        ({"result": np.full(DAYS, -1e-3) + np.resize([1e-4, -1e-4], DAYS)}, "earns nothing before impact"),
        ({"result": np.zeros(DAYS)}, "earns nothing before impact"),
    ],
)
def test_no_capacity_has_a_reason(change, reason):
    traded, result, names = book()
    found = book_capacity(**({"traded": traded, "result": result, "names": names} | change), periods=252)
    assert found.aum is found.impact_aum is found.volume_aum is found.participation is None
    assert reason in found.reason
    assert found.to_dict()["curve"] == []


def test_days_must_agree():
    traded, result, names = book()
    with pytest.raises(EvidenceInvalid, match="share their days"):
        book_capacity(traded, result[1:], names, periods=252)


def test_plain_values():
    traded, result, names = book()
    plain = book_capacity(traded, result, names, periods=252).to_dict()
    assert plain["curve"][0]["aum"] == 1e6
    assert plain["coefficient"] == 1.0
    assert math.isfinite(plain["aum"])
    assert Capacity(reason="x").to_dict()["aum"] is None


def test_liquidity_is_known_at_each_close():
    rng = np.random.default_rng(2)
    volume = np.exp(rng.normal(10, 1, (60, 4)))
    volume[10:28, 0] = np.nan
    volume[30, 1] = 0.0
    close = np.full((60, 4), 2.0)
    dates = np.datetime64("2020-01-01") + np.arange(60)
    volatility = np.full((60, 4), 0.01)
    priced = Panel.from_arrays({"close": close, "volume": volume}, dates, list("abcd"))
    stated = Panel.from_arrays({"dollar_volume": 2 * volume}, dates, list("abcd"))
    expected = pd.DataFrame(2 * volume).where(volume > 0).rolling(20, min_periods=10).mean()
    for panel in (priced, stated):
        found = liquidity(panel, volatility)
        np.testing.assert_allclose(found.dollar_volume, expected, rtol=1e-12)
        np.testing.assert_array_equal(found.volatility, volatility)
        np.testing.assert_array_equal(
            liquidity(panel.head(40), volatility[:40]).dollar_volume, found.dollar_volume[:40]
        )
    assert np.isnan(found.dollar_volume[25, 0])
    assert liquidity(Panel.from_arrays({"close": close}, dates, list("abcd")), volatility) is None


def test_the_cost_curve_of_a_book(market, factor):
    series = Evaluator(market, Window("search", market.dates[10], market.dates[-1]), cost_bp=3.0).series(factor)
    curve = cost_curve(series, (0.0, 10.0))
    assert [point.bp for point in curve] == [0.0, 3.0, 10.0]
    gross, traded = series.gross[series.active], series.turnover[series.active]
    for point in curve:
        net = pd.Series(gross - point.bp * 1e-4 * traded)
        assert point.sharpe == pytest.approx(net.mean() / net.std() * math.sqrt(252), rel=1e-12)
        assert point.ann_return == pytest.approx(252 * net.mean(), rel=1e-12)
        assert point.to_dict() == {"bp": point.bp, "sharpe": point.sharpe, "ann_return": point.ann_return}
    sharpes = [point.sharpe for point in curve]
    assert sharpes == sorted(sharpes, reverse=True)
