import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from alphaswarm.backtest import EventEngine, VectorEngine, baselines, quantile_weights
from alphaswarm.backtest.baselines import BASELINES, shrunk_covariance
from alphaswarm.core import Panel, SpecInvalid, UnknownName, WeightsInvalid, make_rng

DAYS, NAMES = 70, 15
# With histories that a small panel has; each is weights of (panel).
SMALL = {
    "equal_weight": baselines.equal_weight,
    "buy_and_hold": baselines.buy_and_hold,
    "inverse_volatility": lambda panel: baselines.inverse_volatility(panel, 20),
    "minimum_variance": lambda panel: baselines.minimum_variance(panel, 30, 7),
    "minimum_variance, shorts": lambda panel: baselines.minimum_variance(panel, 30, 7, long_only=False),
    "quantile_long_short": lambda panel: baselines.quantile_long_short(panel, panel["close"], 3, min_names=5),
    "random_weights": lambda panel: baselines.random_weights(panel, 5),
}


def make_panel(seed=1, gaps=0.05):
    """A common factor, names of different risk, missing closes, a late start, an end, and a universe."""
    rng = make_rng(seed, "baselines")
    risk = np.linspace(0.005, 0.03, NAMES)
    moves = 0.01 * rng.standard_normal((DAYS, 1)) + risk * rng.standard_normal((DAYS, NAMES))
    close = 50 * np.exp(np.cumsum(moves, axis=0))
    close[rng.random(close.shape) < gaps] = np.nan
    close[:35, 3], close[50:, 4] = np.nan, np.nan
    universe = rng.random(close.shape) < 0.95
    dates = np.busday_offset("2020-01-01", np.arange(DAYS))
    return Panel.from_arrays({"close": close}, dates, [f"S{i}" for i in range(NAMES)], universe)


def test_every_baseline_is_here():
    assert set(BASELINES) == {name.split(",")[0] for name in SMALL}
    assert BASELINES["equal_weight"] is baselines.equal_weight
    with pytest.raises(UnknownName, match="equal_weight"):
        _ = BASELINES["equal_wieght"]


@pytest.mark.parametrize("name", SMALL)
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000), row=st.integers(0, DAYS - 2))
def test_nothing_later_moves_a_weight(name, seed, row):
    panel = make_panel(seed)
    before = SMALL[name](panel)
    rng = make_rng(seed, "corruption")
    close, universe = panel["close"].copy(), panel.universe.copy()
    close[row + 1 :] = np.where(rng.random(close[row + 1 :].shape) < 0.3, np.nan, 1e3 * rng.random())
    universe[row + 1 :] ^= True
    after = SMALL[name](Panel.from_arrays({"close": close}, panel.dates, panel.symbols, universe))
    np.testing.assert_array_equal(after[: row + 1], before[: row + 1])
    np.testing.assert_array_equal(SMALL[name](panel.head(row + 1)), before[: row + 1])


@pytest.mark.parametrize("name", SMALL)
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_weights_are_weights(name, seed):
    panel = make_panel(seed)
    weights = SMALL[name](panel)
    assert weights.shape == panel.shape
    holds = np.isnan(weights).all(axis=1)
    decided = weights[~holds]
    assert np.isfinite(decided).all()
    assert not decided[~(panel.universe & (panel["close"] > 0))[~holds]].any()
    net = decided.sum(axis=1)
    whole = 0.0 if name == "quantile_long_short" else 1.0
    assert (np.isclose(net, whole, atol=1e-9) | ~decided.any(axis=1)).all()
    assert decided.any()
    if name not in ("quantile_long_short", "minimum_variance, shorts"):
        assert (decided >= 0).all()


@pytest.mark.parametrize("name", SMALL)
def test_names_in_another_order_have_the_same_weights(name):
    if name == "random_weights":
        pytest.skip("each name has its own draw")
    panel = make_panel(2)
    turn = np.argsort(make_rng(3, "turn").random(NAMES))
    fields, symbols = {"close": panel["close"][:, turn]}, [panel.symbols[i] for i in turn]
    turned = SMALL[name](Panel.from_arrays(fields, panel.dates, symbols, panel.universe[:, turn]))
    np.testing.assert_allclose(turned, SMALL[name](panel)[:, turn], atol=1e-9)


@pytest.mark.parametrize("name", SMALL)
def test_engines_take_them(name):
    panel = make_panel(4)
    weights = SMALL[name](panel)
    for engine in (VectorEngine(), EventEngine()):
        assert engine.run(panel, weights).turnover.any()


def test_buy_and_hold_trades_once():
    panel = make_panel(5, gaps=0.0)
    result = VectorEngine().run(panel, baselines.buy_and_hold(panel))
    assert np.flatnonzero(result.turnover).tolist() == [1]
    nobody = Panel.from_arrays(panel.fields, panel.dates, panel.symbols, np.zeros(panel.shape, bool))
    assert np.isnan(baselines.buy_and_hold(nobody)).all()


def test_inverse_volatility_by_hand():
    panel = make_panel(6, gaps=0.0)
    weights = baselines.inverse_volatility(panel, 20)
    returns = panel["close"][50:70] / panel["close"][49:69] - 1
    inverse = np.where(panel.universe[69] & np.isfinite(returns).all(axis=0), 1 / returns.std(axis=0, ddof=1), 0)
    np.testing.assert_allclose(weights[69], inverse / inverse.sum(), rtol=1e-9)
    assert not weights[9].any()  # half of the returns are needed
    assert weights[10].any()
    still = Panel.from_arrays({"close": np.ones((40, 2))}, np.datetime64("2020-01-01") + np.arange(40), ["A", "B"])
    assert not baselines.inverse_volatility(still, 20).any()
    assert not np.nan_to_num(baselines.minimum_variance(still, 20)).any()


@pytest.mark.parametrize("long_only", [True, False])
def test_no_other_portfolio_has_less_variance(long_only):
    panel = make_panel(7, gaps=0.0)
    panel = Panel.from_arrays(panel.fields, panel.dates, panel.symbols)
    weights = baselines.minimum_variance(panel, 40, 1, long_only=long_only)[45]
    held = np.flatnonzero(np.isfinite(panel["close"][6:46]).all(axis=0))
    returns = panel["close"][6:46, held] / panel["close"][5:45, held] - 1
    covariance = 1e4 * shrunk_covariance(returns - returns.mean(axis=0))
    found = optimize.minimize(
        lambda w: w @ covariance @ w,
        np.full(held.size, 1 / held.size),
        jac=lambda w: 2 * covariance @ w,
        bounds=[(0, None) if long_only else (None, None)] * held.size,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    ours = weights[held]
    assert ours @ covariance @ ours == pytest.approx(found.fun, rel=1e-6)
    np.testing.assert_allclose(ours, found.x, atol=1e-4)
    assert (weights < 0).any() == (not long_only)


def test_the_shrunk_covariance_is_ledoit_and_wolfs():
    returns = make_rng(8, "shrunk").standard_normal((30, 6)) * np.linspace(1, 2, 6)
    sample = returns.T @ returns / 30
    level = np.trace(sample) / 6
    away = np.sum((sample - level * np.eye(6)) ** 2) / 6
    noise = sum(np.sum((np.outer(row, row) - sample) ** 2) for row in returns) / 30**2 / 6
    share = min(noise / away, 1)
    assert 0 < share < 1
    np.testing.assert_allclose(shrunk_covariance(returns), (1 - share) * sample + share * level * np.eye(6), rtol=1e-12)


def test_long_short_is_the_rule_for_factors():
    panel = make_panel(9)
    factor = make_rng(9, "factor").standard_normal(panel.shape)
    kept = np.where(panel.universe & np.isfinite(panel["close"]), factor, np.nan)
    np.testing.assert_array_equal(
        baselines.quantile_long_short(panel, factor, 3, min_names=9), quantile_weights(kept, 3, min_names=9)
    )
    assert not baselines.quantile_long_short(panel, factor).any()  # too few names for quantiles
    with pytest.raises(WeightsInvalid, match="shape"):
        baselines.quantile_long_short(panel, factor[:-1])


def test_random_weights_follow_their_seed():
    panel = make_panel(10)
    np.testing.assert_array_equal(baselines.random_weights(panel, 1), baselines.random_weights(panel, 1))
    assert (baselines.random_weights(panel, 1) != baselines.random_weights(panel, 2)).any()


@pytest.mark.parametrize("wrong", [0, 1, 2.5])
def test_impossible_histories_are_refused(wrong):
    for rule in (baselines.inverse_volatility, baselines.minimum_variance):
        with pytest.raises(SpecInvalid, match="rows"):
            rule(make_panel(), wrong)
    with pytest.raises(SpecInvalid, match="every"):
        baselines.minimum_variance(make_panel(), 30, 0)
