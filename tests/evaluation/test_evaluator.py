from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from alphaswarm.backtest import rank_weights, stagger
from alphaswarm.core import EvidenceInvalid, FieldNotFound, Panel, SpecInvalid
from alphaswarm.evaluation import (
    DECAY_HORIZONS,
    Evaluator,
    Exposures,
    Window,
    mean_z,
    newey_west_t,
    rank_ic_series,
    turnover,
)
from alphaswarm.evaluation.labels import forward_returns


def window(panel, start, stop, role="search"):
    return Window(role, panel.dates[start].astype("datetime64[D]"), panel.dates[stop - 1].astype("datetime64[D]"))


def damaged(panel, row):
    """The panel with every price from `row` on made up anew, gaps and all."""
    rng = np.random.default_rng(0)
    fields = {}
    for name, values in panel.fields.items():
        changed = values.copy()
        changed[row:] = rng.uniform(1, 100, changed[row:].shape)
        changed[row:][rng.random(changed[row:].shape) < 0.3] = np.nan
        fields[name] = changed
    universe = panel.universe.copy()
    universe[row:] = False
    return Panel.from_arrays(fields, panel.dates, panel.symbols, universe)


@pytest.mark.parametrize("fill", ["close_t1", "open_t1"])
@pytest.mark.parametrize("horizon", [1, 3, 5])
@pytest.mark.parametrize(("start", "stop"), [(0, 120), (90, 180), (0, 180)])
def test_every_figure_agrees_with_pandas(market, factor, recompute, agrees, start, stop, horizon, fill):
    evaluator = Evaluator(market, window(market, start, stop), horizon=horizon, fill=fill)
    found = evaluator.evidence(factor).to_dict()
    agrees(found, recompute(market, factor, start, stop, horizon, fill))


@pytest.mark.parametrize("fill", ["close_t1", "open_t1"])
def test_nothing_after_the_window_counts(market, factor, fill):
    within = window(market, 40, 120)
    found = Evaluator(market, within, fill=fill).evidence(factor).to_dict()
    changed = factor.copy()
    changed[120:] = np.random.default_rng(1).standard_normal(changed[120:].shape)
    assert Evaluator(damaged(market, 120), within, fill=fill).evidence(changed).to_dict() == found
    cut = market.head(120)
    assert Evaluator(cut, within, fill=fill).evidence(factor[:120]).to_dict() == found


def test_no_price_before_the_window_counts_but_earlier_factor_rows_may(market, factor):
    within = window(market, 40, 120)
    found = Evaluator(market, within).evidence(factor)
    changed = {name: np.vstack([np.full((40, 45), 7.0), values[40:]]) for name, values in market.fields.items()}
    other = Panel.from_arrays(changed, market.dates, market.symbols, market.universe)
    assert Evaluator(other, within).evidence(factor) == found
    earlier = factor.copy()
    earlier[:35] = 0  # what was held before the first row goes back five rows
    assert Evaluator(market, within).evidence(earlier) == found
    earlier[35] *= -1
    assert Evaluator(market, within).evidence(earlier).breakeven_bp != found.breakeven_bp


def test_the_last_label_ends_inside_the_window(market, factor):
    series = Evaluator(market, window(market, 0, 120), horizon=5).series(factor)
    assert np.flatnonzero(series.decision)[-1] + 1 + 5 == 119
    assert np.flatnonzero(np.isfinite(series.rank_ic))[-1] == 113
    assert np.flatnonzero(series.active)[-1] + 2 == 119
    assert np.isnan(series.gross[-2:]).all()


def test_a_day_without_differences_or_names_is_missing_and_counted(market, factor):
    found = Evaluator(market, window(market, 0, 120), horizon=1).evidence(factor)
    series = Evaluator(market, window(market, 0, 120), horizon=1).series(factor)
    assert np.isnan(series.rank_ic[[60, 70]]).all()
    assert np.isnan(series.ic[[60, 70]]).all()
    assert found.n_days + found.undefined_days == 118
    assert found.undefined_days == np.isnan(series.rank_ic[:118]).sum() >= 7


def test_the_series_are_those_of_the_public_functions(market, factor):
    series = Evaluator(market, window(market, 0, 180), horizon=2).series(factor)
    np.testing.assert_array_equal(series.rank_ic, rank_ic_series(factor, forward_returns(market, 2)))
    np.testing.assert_array_equal(series.decay[2], series.rank_ic)
    book = stagger(rank_weights(factor), 2)
    earned = np.nan_to_num(forward_returns(market, 1))
    np.testing.assert_allclose(series.gross[series.active], (book * earned).sum(axis=1)[series.active], atol=1e-16)
    np.testing.assert_allclose(series.equity(5)[-1], np.prod(1 + series.net(5)[series.active]))


def test_the_first_entry_is_charged_but_left_out_of_turnover(market, factor):
    found = Evaluator(market, window(market, 0, 180), horizon=1).series(factor)
    first = np.flatnonzero(found.active)[0]
    assert found.turnover[first] == pytest.approx(1.0)
    assert turnover(factor) == pytest.approx(found.turnover[first + 1 :].mean())
    assert turnover(np.full((3, 40), np.nan)) is None


def test_the_sign_turns_what_has_a_sign(market, factor):
    evaluator = Evaluator(market, window(market, 0, 180))
    up, down = evaluator.evidence(factor), evaluator.evidence(-factor)
    for name in ("ic", "ic_t", "rank_ic", "rank_ic_t", "rank_icir", "sharpe", "breakeven_bp", "ann_return"):
        assert getattr(down, name) == pytest.approx(-getattr(up, name), rel=1e-12)
    for name in ("turnover", "coverage", "rank_autocorr", "n_days"):
        assert getattr(down, name) == pytest.approx(getattr(up, name), rel=1e-12)


def test_a_perfect_factor_is_perfect(market):
    labels = forward_returns(market, 1)
    found = Evaluator(market, window(market, 0, 180), horizon=1).evidence(labels)
    assert found.ic == pytest.approx(1, rel=1e-12)
    assert found.rank_ic == 1
    assert found.rank_ic_t is None  # it does not vary
    assert "vary" in found.missing["rank_ic_t"]
    assert list(found.quantiles) == sorted(found.quantiles)


@pytest.mark.parametrize("value", [np.nan, 1.0])
def test_a_factor_that_says_nothing_has_reasons_instead_of_figures(market, value):
    found = Evaluator(market, window(market, 0, 180)).evidence(np.full(market.shape, value))
    assert found.n_days == 0
    plain = found.to_dict()
    empty = [name for name, figure in plain.items() if figure is None]
    assert {"ic", "ic_t", "rank_ic", "spread", "turnover", "sharpe", "breakeven_bp", "max_drawdown"} <= set(empty)
    assert set(empty) <= set(found.missing)
    assert all(found.missing.values())
    assert plain["quantiles"] == [None] * 5
    assert plain["net_sharpe"]["5"] is None
    assert "net_sharpe.5" in found.missing


def test_no_reason_is_given_for_what_is_there(market, factor):
    missing = Evaluator(market, window(market, 0, 180)).evidence(factor).missing
    # too short for them
    assert set(missing) == {"evidence", "evidence_t", "evidence_z", "residual_rank_ic", "residual_rank_ic_t"}


def test_a_short_window_lacks_long_horizons_only(market, factor):
    found = Evaluator(market, window(market, 100, 115), horizon=2).evidence(factor)
    assert found.decay[20].rank_ic is None
    assert "decay.20" in found.missing
    assert found.rank_ic is not None


def test_evaluation_can_be_repeated(market, factor):
    one, two = (Evaluator(market, window(market, 0, 120)).evidence(factor) for _ in range(2))
    assert one == two


def test_periods_and_costs_are_those_asked_for(market, factor):
    weekly = replace(market, meta={"periods_per_year": 63})
    daily = Evaluator(market, window(market, 0, 180)).evidence(factor)
    found = Evaluator(weekly, window(market, 0, 180), cost_bp=2.5).evidence(factor)
    assert found.sharpe == pytest.approx(daily.sharpe / 2)
    assert list(found.net_sharpe) == [0, 1, 2, 2.5, 5, 10]
    assert found.max_drawdown > daily.max_drawdown  # cheaper


def test_the_panel_offered_ends_with_the_window(market):
    evaluator = Evaluator(market, window(market, 40, 120))
    assert evaluator.panel.shape == (120, 45)


def test_what_is_asked_must_make_sense(market, factor):
    within = window(market, 0, 120)
    with pytest.raises(EvidenceInvalid, match="horizon must be at least 1"):
        Evaluator(market, within, horizon=0)
    with pytest.raises(EvidenceInvalid, match="close_t1, open_t1"):
        Evaluator(market, within, fill="close")
    with pytest.raises(EvidenceInvalid, match="rows of the panel"):
        Evaluator(market, within, horizon=119)
    with pytest.raises(EvidenceInvalid, match="got 0"):
        Evaluator(market, Window("search", np.datetime64("1999-01-01"), np.datetime64("1999-12-31")))
    with pytest.raises(SpecInvalid, match="basis points"):
        Evaluator(market, within, cost_bp=-1)
    with pytest.raises(EvidenceInvalid, match="45 symbols"):
        Evaluator(market, within).evidence(factor[:, :40])
    with pytest.raises(EvidenceInvalid, match="at least the 120 rows"):
        Evaluator(market, within).evidence(factor[:119])
    closes = Panel.from_arrays({"close": market["close"]}, market.dates, market.symbols)
    with pytest.raises(FieldNotFound, match="'open'"):
        Evaluator(closes, within, fill="open_t1")


def test_series_are_read_only(market, factor):
    series = Evaluator(market, window(market, 0, 120)).series(factor)
    for array in (series.ic, series.rank_ic, series.gross, series.decay[20], series.decision):
        assert not array.flags.writeable


@pytest.fixture(scope="module")
def reversal(wide):
    close = wide["close"]
    values = np.full(close.shape, np.nan)
    values[5:] = -np.round(close[5:] / close[:-5] - 1, 2)
    return np.where(wide.universe, values, np.nan)


@pytest.mark.parametrize("horizon", [1, 5])
def test_what_is_left_after_common_risks(wide, reversal, residual_by_hand, horizon):
    stop = 325
    series = Evaluator(wide, window(wide, 230, stop), horizon=horizon).series(reversal)
    found = Evaluator(wide, window(wide, 230, stop), horizon=horizon).evidence(reversal)
    seen = wide.head(stop)
    residual, daily, risk = residual_by_hand(seen, forward_returns(seen, horizon), forward_returns(seen, 1))
    book = stagger(rank_weights(reversal), horizon)
    defined = 0
    for row, day in enumerate(range(230, stop)):
        both = np.isfinite(reversal[day]) & np.isfinite(residual[day])
        if both.sum() < 30:
            assert np.isnan([series.evidence[row], series.residual_rank_ic[row]]).all()
            continue
        defined += 1
        ranks = rankdata(reversal[day, both])
        expected = np.corrcoef(ranks, residual[day, both] / risk[day, both])[0, 1]
        assert series.evidence[row] == pytest.approx(expected, abs=1e-9)
        assert series.residual_rank_ic[row] == pytest.approx(spearmanr(ranks, residual[day, both])[0], abs=1e-9)
    assert found.evidence_days == defined > 50
    assert found.evidence == pytest.approx(np.nanmean(series.evidence))
    assert found.evidence_t == newey_west_t(series.evidence, horizon=horizon)
    assert found.evidence_z == mean_z(series.evidence, horizon=horizon)
    assert found.residual_rank_ic_t == newey_west_t(series.residual_rank_ic, horizon=horizon)
    earned = np.einsum("ti,ti->t", book[252 : stop - 2], np.nan_to_num(daily[252 : stop - 2]))
    np.testing.assert_allclose(series.neutral[22:-2], earned, atol=1e-15)
    assert np.isnan(series.neutral[:22]).all()
    assert np.isnan(series.neutral[-2:]).all()


def test_residuals_need_nothing_after_the_window(wide, reversal):
    within = window(wide, 200, 300)
    found = Evaluator(wide, within).evidence(reversal)
    assert found.evidence is not None
    assert Evaluator(damaged(wide, 300), within).evidence(reversal) == found
    for rows in (300, 330):  # the same from those of the whole panel
        shared = Exposures.of(wide.head(rows))
        assert Evaluator(wide, within, exposures=shared).evidence(reversal) == found
        assert Evaluator(wide, within, horizon=2, fill="open_t1", exposures=shared).exposures is shared


def test_exposures_must_be_those_of_the_panel(wide, market):
    within = window(wide, 200, 300)
    for other in (market, wide.head(299)):
        with pytest.raises(EvidenceInvalid, match="exposures must be those of the panel"):
            Evaluator(wide, within, exposures=Exposures.of(other))


def test_the_sign_turns_residual_evidence_too(wide, reversal):
    evaluator = Evaluator(wide, window(wide, 0, 330))
    up, down = evaluator.series(reversal), evaluator.series(-reversal)
    for name in ("evidence", "residual_rank_ic", "neutral"):
        np.testing.assert_allclose(getattr(down, name), -getattr(up, name), rtol=1e-12, atol=1e-18)


def test_evidence_by_horizon(wide, reversal):
    evaluator = Evaluator(wide, window(wide, 200, 330))
    decay = evaluator.evidence_decay(reversal)
    assert list(decay) == list(DECAY_HORIZONS)
    for horizon, evidence in decay.items():
        alone = Evaluator(wide, window(wide, 200, 330), horizon=horizon).series(reversal)
        np.testing.assert_array_equal(alone.evidence, evidence)
    assert evaluator.evidence_decay(-reversal)[10] == pytest.approx(-decay[10], nan_ok=True)
    assert evaluator.evidence(reversal).evidence_t == newey_west_t(decay[5], horizon=5)


def test_why_there_is_no_residual_evidence(wide, market, factor, reversal):
    short = Evaluator(wide, window(wide, 0, 252)).evidence(reversal)
    assert "252 rows of history" in short.missing["evidence"]
    assert short.evidence is short.residual_rank_ic_t is None
    assert short.evidence_days == 0
    narrow = {name: values[:, :50] for name, values in wide.fields.items()}
    few = Panel.from_arrays(narrow, wide.dates, wide.symbols[:50], wide.universe[:, :50])
    assert "names enough" in Evaluator(few, window(wide, 0, 330)).evidence(reversal[:, :50]).missing["evidence"]
    constant = Evaluator(wide, window(wide, 0, 330)).evidence(np.ones(wide.shape))
    assert "names with a residual" in constant.missing["evidence"]
    assert np.isnan(Evaluator(wide, window(wide, 0, 330)).series(np.ones(wide.shape)).evidence).all()
    assert Evaluator(wide, window(wide, 0, 330)).evidence(reversal).missing == {}


def test_an_exposure_left_out_is_named(wide, reversal):
    bare = Panel.from_arrays({"close": wide["close"]}, wide.dates, wide.symbols, wide.universe)
    found = Evaluator(bare, window(wide, 200, 330)).evidence(reversal)
    assert found.evidence is not None
    assert set(found.missing) == {"evidence.size"}
