import statistics

import numpy as np
import pandas as pd
import pytest

from alphaswarm.backtest import metrics, rank_rows
from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.evaluation import Evaluator, Window, newey_west_t
from alphaswarm.evaluation.breakdown import (
    MIN_GROUP,
    REGIME_ROWS,
    by_group,
    by_regime,
    by_year,
    market_regimes,
)


@pytest.fixture(scope="module")
def series(market, factor):
    return Evaluator(market, Window("search", market.dates[20], market.dates[-1])).series(factor)


def figures(values, horizon):
    known = values[np.isfinite(values)]
    return (float(known.mean()) if known.size else None), newey_west_t(values, horizon=horizon)


def check(part, series, days):
    assert part.n == np.isfinite(series.rank_ic[days]).sum()
    assert (part.ic, part.ic_t) == figures(series.ic[days], series.horizon)
    assert (part.rank_ic, part.rank_ic_t) == figures(series.rank_ic[days], series.horizon)
    assert (part.evidence, part.evidence_t) == figures(series.evidence[days], series.horizon)
    assert part.sharpe == metrics.sharpe(series.gross[days & series.active], series.periods)


def test_years_are_calendar_years():
    rng = np.random.default_rng(3)
    dates = np.datetime64("2019-11-01") + np.arange(130)
    close = 10 * np.exp(np.cumsum(rng.normal(0, 0.01, (130, 40)), axis=0))
    panel = Panel.from_arrays({"close": close}, dates, [f"S{i}" for i in range(40)])
    series = Evaluator(panel, Window("search", dates[0], dates[-1])).series(rng.standard_normal(close.shape))
    parts = by_year(series)
    assert [part.name for part in parts] == ["2019", "2020"]
    late = dates >= np.datetime64("2020-01-01")
    check(parts[0], series, ~late)
    check(parts[1], series, late)
    assert parts[0].n + parts[1].n == np.isfinite(series.rank_ic).sum()
    assert parts[0].to_dict()["name"] == "2019"


def test_regimes_string_their_dates_together(series):
    odd = np.arange(series.dates.size) % 2 == 1
    parts = by_regime(series, {"odd": odd, "never": np.zeros_like(odd)})
    check(parts[0], series, odd)
    assert parts[1].n == 0
    assert parts[1].rank_ic is parts[1].rank_ic_t is parts[1].sharpe is None
    with pytest.raises(EvidenceInvalid, match="'short' must mark the"):
        by_regime(series, {"short": odd[1:]})


def test_the_state_of_the_market_by_hand():
    rng = np.random.default_rng(4)
    market = rng.normal(0.0005, 0.01, 260) * np.where(np.arange(260) % 130 < 65, 0.5, 2.0)
    market[100] = np.nan
    found = market_regimes(market)
    spreads = []
    for t in range(market.size):
        rows = market[max(0, t - REGIME_ROWS + 1) : t + 1]
        if rows.size < REGIME_ROWS or np.isnan(rows).any():
            assert not any(days[t] for days in found.values())
            continue
        spreads.append(statistics.stdev(rows))
        up, high = np.prod(1 + rows) > 1, spreads[-1] > statistics.median(spreads)
        assert [found[name][t] for name in ("market up", "market down")] == [up, not up]
        assert [found[name][t] for name in ("volatility high", "volatility low")] == [high, not high]
    assert all(days.any() for days in found.values())


def test_the_state_of_the_market_is_known_at_the_close():
    market = np.random.default_rng(5).normal(0, 0.01, 200)
    later = market.copy()
    later[150:] *= -7
    for name, days in market_regimes(market).items():
        np.testing.assert_array_equal(days[:150], market_regimes(later)[name][:150])
        np.testing.assert_array_equal(days[:150], market_regimes(market[:150])[name])


def test_a_short_market_has_no_state():
    assert not any(days.any() for days in market_regimes(np.zeros(REGIME_ROWS - 1)).values())


@pytest.fixture(scope="module")
def grouped():
    """Factor, label, scaled residual and codes of 20 days by 70 names in three groups, the last one small."""
    rng = np.random.default_rng(6)
    shape = (20, 70)
    factor, label, scaled = (
        np.where(rng.random(shape) < gap, np.nan, rng.standard_normal(shape).round(1)) for gap in (0.05, 0.03, 0.2)
    )
    label += 0.3 * np.nan_to_num(factor).round(1)
    codes = np.where(rng.random(shape) < 0.5, 0, 1).astype(np.int32)
    codes[:, :9] = 2
    codes[rng.random(shape) < 0.1] = -1
    factor[7] = np.where(codes[7] == 1, 3.0, factor[7])  # no differences in one group
    return factor, label.round(6), scaled, codes


@pytest.mark.parametrize("with_residual", [False, True])
def test_groups_are_correlations_among_their_names(grouped, with_residual):
    factor, label, scaled, codes = grouped
    residual = scaled if with_residual else None
    parts = by_group(
        "sector", ("A", "B", "C"), codes, rank_rows(factor), factor, rank_rows(label), label, residual, horizon=2
    )
    assert [part.name for part in parts] == ["sector: A", "sector: B", "sector: C"]

    def correlation(g, a, b, ranked):
        rows = []
        for t in range(codes.shape[0]):
            both = pd.DataFrame({"a": a[t], "b": b[t]})[codes[t] == g].dropna()
            enough = len(both) >= MIN_GROUP and both.a.nunique() > 1
            if ranked == "both":
                both = both.rank()
            elif ranked == "factor":
                both["a"] = both.a.rank()
            rows.append(both.a.corr(both.b) if enough else np.nan)
        return np.array(rows)

    for g, part in enumerate(parts):
        expected = {"ic": correlation(g, factor, label, ""), "rank_ic": correlation(g, factor, label, "both")}
        expected["evidence"] = correlation(g, factor, scaled, "factor") if with_residual else np.full(20, np.nan)
        assert part.n == np.isfinite(expected["rank_ic"]).sum()
        assert part.sharpe is None
        for name, values in expected.items():
            mean, t = figures(values, 2)
            assert getattr(part, name) == (mean if mean is None else pytest.approx(mean, rel=1e-11))
            assert getattr(part, f"{name}_t") == (t if t is None else pytest.approx(t, rel=1e-10))
    assert parts[0].n == 20
    assert parts[1].n == 19
    assert parts[2].n == 0


def test_groups_need_one_shape(grouped):
    factor, label, _, codes = grouped
    with pytest.raises(EvidenceInvalid, match="must share a shape"):
        by_group("s", ("A",), codes[1:], rank_rows(factor), factor, rank_rows(label), label, None, 1)
