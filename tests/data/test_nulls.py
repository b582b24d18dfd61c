"""Null markets: nothing predicts anything, and everything else is as it was."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import DataInvalid, FieldNotFound, Panel
from alphaswarm.data import synthetic_market
from alphaswarm.data.nulls import dates_permuted, sign_flipped

MAKERS = pytest.mark.parametrize("make", [sign_flipped, dates_permuted])
ROWS, NAMES = 300, 60


@pytest.fixture(scope="module")
def market() -> Panel:
    """A planted market of two groups, with a group that changes over time."""
    panel = synthetic_market("planted", seed=3, days=ROWS, names=NAMES, ic=0.1)
    labels = np.where(np.arange(ROWS)[:, None] < 100, "early", "late") + np.zeros((1, NAMES), "U1")
    return Panel.from_arrays(
        {**panel.fields, "sentiment": np.abs(panel["returns"]), "vwap": panel["close"]},
        panel.dates,
        panel.symbols,
        groups={"sector": panel.groups["sector"][0], "phase": labels},
        meta=dict(panel.meta),
    )


def with_gaps(panel: Panel) -> Panel:
    """Names that start late, end early or are away for some days; the latter are no members then."""
    away = np.zeros(panel.shape, bool)
    away[:80, 0] = away[200:, 1] = away[100:103, 2] = away[50:60, 3:6] = True
    fields = {name: np.where(away, np.nan, values) for name, values in panel.fields.items()}
    returns = np.full(panel.shape, np.nan)
    returns[1:] = fields["close"][1:] / fields["close"][:-1] - 1
    return Panel.from_arrays(
        fields | {"returns": returns}, panel.dates, panel.symbols, universe=~away, meta=dict(panel.meta)
    )


def logs(panel: Panel) -> np.ndarray:
    return np.diff(np.log(panel["close"]), axis=0)


def test_a_flip_keeps_the_distances_from_the_market(market: Panel) -> None:
    null = sign_flipped(market, 5)
    before, after = logs(market), logs(null)
    days = before.mean(axis=1, keepdims=True)
    own, turned = before - days, after - days + np.log(np.cosh(before - days))
    signs = np.sign((own * turned).sum(axis=1))
    assert 0.4 < (signs > 0).mean() < 0.6
    np.testing.assert_allclose(turned, own * signs[:, None], atol=1e-12)
    # so the second moments of the distances, on any day and in sum, are what they were
    np.testing.assert_allclose(turned.T @ turned, own.T @ own, atol=1e-10)


def test_either_coin_leaves_the_market_to_expect(market: Panel) -> None:
    """The mean over many coins of every name's simple return is the market's, whatever its volatility."""
    days = np.exp(logs(market).mean(axis=1, keepdims=True)) - 1
    mean = np.mean([sign_flipped(market, seed)["returns"][1:] - days for seed in range(400)], axis=0)
    spread = np.abs(logs(market) - logs(market).mean(axis=1, keepdims=True))
    assert np.abs(mean).max() < 0.35 * spread.max()
    assert abs((mean * spread).sum() / (spread**2).sum()) < 0.003
    assert abs(mean.mean()) < 1e-5


def test_a_permutation_keeps_each_cross_section(market: Panel) -> None:
    null = dates_permuted(market, 5)
    before, after = market["returns"][1:], null["returns"][1:]
    # each day of the new market is one day of the old, and each is used once
    source = 1 + np.argsort(market["dollar_volume"][1:, 0])[np.argsort(np.argsort(null["dollar_volume"][1:, 0]))]
    assert sorted(source) == list(range(1, ROWS))
    assert list(source) != sorted(source)
    for name in ("dollar_volume", "sentiment"):
        np.testing.assert_array_equal(null[name][1:], market[name][source])
    np.testing.assert_array_equal(null.groups["phase"][1:], market.groups["phase"][source])
    np.testing.assert_allclose((null["high"] / null["close"])[1:], (market["high"] / market["close"])[source])
    # what is taken off is the mean of the days that are still to come: the only thing that could be expected
    for row in (0, 100, 250, ROWS - 2):
        to_come = before[source[row:] - 1].mean(axis=0)
        np.testing.assert_allclose(after[row], before[source[row] - 1] - to_come, atol=1e-12)


def test_nothing_is_left_to_expect_in_a_permutation(market: Panel) -> None:
    """Given the first 200 days, the mean of the next return over all orders of the rest is 0, and so after any."""
    returns = market["returns"][1:]
    for used in (0, 200):
        rest = returns[used:]
        assert np.abs((rest - rest.mean(axis=0)).mean(axis=0)).max() < 1e-15
    sums = [dates_permuted(market, seed)["returns"] for seed in range(60)]
    past = np.array([np.nansum(one[1:201], axis=0) for one in sums])
    later = np.array([one[201:281].mean(axis=0) for one in sums])
    corr = np.corrcoef(past.ravel(), later.ravel())[0, 1]
    assert abs(corr) < 0.06  # with the mean over all days it would be -0.6


@MAKERS
def test_fields_are_of_one_market(make, market: Panel) -> None:
    null = make(market, 2)
    assert set(null.fields) == set(market.fields) - {"vwap"}
    np.testing.assert_allclose(null["returns"][1:], null["close"][1:] / null["close"][:-1] - 1, atol=1e-15)
    assert np.isnan(null["returns"][0]).all()
    np.testing.assert_allclose(null["dollar_volume"], null["close"] * null["volume"], rtol=1e-9)
    np.testing.assert_array_equal(null["close"][0], market["close"][0])
    top, bottom = (pick(null["open"], null["close"]) for pick in (np.maximum, np.minimum))
    assert (null["high"] >= top * (1 - 1e-12)).all()
    assert (null["low"] <= bottom * (1 + 1e-12)).all()
    assert null.groups["sector"].tolist() == market.groups["sector"].tolist()
    assert "noise" in null.meta["caveats"][0]


def test_a_turned_day_turns_its_bar(market: Panel) -> None:
    null = sign_flipped(market, 5)
    wick = {name: np.log(p["high"] / np.maximum(p["open"], p["close"])) for name, p in (("old", market), ("new", null))}
    below = np.log(np.minimum(market["open"], market["close"]) / market["low"])
    straight = np.isclose(wick["new"], wick["old"], atol=1e-12).all(axis=1)
    turned = np.isclose(wick["new"], below, atol=1e-12).all(axis=1)
    assert (straight ^ turned).all()
    assert 0.4 < turned.mean() < 0.6
    body = [np.log(p["open"] / p["close"]) for p in (market, null)]
    np.testing.assert_allclose(body[1].mean(axis=1), body[0].mean(axis=1), atol=1e-12)


@MAKERS
def test_what_was_planted_is_gone(make, market: Panel) -> None:
    def mean_ic(panel: Panel) -> float:
        signal = -np.cumsum(np.nan_to_num(panel["returns"]), axis=0)
        signal[5:] -= signal[:-5].copy()
        pairs = [(signal[row], panel["returns"][row + 2]) for row in range(5, ROWS - 3)]
        return float(np.mean([np.corrcoef(one, other)[0, 1] for one, other in pairs]))

    assert mean_ic(market) > 0.05
    assert abs(np.mean([mean_ic(make(market, seed)) for seed in range(8)])) < 0.02


@MAKERS
def test_no_value_moves_with_the_later_ones(make, market: Panel) -> None:
    """The day's coin, or the day that stands there, does not hang on prices: other prices later change nothing."""
    changed = {name: np.array(values) for name, values in market.fields.items()}
    changed["close"][200:] *= 1.7
    other = Panel.from_arrays(changed, market.dates, market.symbols, meta=dict(market.meta))
    if make is sign_flipped:
        np.testing.assert_array_equal(make(other, 4)["close"][:200], make(market, 4)["close"][:200])
    else:
        one, two = (np.isnan(make(with_gaps(panel), 4)["close"]) for panel in (other, market))
        np.testing.assert_array_equal(one, two)


@MAKERS
def test_what_is_missing_stays_missing(make, market: Panel) -> None:
    panel = with_gaps(market)
    null = make(panel, 6)
    assert np.isfinite(null["close"]).sum() == np.isfinite(panel["close"]).sum()
    np.testing.assert_array_equal(np.isfinite(null["close"]), null.universe)
    known = np.isfinite(null["close"])
    np.testing.assert_array_equal(np.isfinite(null["returns"][1:]), known[1:] & known[:-1])
    for name in ("open", "high", "low", "volume", "dollar_volume"):
        np.testing.assert_array_equal(np.isfinite(null[name]), known)
    if make is sign_flipped:
        np.testing.assert_array_equal(known, np.isfinite(panel["close"]))


def test_a_move_across_a_gap_is_turned_as_one(market: Panel) -> None:
    panel = with_gaps(market)
    null = sign_flipped(panel, 6)
    days = np.nanmean(np.diff(np.log(panel["close"]), axis=0), axis=1)
    spanned = days[99:103].sum()  # name 2 is away in rows 100 to 102
    before, after = (np.log(p["close"][103, 2] / p["close"][99, 2]) - spanned for p in (panel, null))
    assert abs(after + np.log(np.cosh(before))) == pytest.approx(abs(before), abs=1e-12)


@MAKERS
def test_seeds(make, market: Panel) -> None:
    assert make(market, 1).digest == make(market, 1).digest
    assert make(market, 1).digest != make(market, 2).digest


@MAKERS
def test_what_can_not_be_a_null_market(make, market: Panel) -> None:
    with pytest.raises(DataInvalid, match="at least 60 rows"):
        make(market.head(59), 0)
    close = np.array(market["close"])
    close[5, 5] = 0.0
    worthless = Panel.from_arrays({"close": close}, market.dates, market.symbols)
    with pytest.raises(DataInvalid, match="above 0"):
        make(worthless, 0)
    with pytest.raises(FieldNotFound):
        make(Panel.from_arrays({"returns": market["returns"]}, market.dates, market.symbols), 0)


def test_a_return_that_leaves_nothing(market: Panel) -> None:
    close = np.array(market["close"])
    close[10:, 0] = close[10:, 0] * 1e-4
    close[11:, 0] = close[11:, 0] * 1e6
    with pytest.raises(DataInvalid, match="must stay above -100 %"):
        dates_permuted(Panel.from_arrays({"close": close}, market.dates, market.symbols), 0)
