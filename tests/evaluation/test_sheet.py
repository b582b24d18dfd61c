"""The tear sheet, part by part, against the same figures worked out another way."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from alphaswarm.backtest import metrics, rank_rows, rank_weights, stagger
from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.core.runtime import make_rng
from alphaswarm.data import synthetic_market
from alphaswarm.dsl import evaluate
from alphaswarm.evaluation import (
    Evaluator,
    Window,
    bootstrap_interval,
    deflated_sharpe_ratio,
    minimum_backtest_length,
    minimum_track_record_length,
    newey_west_t,
    probabilistic_sharpe_ratio,
)
from alphaswarm.evaluation.breakdown import by_regime, by_year, market_regimes
from alphaswarm.evaluation.capacity import book_capacity, cost_curve
from alphaswarm.evaluation.neutral import ExposureSet, what_is_left
from alphaswarm.evaluation.sheet import TearSheets
from alphaswarm.trading import SquareRootImpact, TradedNames

START = 300


@pytest.fixture(scope="module")
def panel():
    return synthetic_market("planted", days=420, names=120, seed=3, ic=0.1)


@pytest.fixture(scope="module")
def values(panel):
    found = evaluate("cs_rank(-ts_sum(returns, 5))", panel)
    found[310, 20:] = np.nan  # a day without a cross-section
    found[:, 5] = np.nan
    return found


@pytest.fixture(scope="module")
def evaluator(panel):
    return Evaluator(panel, Window("search", panel.dates[START], panel.dates[-20]))


@pytest.fixture(scope="module")
def momentum(panel):
    return evaluate("ts_sum(returns, 120)", panel)


@pytest.fixture(scope="module")
def sheet(evaluator, values, momentum):
    return TearSheets(evaluator, known={"momentum": momentum}).sheet(values, n_trials=40, seed=9)


def rows_of(evaluator):
    return evaluator.rows.start, evaluator.rows.stop


def test_figures_and_series_are_those_of_the_evaluator(sheet, evaluator, values):
    assert sheet.evidence == evaluator.evidence(values)
    assert sheet.evidence.evidence_t is not None
    series = evaluator.series(values)
    np.testing.assert_array_equal(sheet.series.gross, series.gross)
    assert sheet.years == by_year(series)
    assert sheet.costs == cost_curve(series)
    decay = evaluator.evidence_decay(values)
    assert list(sheet.evidence_decay) == [1, 2, 5, 10, 20]
    for h, (mean, t) in sheet.evidence_decay.items():
        assert mean == pytest.approx(np.nanmean(decay[h]), rel=1e-12)
        assert t == newey_west_t(decay[h], horizon=h)
    assert sheet.evidence_decay[5] == (sheet.evidence.evidence, sheet.evidence.evidence_t)


def test_what_is_left_by_exposure(sheet, evaluator, panel, values, momentum):
    start, stop = rows_of(evaluator)
    frame = pd.DataFrame(panel["returns"])
    spread = frame.rolling(60, min_periods=30).std()
    size = np.log(pd.DataFrame(panel["dollar_volume"]).rolling(60, min_periods=30).mean())
    market = frame.mean(axis=1)
    beta = frame.rolling(60).cov(market).div(market.rolling(60).var(), axis=0)
    exposures = {"beta": beta, "volatility": spread, "size": size}
    shape = (stop - start, panel.shape[1])
    whole = ExposureSet.of(
        {name: table.to_numpy()[start:stop] for name, table in exposures.items()},
        {"sector": panel.group_codes("sector")[start:stop]},
        shape=shape,
    )
    rows = {name: (name,) for name in whole.names} | {"all": whole.names}
    ranked, labels = rank_rows(values[start:stop]), evaluator.label_ranks[5]
    expected = what_is_left(ranked, whole, rows, labels, evaluator.per_risk[5], 5)
    known = ExposureSet.of({"momentum": momentum[start:stop]}, shape=shape)
    expected += what_is_left(ranked, known, {"known": ("momentum",)}, labels, evaluator.per_risk[5], 5)
    assert [row.name for row in sheet.left] == ["sector", "beta", "volatility", "size", "all", "known"]
    for got, row in zip(sheet.left, expected, strict=True):
        assert (got.name, got.exposures, got.n_days) == (row.name, row.exposures, row.n_days)
        figures = (got.rank_ic, got.rank_ic_t, got.evidence, got.evidence_t)
        assert figures == pytest.approx((row.rank_ic, row.rank_ic_t, row.evidence, row.evidence_t), rel=1e-6)


def test_nothing_is_left_beside_oneself(evaluator, values):
    sheet = TearSheets(evaluator, known={"itself": -3 * values}).sheet(values)
    known = sheet.left[-1]
    assert (known.name, known.n_days) == ("known", 0)
    assert known.rank_ic is known.evidence_t is None


def test_regimes_are_those_of_the_market(sheet, evaluator, panel):
    start, stop = rows_of(evaluator)
    market = np.append(np.nan, panel["returns"][1:stop].mean(axis=1))
    states = {name: days[start:] for name, days in market_regimes(market).items()}
    assert sheet.regimes == by_regime(sheet.series, states)
    assert {part.name for part in sheet.regimes if part.n} >= {"volatility high", "volatility low"}


def test_groups_are_sectors(sheet, panel, evaluator, values):
    start, stop = rows_of(evaluator)
    sectors = np.unique(panel.groups["sector"][0])
    assert [part.name for part in sheet.groups] == [f"sector: {name}" for name in sectors]
    place, name = next((k, s) for k, s in enumerate(sectors) if (panel.groups["sector"][0] == s).sum() >= 15)
    inside = panel.groups["sector"][0] == name
    factor = pd.DataFrame(values[start:stop, inside])
    label = pd.DataFrame(evaluator.labels[5][:, inside])
    both = factor.notna() & label.notna()
    a, b = (table.where(both).round(10).rank(axis=1) for table in (factor, label))
    expected = a.corrwith(b, axis=1)[both.sum(axis=1) >= 10]
    assert sheet.groups[place].n == expected.count()
    assert sheet.groups[place].rank_ic == pytest.approx(expected.mean(), rel=1e-9)


@pytest.mark.parametrize(("name", "bp"), [("gross", 0.0), ("net", 5.0)])
def test_sharpe_figures(sheet, name, bp):
    figures = getattr(sheet, name)
    net = sheet.series.net(bp)[sheet.series.active]
    standard = (net - net.mean()) / net.std()
    skew, kurtosis = (standard**3).mean(), (standard**4).mean()
    ratio, n = net.mean() / net.std(ddof=1), net.size
    assert figures.sharpe == pytest.approx(ratio * math.sqrt(252), rel=1e-12)
    assert figures.psr == pytest.approx(probabilistic_sharpe_ratio(ratio, n, skew, kurtosis), rel=1e-12)
    assert figures.dsr == pytest.approx(deflated_sharpe_ratio(ratio, n, 40, 1 / n, skew, kurtosis), rel=1e-12)
    assert figures.min_track_record == pytest.approx(minimum_track_record_length(ratio, skew, kurtosis), rel=1e-12)
    assert figures.min_backtest == pytest.approx(minimum_backtest_length(40, ratio), rel=1e-12)
    assert (figures.n_obs, figures.n_trials) == (n, 40)
    ends = bootstrap_interval(net, "sharpe", rng=make_rng(9, "tear sheet", name), horizon=5)
    assert figures.interval == pytest.approx([math.sqrt(252) * end for end in ends], rel=1e-12)
    assert figures.interval[0] < figures.sharpe < figures.interval[1]


def test_intervals_hold_the_means_and_follow_the_seed(sheet, evaluator, values):
    for name in ("rank_ic", "evidence"):
        low, high = sheet.intervals[name]
        assert low < getattr(sheet.evidence, name) < high
    sheets = TearSheets(evaluator)
    assert sheets.sheet(values, seed=9).intervals == sheet.intervals
    assert sheets.sheet(values, seed=8).intervals != sheet.intervals


def test_the_book_once_more(sheet, evaluator, panel, values):
    start, stop = rows_of(evaluator)
    active = sheet.series.active
    book = stagger(rank_weights(values[start - 5 : stop]), 5)
    weights, traded = book[5:], np.abs(np.diff(book, axis=0))[4:]
    assert sheet.max_weight == pytest.approx(np.abs(weights).max(), rel=1e-12)
    assert sheet.exposure["gross"] == pytest.approx(np.abs(weights).sum(axis=1)[active].mean(), rel=1e-12)
    assert sheet.exposure["net"] == pytest.approx(0.0, abs=1e-12)
    spread = np.log(pd.DataFrame(panel["returns"]).rolling(60, min_periods=30).std())
    scores = spread.sub(spread.mean(axis=1), axis=0).div(spread.std(axis=1), axis=0).fillna(0).to_numpy()[start:stop]
    expected = (weights * scores).sum(axis=1)[active].mean()
    assert sheet.exposure["volatility"] == pytest.approx(expected, rel=1e-9)
    assert set(sheet.exposure) == {"gross", "net", "beta", "volatility", "size"}

    volume = pd.DataFrame(panel["dollar_volume"]).rolling(20, min_periods=10).mean().to_numpy()[start:stop]
    names = TradedNames(dollar_volume=volume[active], volatility=np.exp(spread.to_numpy()[start:stop][active]))
    model = SquareRootImpact(0.5, cap=0.01)
    expected = book_capacity(traded[active], sheet.series.gross[active], names, periods=252, impact=model)
    got = TearSheets(evaluator, impact=model).sheet(values).capacity
    assert got.impact_aum == pytest.approx(expected.impact_aum, rel=1e-8)
    assert got.volume_aum == pytest.approx(expected.volume_aum, rel=1e-8)
    assert (got.covered, got.coefficient, got.cap) == (1.0, 0.5, 0.01)


def test_the_liquid_half(sheet, evaluator, panel, values):
    start, stop = rows_of(evaluator)
    volume = pd.DataFrame(panel["dollar_volume"]).rolling(60, min_periods=30).mean()
    liquid = volume.gt(volume.median(axis=1), axis=0).to_numpy()
    half = np.where(liquid, values, np.nan)[start - 5 : stop]
    book = stagger(rank_weights(half), 5)[5:]
    gross = (book * np.nan_to_num(evaluator.labels[1])).sum(axis=1)[:-2]
    found = sheet.sub_universe
    assert found.sharpe == pytest.approx(metrics.sharpe(gross, 252), rel=1e-9)
    ranked = np.isfinite(values[start:stop]).sum(axis=1)
    days = ranked >= 30
    assert found.of_names == pytest.approx(ranked[days].mean(), rel=1e-12)
    assert found.names == pytest.approx(np.isfinite(half[5:]).sum(axis=1)[days].mean(), rel=1e-12)
    expected = 0.75 * math.sqrt(found.names / found.of_names) * sheet.evidence.sharpe
    assert found.bound == pytest.approx(expected, rel=1e-12)
    assert sheet.brain[4].value == found.sharpe


def test_a_sheet_is_plain_json(sheet):
    plain = json.loads(json.dumps(sheet.to_dict(), allow_nan=False))
    assert plain["evidence"]["rank_ic"] == sheet.evidence.rank_ic
    assert plain["evidence_decay"]["20"]["t"] == sheet.evidence_decay[20][1]
    assert plain["left"][0]["name"] == "sector"
    assert len(plain["series"]["dates"]) == len(plain["series"]["evidence"]) == sheet.series.dates.size
    assert plain["series"]["dates"][0] == str(sheet.series.dates[0])[:10]
    assert None in plain["series"]["rank_ic"]
    assert plain["intervals"]["rank_ic"] == list(sheet.intervals["rank_ic"])
    assert len(plain["brain"]) == 5


def test_rows_after_the_window_change_nothing(panel, evaluator, values, momentum, sheet):
    rng = np.random.default_rng(1)
    stop = evaluator.rows.stop
    fields = {}
    for name, array in panel.fields.items():
        fields[name] = array.copy()
        fields[name][stop:] = np.abs(rng.standard_normal(array[stop:].shape)) * 0.1
    other = Panel.from_arrays(fields, panel.dates, panel.symbols, panel.universe, panel.groups, panel.meta)
    changed, known = values.copy(), momentum.copy()
    changed[stop:], known[stop:] = 7.0, -1.0
    again = TearSheets(Evaluator(other, evaluator.window), known={"momentum": known})
    assert again.sheet(changed, n_trials=40, seed=9).to_dict() == sheet.to_dict()


def test_a_bare_panel_says_what_is_left_out(market, factor):
    evaluator = Evaluator(market, Window("search", market.dates[20], market.dates[-1]))
    sheet = TearSheets(evaluator).sheet(factor)
    assert sheet.groups == ()
    assert [row.name for row in sheet.left] == ["beta", "volatility", "all"]
    assert sheet.left[0].n_days > 0
    assert sheet.capacity.aum is sheet.sub_universe.sharpe is sheet.left[0].evidence is None
    assert sheet.missing["left.sector"] == "the panel has no group sector"
    assert "dollar_volume" in sheet.missing["left.size"]
    assert sheet.missing["capacity"] == sheet.missing["sub_universe"] == "the panel has no dollar volume"
    assert "evidence" in sheet.missing
    json.dumps(sheet.to_dict(), allow_nan=False)


def test_a_factor_that_says_nothing_has_a_sheet(evaluator, panel):
    sheet = TearSheets(evaluator).sheet(np.ones(panel.shape))
    assert sheet.gross.sharpe is sheet.net.interval is sheet.max_weight is sheet.intervals["rank_ic"] is None
    assert sheet.capacity.reason.startswith("nothing is traded")
    assert sheet.exposure["gross"] is None
    assert all(row.n_days == 0 for row in sheet.left)
    json.dumps(sheet.to_dict(), allow_nan=False)
    empty = TearSheets(evaluator).sheet(np.full(panel.shape, np.nan))
    assert empty.sub_universe.reason == "the factor is never ranked"


def test_wrong_arguments_are_refused(evaluator, values):
    with pytest.raises(EvidenceInvalid, match="at least 1"):
        TearSheets(evaluator).sheet(values, n_trials=0)
    with pytest.raises(EvidenceInvalid, match="must have the panel's"):
        TearSheets(evaluator).sheet(values[:, 1:])
    with pytest.raises(EvidenceInvalid, match="'short' must have the factor's shape"):
        TearSheets(evaluator, known={"short": values[:50]})
