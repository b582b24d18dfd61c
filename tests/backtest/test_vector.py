import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.backtest import VectorEngine
from alphaswarm.core import DataInvalid, FieldNotFound, Panel, SpecInvalid, WeightsInvalid
from alphaswarm.trading import ProportionalCosts

FREE = ProportionalCosts(0)


def make_panel(close, opened=None, **meta):
    close = np.asarray(close, float)
    dates = np.datetime64("2020-01-01") + np.arange(close.shape[0])
    fields = {"close": close} if opened is None else {"close": close, "open": opened}
    return Panel.from_arrays(fields, dates, [f"S{i}" for i in range(close.shape[1])], meta=meta)


def slow_loop(close, opened, weights, rate):
    """One strategy, one name at a time, prices instead of returns; `opened` None fills at the close."""
    days, names = close.shape
    value_of = [0.0] * names  # money in each name
    cash, missing, untraded = 1.0, 0, 0
    equity, turnover, costs, positions = [1.0], [0.0], [0.0], [[0.0] * names]
    mark = list(close[0])  # the last price each name was seen at, NaN before the first

    def see(i, price):
        if math.isnan(price):
            return
        if value_of[i]:
            value_of[i] *= price / mark[i]
        mark[i] = price

    for t in range(1, days):
        for i in range(names):
            see(i, close[t][i] if opened is None else opened[t][i])
        worth = cash + sum(value_of)
        traded = 0.0
        row = weights[t - 1]
        if worth > 0 and not math.isnan(row[0]):
            for i in range(names):
                order = row[i] * worth - value_of[i]
                price = close[t][i] if opened is None else opened[t][i]
                if order and math.isnan(price):
                    untraded += 1
                elif order:
                    traded += abs(order)
                    cash -= order
                    value_of[i] += order
        cash -= rate * traded
        for i in range(names):
            if opened is not None:
                see(i, close[t][i])
            missing += value_of[i] != 0 and math.isnan(close[t][i])
        equity.append(cash + sum(value_of))
        turnover.append(traded / worth)
        costs.append(rate * traded)
        positions.append([value / equity[-1] for value in value_of])
    return equity, turnover, costs, positions, missing, untraded


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 5.0, 50.0]), st.sampled_from([0.0, 0.1, 0.5]))
def test_the_engine_is_the_slow_loop(seed, at_open, bp, gaps):
    rng = np.random.default_rng(seed)
    days, names = rng.integers(2, 30), rng.integers(1, 6)
    close = 50 * np.exp(np.cumsum(rng.normal(0, 0.03, (days, names)), axis=0))
    opened = close * np.exp(rng.normal(0, 0.01, (days, names)))
    close[rng.random(close.shape) < gaps] = np.nan
    opened[rng.random(close.shape) < gaps] = np.nan
    weights = rng.normal(0, 0.4, (days, names))
    weights[rng.random(days) < 0.2] = np.nan
    panel = make_panel(close, opened)
    result = VectorEngine(ProportionalCosts(bp), "open_t1" if at_open else "close_t1").run(panel, weights)
    expected = slow_loop(close, opened if at_open else None, weights, bp / 1e4)
    equity, turnover, costs, positions, missing, untraded = expected
    np.testing.assert_allclose(result.equity, equity, rtol=1e-12)
    np.testing.assert_allclose(result.turnover, turnover, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(result.costs, costs, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(result.positions, positions, rtol=1e-12, atol=1e-12)
    assert (result.missing_returns, result.untraded) == (missing, untraded)


def test_a_decision_earns_from_the_close_after_it():
    panel = make_panel([[10.0], [11.0], [22.0], [22.0]])
    weights = [[1.0], [1.0], [0.0], [0.0]]
    result = VectorEngine(FREE).run(panel, weights)
    np.testing.assert_allclose(result.equity, [1, 1, 2, 2])  # not the 10 % up to its own fill
    np.testing.assert_allclose(result.positions[:, 0], [0, 1, 1, 0])


def test_at_the_open_it_earns_from_the_open_after_it():
    panel = make_panel([[10.0], [12.0], [12.0]], [[10.0], [11.0], [12.0]])
    result = VectorEngine(FREE, "open_t1").run(panel, [[1.0], [0.0], [0.0]])
    np.testing.assert_allclose(result.equity, [1, 12 / 11, 12 / 11])


def test_costs_are_paid_at_the_fill_on_both_sides():
    panel = make_panel([[10.0], [10.0], [10.0]])
    result = VectorEngine(ProportionalCosts(100)).run(panel, [[1.0], [0.0], [0.0]])
    np.testing.assert_allclose(result.equity, [1, 0.99, 0.99 - 0.01])
    np.testing.assert_allclose(result.costs, [0, 0.01, 0.01])


def test_turnover_counts_the_drift():
    # half in a name that doubles: 2/3 of the equity, so a sixth is sold to come back to a half
    panel = make_panel([[1.0], [1.0], [2.0]])
    result = VectorEngine(FREE).run(panel, [[0.5], [0.5], [0.5]])
    np.testing.assert_allclose(result.turnover, [0, 0.5, 1 / 6])


def test_a_row_of_nan_lets_positions_drift():
    panel = make_panel([[1.0], [1.0], [2.0], [4.0]])
    result = VectorEngine(FREE).run(panel, [[0.5], [np.nan], [np.nan], [np.nan]])
    np.testing.assert_allclose(result.equity, [1, 1, 1.5, 2.5])
    np.testing.assert_allclose(result.turnover, [0, 0.5, 0, 0])


def test_a_short_gains_when_the_price_falls():
    result = VectorEngine(FREE).run(make_panel([[10.0], [10.0], [8.0]]), [[-1.0], [-1.0], [0.0]])
    np.testing.assert_allclose(result.equity, [1, 1, 1.2])


@pytest.mark.parametrize("opened", [None, [[100.0], [100.0], [np.nan], [50.0], [50.0]]])
def test_a_move_across_missing_prices_is_earned_when_the_price_returns(opened):
    panel = make_panel([[100.0], [100.0], [np.nan], [50.0], [50.0]], opened)
    result = VectorEngine(FREE, "close_t1" if opened is None else "open_t1").run(panel, np.ones((5, 1)))
    np.testing.assert_array_equal(result.equity, [1, 1, 1, 0.5, 0.5])
    assert result.metrics["missing_returns"] == 1


def test_what_is_bought_in_the_gap_earns_from_its_own_price():
    # the close of row 1 is missing: the move starts at the open it was bought at, not at the close before
    close = [[100.0], [np.nan], [np.nan], [120.0]]
    opened = [[100.0], [80.0], [np.nan], [110.0]]
    result = VectorEngine(FREE, "open_t1").run(make_panel(close, opened), [[1.0], [np.nan], [np.nan], [np.nan]])
    np.testing.assert_allclose(result.equity, [1, 1, 1, 1.5])
    assert result.metrics["missing_returns"] == 2


def test_a_name_that_never_returns_stays_at_its_last_price():
    panel = make_panel([[10.0, 1.0], [10.0, 1.0], [11.0, 1.0], [np.nan, 1.0], [np.nan, 1.0]])
    result = VectorEngine(FREE).run(panel, np.full((5, 2), [0.5, 0.0]))
    np.testing.assert_allclose(result.equity, [1, 1, 1.05, 1.05, 1.05])
    assert result.metrics["missing_returns"] == 2


def test_a_missing_plain_return_counts_as_nothing_and_is_shown():
    returns = [[np.nan], [0.0], [np.nan], [0.25]]
    result = VectorEngine(FREE).run(returns=returns, weights=np.ones((4, 1)))
    np.testing.assert_allclose(result.equity, [1, 1, 1, 1.25])
    assert result.metrics["missing_returns"] == 1


def test_nothing_is_traded_without_a_price():
    panel = make_panel([[10.0], [np.nan], [10.0], [11.0]])
    result = VectorEngine(FREE).run(panel, [[1.0], [1.0], [1.0], [1.0]])
    np.testing.assert_allclose(result.positions[:, 0], [0, 0, 1, 1])
    assert result.metrics["untraded"] == 1


def test_lost_capital_ends_the_run():
    panel = make_panel([[10.0], [10.0], [25.0], [5.0]])
    result = VectorEngine(FREE).run(panel, [[-1.0]] * 4)
    np.testing.assert_allclose(result.equity, [1, 1, -0.5, -0.5])
    assert not result.positions[2:].any()
    assert result.metrics["ann_return"] is None
    assert result.metrics["max_drawdown"] == pytest.approx(-1.5)


@pytest.mark.parametrize("fill", ["close_t1", "open_t1"])
def test_nothing_known_later_moves_what_is_earned_now(fill):
    rng = np.random.default_rng(4)
    close = np.exp(np.cumsum(rng.normal(0, 0.02, (40, 7)), axis=0))
    opened = close * np.exp(rng.normal(0, 0.01, close.shape))
    weights = rng.normal(0, 0.2, close.shape)
    before = VectorEngine(fill=fill).run(make_panel(close, opened), weights)
    for day in (10, 25):
        later = [array.copy() for array in (close, opened, weights)]
        later[0][day:] *= 3
        later[1][day:] *= 3
        later[2][day - 1 :] *= -1  # the decision at day - 1 is filled at day
        after = VectorEngine(fill=fill).run(make_panel(later[0], later[1]), later[2])
        np.testing.assert_array_equal(before.equity[:day], after.equity[:day])
        np.testing.assert_array_equal(before.positions[:day], after.positions[:day])
        assert before.equity[day] != after.equity[day]


def test_the_close_does_not_move_what_is_bought_at_the_open():
    close = np.array([[10.0], [10.0], [10.0]])
    opened = np.array([[10.0], [9.0], [9.0]])
    moved = close.copy()
    moved[1] = 20.0
    traded = [
        VectorEngine(FREE, "open_t1").run(make_panel(c, opened), [[0.5], [np.nan], [np.nan]]).turnover[1]
        for c in (close, moved)
    ]
    assert traded == [0.5, 0.5]


def test_without_an_open_the_close_does_not_move_what_others_trade():
    close = np.array([[10.0, 5.0], [10.0, 5.0], [10.0, 5.0]])
    opened = np.array([[10.0, 5.0], [10.0, 5.0], [np.nan, 5.0]])
    moved = close.copy()
    moved[2, 0] = 20.0
    weights = [[0.5, 0.0], [0.5, 0.5], [0.0, 0.0]]
    traded = [VectorEngine(FREE, "open_t1").run(make_panel(c, opened), weights).turnover[2] for c in (close, moved)]
    assert traded == [0.5, 0.5]


def test_many_strategies_are_each_alone():
    rng = np.random.default_rng(5)
    panel = make_panel(np.exp(np.cumsum(rng.normal(0, 0.02, (20, 4)), axis=0)))
    weights = rng.normal(0, 0.3, (3, 20, 4))
    together = VectorEngine().run(panel, weights, positions=True)
    assert together.equity.shape == (3, 20)
    assert len(together) == 3
    for one, alone in zip(together, (VectorEngine().run(panel, w) for w in weights), strict=True):
        assert one.digest == alone.digest
        assert one.metrics == alone.metrics


def test_returns_and_prices_agree():
    rng = np.random.default_rng(6)
    close = np.exp(np.cumsum(rng.normal(0, 0.02, (30, 5)), axis=0))
    returns = np.vstack([np.full(5, np.nan), close[1:] / close[:-1] - 1])
    weights = rng.normal(0, 0.3, close.shape)
    by_price = VectorEngine().run(make_panel(close, periods_per_year=252), weights)
    np.testing.assert_array_equal(VectorEngine().run(returns=returns, weights=weights).equity, by_price.equity)


def test_the_panel_says_how_long_a_year_is():
    close = np.exp(np.cumsum(np.random.default_rng(7).normal(0, 0.02, (30, 1)), axis=0))
    day = VectorEngine().run(make_panel(close, periods_per_year=252), np.ones((30, 1))).metrics["sharpe"]
    week = VectorEngine().run(make_panel(close, periods_per_year=63), np.ones((30, 1))).metrics["sharpe"]
    assert day == pytest.approx(2 * week, rel=1e-14)
    assert VectorEngine().run(make_panel(close), np.ones((30, 1))).periods == 365  # it holds every day


def test_what_was_handed_in_is_left_alone():
    weights = np.full((4, 1), 0.5)
    VectorEngine().run(make_panel([[1.0], [2.0], [3.0], [4.0]]), weights)
    np.testing.assert_array_equal(weights, 0.5)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.nan, r"got nan at row 2, S1"),
        (np.inf, r"got inf at row 2, S1"),
    ],
)
def test_half_a_row_of_weights_is_refused_by_place(bad, message):
    weights = np.full((4, 3), 0.1)
    weights[2, 1] = bad
    panel = make_panel(np.ones((4, 3)))
    with pytest.raises(WeightsInvalid, match=message):
        VectorEngine().run(panel, weights)
    with pytest.raises(WeightsInvalid, match="strategy 1, row 2, S1"):
        VectorEngine().run(panel, [np.full((4, 3), 0.1), weights])
    with pytest.raises(WeightsInvalid, match="row 2, column 1"):
        VectorEngine().run(returns=np.zeros((4, 3)), weights=weights)


def test_a_row_of_infinity_is_refused_too():
    with pytest.raises(WeightsInvalid, match="got inf"):
        VectorEngine().run(make_panel(np.ones((2, 1))), [[np.inf], [0.0]])


def test_what_is_asked_must_make_sense():
    panel = make_panel(np.ones((3, 2)))
    weights = np.zeros((3, 2))
    with pytest.raises(SpecInvalid, match="close_t1, open_t1"):
        VectorEngine(fill="close")
    with pytest.raises(WeightsInvalid, match="shape"):
        VectorEngine().run(panel, weights[:2])
    with pytest.raises(WeightsInvalid, match="neither"):
        VectorEngine().run(panel)
    with pytest.raises(DataInvalid, match="exactly one"):
        VectorEngine().run(panel, weights, returns=weights)
    with pytest.raises(DataInvalid, match="exactly one"):
        VectorEngine().run(weights=weights)
    with pytest.raises(DataInvalid, match="needs a panel"):
        VectorEngine(fill="open_t1").run(returns=weights, weights=weights)
    with pytest.raises(DataInvalid, match="finite or NaN"):
        VectorEngine().run(returns=np.full((3, 2), np.inf), weights=weights)
    with pytest.raises(DataInvalid, match="periods"):
        VectorEngine().run(panel, weights, periods=0)
    with pytest.raises(FieldNotFound, match="'open'"):
        VectorEngine(fill="open_t1").run(panel, weights)
