"""Agreement with alphalens-reloaded where it means the same, and what it means otherwise.

It is fed the fill prices (its `prices` are those of the decision's fill), so that its forward return over p periods
is our label of p rows, and ranks where weights are compared. What differs, and why:

- Prices: it fills gaps forward, so a label across a gap is 0 or spans more rows than it says; ours is missing.
- Days: a name counts on a day only where it has the labels of all periods; ours needs the label that is used.
- Quantiles: pandas' `qcut` interpolates edges between values, so sizes differ by a name where the count is no
  multiple of the quantiles, and a day whose ties make two edges equal is dropped; ours is ``ceil(n rank / count)``.
- Autocorrelation: its ranks are those of the whole day, correlated over common names; ours are taken among
  the common names. The same where nobody is missing.
- Turnover: its `quantile_turnover` is the share of new names in a quantile; ours is traded weight, which is
  compared with the change of its `factor_weights`.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.backtest import rank_rows
from alphaswarm.core import Panel, make_rng
from alphaswarm.evaluation import (
    Evaluator,
    Window,
    by_group,
    by_year,
    forward_returns,
    quantile_return_series,
    quantile_returns,
    rank_ic_series,
    turnover,
)
from alphaswarm.evaluation.ic import rank_correlation

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".oracles" / "bin" / "python"
PERIODS = [1, 2, 5, 10]
DAYS, NAMES, GROUPS = 120, 50, 4

pytestmark = [
    pytest.mark.oracles,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment of benchmarks/oracles.txt"),
]


@pytest.fixture(scope="module")
def market():
    """Business days without gaps: names a multiple of the quantiles."""
    rng = make_rng(1, "parity")
    close = 20 * np.exp(np.cumsum(0.01 * rng.standard_normal((DAYS, NAMES)), axis=0))
    dates = np.busday_offset("2019-11-01", np.arange(DAYS), roll="forward")
    sectors = {"sector": [f"sector {n % GROUPS}" for n in range(NAMES)]}
    return Panel.from_arrays({"close": close}, dates, [f"S{n}" for n in range(NAMES)], None, sectors)


@pytest.fixture(scope="module")
def factor(market):
    """Five-day reversal and noise."""
    close = market["close"]
    values = np.full(close.shape, np.nan)
    values[5:] = 1 - close[5:] / close[:-5]
    return values + 0.01 * make_rng(2, "parity").standard_normal(close.shape)


@pytest.fixture(scope="module")
def alphalens(market, tmp_path_factory):
    """``alphalens(factor, close)``: its figures."""

    def ask(values, close=None):
        directory = tmp_path_factory.mktemp("alphalens")
        close = market["close"] if close is None else close
        feed = {"factor": values[:-1], "prices": close[1:], "dates": market.dates[:-1], "periods": PERIODS}
        np.savez(directory / "in.npz", groups=np.arange(NAMES) % GROUPS, **feed)
        script = ROOT / "benchmarks" / "evidence" / "peers.py"
        subprocess.run(
            [PYTHON, script, directory / "in.npz", directory / "out.npz", "figures"], check=True, capture_output=True
        )
        with np.load(directory / "out.npz") as found:
            return {name: pad(values) if len(values) == DAYS - 1 else values for name, values in found.items()}

    return ask


@pytest.fixture(scope="module")
def theirs(alphalens, factor):
    return alphalens(factor)


def pad(values):
    """The last day is decided, but filled after the data end."""
    return np.concatenate([values, np.full((1, *values.shape[1:]), np.nan)])


def same(ours, theirs, days, tolerance=1e-12):
    np.testing.assert_allclose(ours[days], theirs[days], rtol=0, atol=tolerance)


# Days where all labels exist: what it keeps.
KEPT = slice(5, DAYS - 1 - max(PERIODS))


def test_it_keeps_the_days_that_have_every_label(theirs):
    counted = np.isfinite(theirs["names"])
    assert np.flatnonzero(counted).tolist() == list(range(KEPT.start, KEPT.stop))


def test_rank_ic_by_day_and_horizon(theirs, factor, market):
    for place, period in enumerate(PERIODS):
        same(rank_ic_series(factor, forward_returns(market, period)), theirs["ic"][:, place], KEPT)


def test_mean_rank_ic_of_the_evidence(theirs, factor, market):
    window = Window("search", market.dates[KEPT.start], market.dates[KEPT.stop + 10])
    found = Evaluator(market, window, horizon=10).evidence(factor)
    assert found.n_days == KEPT.stop - KEPT.start
    assert found.rank_ic == pytest.approx(np.nanmean(theirs["ic"][:, 3]), abs=1e-12)


def test_by_year_and_by_group(theirs, factor, market):
    window = Window("search", market.dates[KEPT.start], market.dates[-1])
    evaluator = Evaluator(market, window, horizon=10)
    years = by_year(evaluator.series(factor))
    assert [part.name for part in years] == ["2019", "2020"]
    assert [part.rank_ic for part in years] == pytest.approx(theirs["ic_by_year"][:, 3], abs=1e-12)

    labels = forward_returns(market, 10)[KEPT]
    values, codes = np.ascontiguousarray(factor[KEPT]), market.group_codes("sector")[KEPT]
    names = tuple(np.unique(market.groups["sector"]))
    found = by_group("sector", names, codes, rank_rows(values), values, rank_rows(labels), labels, None, 10)
    assert [part.rank_ic for part in found] == pytest.approx(theirs["ic_by_group"][:, 3], abs=1e-12)


def test_quantile_returns(theirs, factor, market):
    labels = forward_returns(market, 1)
    same(quantile_return_series(factor, labels), theirs["quantiles"], KEPT)
    np.testing.assert_allclose(quantile_returns(factor[KEPT], labels[KEPT]), theirs["quantile_means"], atol=1e-12)


def test_the_book_of_ranks(theirs, factor, market):
    window = Window("search", market.dates[KEPT.start], market.dates[-1])
    series = Evaluator(market, window, horizon=1).series(factor)
    kept = slice(0, KEPT.stop - KEPT.start)
    same(series.gross, theirs["gross"][KEPT.start :], kept)
    same(series.turnover, theirs["turnover"][KEPT.start :], kept)
    assert turnover(factor[KEPT]) == pytest.approx(np.nanmean(theirs["turnover"][KEPT][1:]), abs=1e-12)


def test_rank_autocorrelation(theirs, factor):
    ranked = rank_rows(factor)
    ours = np.full(DAYS, np.nan)
    ours[1:] = rank_correlation(ranked.rows(1, DAYS), ranked.rows(0, DAYS - 1))
    same(ours, theirs["autocorrelation"], slice(KEPT.start + 1, KEPT.stop))


def test_ties_and_missing_factor_values_leave_the_ic_alike(alphalens, factor, market):
    values = np.round(factor, 2)
    values[make_rng(3, "parity").random(values.shape) < 0.2] = np.nan
    theirs = alphalens(values)
    for place, period in enumerate(PERIODS):
        ours = rank_ic_series(values, forward_returns(market, period))
        kept = np.isfinite(theirs["ic"][:, place])  # it drops days whose ties make two edges of a quantile equal
        assert kept.sum() > 60
        same(ours, theirs["ic"][:, place], kept)


def test_quantiles_differ_by_names_at_the_edges(alphalens, factor, market):
    values = factor.copy()
    values[:, :3] = np.nan  # 47 names: its quantiles hold 10, 9, 9, 9, 10, ours 9, 9, 10, 9, 10
    theirs = alphalens(values)["quantiles"]
    ours = quantile_return_series(values, forward_returns(market, 1))
    apart = np.abs(ours - theirs)[KEPT]
    assert 1e-6 < apart.mean() < 0.002
    same(ours.mean(axis=1), theirs.mean(axis=1), KEPT, 5e-4)


def test_a_price_that_is_missing_is_a_return_for_it_and_none_for_us(alphalens, factor, market):
    gapped = market["close"].copy()
    gapped[50, :10] = np.nan
    theirs = alphalens(factor, gapped)
    panel = Panel.from_arrays({"close": gapped}, market.dates, market.symbols)
    ours = rank_ic_series(factor, forward_returns(panel, 1))
    touched = np.array([48, 49])  # filled into the gap, or out of it
    rest = np.setdiff1d(np.arange(KEPT.start, KEPT.stop), touched)
    same(ours, theirs["ic"][:, 0], rest)
    assert (theirs["names"][touched] == NAMES).all()
    assert (np.isfinite(forward_returns(panel, 1)[touched]).sum(axis=1) == NAMES - 10).all()
    assert (np.abs(ours - theirs["ic"][:, 0])[touched] > 1e-3).all()
