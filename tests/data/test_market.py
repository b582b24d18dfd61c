"""A drawn market: bars that follow from the draws, by hand; and the character of what is drawn."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.stats import kurtosis

from alphaswarm.data import market as module
from alphaswarm.data.market import DRIFT, LARGEST_RETURN, OVERNIGHT, REGIMES, VOLUME_ON_MOVES, Market, draw_market

DATES = np.busday_offset("2010-01-04", np.arange(600), roll="forward").astype("datetime64[ns]")


def drawn(days: int = 600, names: int = 80, seed: int = 1, *, regimes: bool = False) -> Market:
    return draw_market(DATES[:days], names, seed=seed, regimes=regimes, meta={"name": "m"})


@pytest.fixture(scope="module")
def market() -> Market:
    return drawn()


@pytest.fixture
def by_hand() -> Market:
    """Two names, three days, no overnight noise, no wicks."""
    flat: Any = np.zeros((3, 2))
    return Market(
        dates=DATES[:3],
        symbols=("A", "B"),
        groups={"sector": ["x", "y"]},
        meta={"name": "m"},
        returns=np.array([[9.0, 9.0], [0.1, -0.5], [0.1, 1.0]]),
        scale=np.full((3, 2), 0.1),
        overnight=flat,
        above=np.full((3, 2), 1.02),
        below=np.full((3, 2), 0.98),
        quiet=np.full((3, 2), math.log(1000.0)),
        first=np.array([100.0, 40.0]),
    )


def test_bars_by_hand(by_hand: Market) -> None:
    panel = by_hand.panel()
    close = [[100.0, 40.0], [110.0, 20.0], [121.0, 40.0]]
    np.testing.assert_allclose(panel["close"], close)
    np.testing.assert_allclose(panel["returns"], [[np.nan, np.nan], [0.1, -0.5], [0.1, 1.0]])
    # the open has gone the overnight share of the way from close to close, in logs
    start = [[100.0, 40.0], [100 * 1.1**OVERNIGHT, 40 * 0.5**OVERNIGHT], [110 * 1.1**OVERNIGHT, 20 * 2**OVERNIGHT]]
    np.testing.assert_allclose(panel["open"], start, rtol=1e-7)
    np.testing.assert_allclose(panel["high"], 1.02 * np.maximum(start, close), rtol=1e-7)
    np.testing.assert_allclose(panel["low"], 0.98 * np.minimum(start, close), rtol=1e-7)
    moves = np.abs(np.log([[1, 1], [1.1, 0.5], [1.1, 2.0]])) / 0.1
    np.testing.assert_allclose(panel["volume"], np.rint(1000 * (1 + moves) ** VOLUME_ON_MOVES) + 1)
    np.testing.assert_array_equal(panel["dollar_volume"], panel["close"] * panel["volume"])


def test_what_is_planted_moves_the_return_of_its_row_only(by_hand: Market) -> None:
    planted = np.zeros((3, 2))
    planted[1, 0] = 0.05
    change = by_hand.panel(planted)["returns"] - by_hand.panel()["returns"]
    np.testing.assert_allclose(change[1:], [[0.05, 0.0], [0.0, 0.0]], atol=1e-15)
    assert by_hand.panel(planted)["close"][2, 0] == pytest.approx(100 * 1.15 * 1.1)


def test_bars_are_in_order(market: Market) -> None:
    panel = market.panel()
    start, high, low, close = (panel[name] for name in ("open", "high", "low", "close"))
    assert (low > 0).all()
    assert (low <= np.minimum(start, close)).all()
    assert (high >= np.maximum(start, close)).all()
    assert (panel["volume"] >= 1).all()
    np.testing.assert_allclose(panel["returns"][1:], close[1:] / close[:-1] - 1, atol=1e-14)


def test_tails_and_co_movement(market: Market) -> None:
    returns = market.returns
    assert np.median(kurtosis(returns, axis=0)) > 1.5
    assert np.abs(returns).max() < LARGEST_RETURN + 0.01
    correlation = np.corrcoef(returns.T)
    off = ~np.eye(80, dtype=bool)
    assert 0.15 < correlation[off].mean() < 0.4
    sector = np.array(market.groups["sector"])
    same = sector[:, None] == sector[None, :]
    assert correlation[same & off].mean() > correlation[~same].mean() + 0.02
    # the scale that is told is that of the returns: standardised moves have variance 1
    assert np.std(returns / market.scale) == pytest.approx(1.0, abs=0.1)


def test_an_industry_lies_in_one_sector(market: Market) -> None:
    sector_of = dict(zip(market.groups["industry"], market.groups["sector"], strict=True))
    pairs = set(zip(market.groups["industry"], market.groups["sector"], strict=True))
    assert len(pairs) == len(sector_of) > 20


def test_the_seed_decides_everything_and_the_length_nothing_before_it(market: Market) -> None:
    np.testing.assert_array_equal(drawn().returns, market.returns)
    assert not np.array_equal(drawn(seed=2).returns, market.returns)
    assert not np.array_equal(drawn(seed=2).quiet, market.quiet)
    np.testing.assert_array_equal(drawn(days=100).groups["sector"], market.groups["sector"])


def test_remembered_is_an_ar1_of_variance_one() -> None:
    by_hand = module._remembered(np.array([1.0, 0.0, 0.0, 2.0]), 0.5)
    np.testing.assert_allclose(by_hand, [1.0, 0.5, 0.25, 0.125 + 2 * math.sqrt(0.75)])
    long = module._remembered(np.random.default_rng(0).standard_normal(20_000), 0.9)
    assert long.std() == pytest.approx(1.0, abs=0.05)
    assert np.corrcoef(long[1:], long[:-1])[0, 1] == pytest.approx(0.9, abs=0.02)


def test_states_last_their_mean_and_always_change() -> None:
    states = list(module._states(np.random.default_rng(3), 60_000))
    starts = [row for row in range(1, len(states)) if states[row] != states[row - 1]]
    for name, (_, _, mean) in REGIMES.items():
        spells = [end - start for start, end in pairwise(starts) if states[start] == name]
        assert np.mean(spells) == pytest.approx(mean, rel=0.2)


def test_spells_are_told_by_their_first_day() -> None:
    states = ["flat", "flat", "rising", "flat"]
    assert module._spells(states, DATES[:4]) == [
        ["2010-01-04", "flat"],
        ["2010-01-06", "rising"],
        ["2010-01-07", "flat"],
    ]


def test_regimes_move_drift_and_volatility_and_nothing_else(market: Market) -> None:
    other = drawn(regimes=True)
    assert "regimes" not in market.meta
    spells = other.meta["regimes"]
    rows = np.searchsorted(DATES, np.array([day for day, _ in spells], "datetime64[ns]"))
    states = np.array([spells[np.searchsorted(rows, row, "right") - 1][1] for row in range(600)])
    assert {"rising", "falling"} <= set(states)
    np.testing.assert_array_equal(other.quiet, market.quiet)
    # the moves of the null market, unbounded again and without its drift
    moves = LARGEST_RETURN * np.arctanh((market.returns - DRIFT) / LARGEST_RETURN)
    drifts = {}
    for state, (_, volatility, _) in REGIMES.items():
        here = states == state
        np.testing.assert_allclose(other.scale[here], volatility * market.scale[here])
        drift = other.returns[here] - LARGEST_RETURN * np.tanh(volatility * moves[here] / LARGEST_RETURN)
        np.testing.assert_allclose(drift, np.broadcast_to(drift[:1], drift.shape), atol=1e-12)
        drifts[state] = drift[0]
    # each name drifts with its beta: about 1 in the mean, and twice as far down as up
    assert drifts["rising"].mean() == pytest.approx(0.001, rel=0.15)
    assert drifts["rising"].std() > 0.0003
    np.testing.assert_allclose(drifts["falling"], -2 * drifts["rising"])


def test_a_market_is_made_anew_not_changed(market: Market) -> None:
    before = market.returns.copy()
    market.panel(np.full(market.returns.shape, 0.01))
    np.testing.assert_array_equal(market.returns, before)
    assert replace(market, meta={"name": "n"}).panel().meta["name"] == "n"
