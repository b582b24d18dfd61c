"""Values that other systems got wrong in public, each with the right one, on every engine."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import FieldNotFound, Panel
from alphaswarm.dsl.evaluate import evaluate

NAN = np.nan


@pytest.fixture(params=["numba", "reference", "torch"])
def engine(request):
    return request.param


def panel_of(**fields):
    arrays = {name: np.array(values, float).reshape(len(values), -1) for name, values in fields.items()}
    rows, names = next(iter(arrays.values())).shape
    dates = np.datetime64("2020-01-01") + np.arange(rows)
    return Panel.from_arrays(arrays, dates, [f"s{n}" for n in range(names)])


def last(text, engine, **fields):
    return evaluate(text, panel_of(**fields), engine=engine)[-1, 0]


# Linear decay gives the newest row the largest weight and the weights sum to one.
def test_decay_linear(engine):
    assert last("decay_linear(x, 5)", engine, x=[6, 5, 4, 5, 30]) == pytest.approx(13.2, rel=1e-15)
    assert last("decay_linear(x, 3)", engine, x=[1, 2, 3]) == pytest.approx(14 / 6, rel=1e-15)
    constant = evaluate("decay_linear(x, 5)", panel_of(x=[10.0] * 8), engine=engine)[:, 0]
    np.testing.assert_array_equal(constant, [NAN] * 4 + [10.0] * 4)


def test_decay_linear_stays_within_its_window(engine):
    x = np.random.default_rng(0).normal(size=40)
    got = evaluate("decay_linear(x, 7)", panel_of(x=x), engine=engine)[6:, 0]
    windows = np.lib.stride_tricks.sliding_window_view(x, 7)
    assert (got >= windows.min(axis=1)).all()
    assert (got <= windows.max(axis=1)).all()


# The place of the largest value is never that of a missing one.
def test_argmax_skips_missing(engine):
    assert last("ts_argmax(x, 3, min_obs=1)", engine, x=[NAN, 3, 2]) == 1.0
    assert last("ts_argmin(x, 3, min_obs=1)", engine, x=[NAN, 2, 3]) == 1.0
    assert np.isnan(last("ts_argmax(x, 3)", engine, x=[NAN, 3, 2]))


# Ranks are shares of the count, ties share their average place.
def test_cs_rank(engine):
    got = evaluate("cs_rank(x)", panel_of(x=[[10, 20, 20, 40]]), engine=engine)
    np.testing.assert_array_equal(got, [[0.25, 0.625, 0.625, 1.0]])


def test_ts_rank_ascends(engine):
    assert last("ts_rank(x, 5)", engine, x=[1, 2, 3, 4, 5]) == 1.0
    assert last("ts_rank(x, 5)", engine, x=[5, 4, 3, 2, 1]) == 0.2


# A return never reaches across assets, nor across a missing price.
def test_returns_stay_within_one_asset(engine):
    panel = panel_of(close=[[10, 100], [11, 110]])
    for text in ("pct_change(close, 1)", "returns"):
        got = evaluate(text, panel, engine=engine)
        np.testing.assert_array_equal(got[0], [NAN, NAN])
        np.testing.assert_allclose(got[1], [0.1, 0.1], rtol=1e-14)


def test_returns_are_not_filled_forward(engine):
    assert np.isnan(evaluate("returns", panel_of(close=[10, NAN, 12]), engine=engine)).all()
    gap = evaluate("pct_change(close, 2)", panel_of(close=[10, NAN, 12]), engine=engine)[:, 0]
    np.testing.assert_allclose(gap, [NAN, NAN, 12 / 10 - 1])


# A leading missing row changes no later correlation, and none leaves [-1, 1].
def test_correlation_after_a_missing_row(engine):
    a, b = [1.06, 1.07, 0.93, 0.78, 0.85], [1, 1.06, 1.07, 0.93, 0.78]
    right = 0.6220470871
    assert last("ts_corr(a, b, 5)", engine, a=a, b=b) == pytest.approx(right, abs=1e-10)
    assert last("ts_corr(a, b, 5)", engine, a=[NAN, *a], b=[NAN, *b]) == pytest.approx(right, abs=1e-10)
    assert last("ts_autocorr(a, 5, 1)", engine, a=[1, *a]) == pytest.approx(right, abs=1e-10)
    whole = last("ts_corr(a, b, 5)", engine, a=a, b=b)
    assert last("ts_corr(a, b, 5)", engine, a=[NAN, *a], b=[NAN, *b]) == pytest.approx(whole, rel=1e-15)


def test_correlation_stays_within_one(engine):
    rng = np.random.default_rng(1)
    a = np.where(rng.random(60) < 0.05, 1e9, rng.normal(size=60))
    got = evaluate("ts_corr(a, b, 3)", panel_of(a=a, b=a * 0.1 + 1e-9 * rng.normal(size=60)), engine=engine)
    assert np.nanmax(np.abs(got)) <= 1.0


# There is no smallest scale below which a correlation vanishes.
@pytest.mark.parametrize("sigma", [1e-4, 1e-6, 1e-9])
def test_correlation_at_tiny_scale(engine, sigma):
    x = sigma * np.array([1, 3, 2, 5, 4.0])
    assert last("ts_corr(x, y, 5)", engine, x=x, y=2 * x) == 1.0
    assert last("ts_corr(x, y, 5)", engine, x=x, y=2 * x + 1) == pytest.approx(1.0, abs=1e-6)


# A name that the panel lacks is refused by name, never invented.
def test_missing_field(engine):
    panel = panel_of(open=[1.0, 2.0], volume=[1.0, 2.0])
    with pytest.raises(FieldNotFound, match="returns"):
        evaluate("ts_mean(returns, 2)", panel, engine=engine)


# Windows that never move have no correlation, and a deviation of exactly 0.
def test_degenerate_windows(engine):
    x = [0.1] * 5
    assert last("ts_std(x, 5)", engine, x=x) == 0.0
    for text in ("ts_zscore(x, 5)", "ts_corr(x, x, 5)", "ts_skew(x, 5)", "ts_ir(x, 5)", "ts_scale(x, 5)"):
        assert np.isnan(last(text, engine, x=x)), text


# Division by zero and a logarithm of zero are undefined, not one and not infinite.
def test_nothing_is_protected(engine):
    for text in ("x / y", "log(y)", "inv(y)", "exp(x * 1000)", "y ** -1", "sqrt(-x)"):
        assert np.isnan(last(text, engine, x=[1.0], y=[0.0])), text


# A comparison with something unknown is unknown.
def test_unknown_comparisons(engine):
    for text in ("x > 0", "x == x", "not x > 0", "if_else(x > 0, 1, 2)"):
        assert np.isnan(last(text, engine, x=[NAN])), text
    assert last("x > 0 or 1 > 0", engine, x=[NAN]) == 1.0
    assert last("x > 0 and 1 < 0", engine, x=[NAN]) == 0.0


def test_a_first_day_may_be_ranked_alone(engine):
    reversal = "cs_rank(-ts_sum(returns, 2))"
    close = [[10, 10, 10], [11, 10, 9], [12.1, 10.5, 9], [12.1, 10, 9.9]]
    got = evaluate(reversal, panel_of(close=close), engine=engine)
    np.testing.assert_allclose(got, [[NAN] * 3, [NAN] * 3, [1 / 3, 2 / 3, 1.0], [2 / 3, 1.0, 1 / 3]])
