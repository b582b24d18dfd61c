import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, rankdata, spearmanr

from alphaswarm.backtest import rank_rows
from alphaswarm.core import EvidenceInvalid
from alphaswarm.evaluation import ic_series, information_ratio, newey_west_lags, newey_west_t, rank_ic_series
from alphaswarm.evaluation.ic import rank_correlation, rank_value_correlation


def table(seed, ties=False, gaps=0.0, shape=(6, 50)):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(shape)
    if ties:
        values = values.round(0)
    values[rng.random(shape) < gaps] = np.nan
    return values


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.booleans(), st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 0.2]))
def test_both_coefficients_are_those_of_scipy(seed, ties_a, ties_b, gaps_a, gaps_b):
    a, b = table(seed, ties_a, gaps_a), table(seed + 1, ties_b, gaps_b)
    for row, (x, y) in enumerate(zip(a, b, strict=True)):
        both = np.isfinite(x) & np.isfinite(y)
        assert rank_ic_series(a, b, min_names=10)[row] == pytest.approx(spearmanr(x[both], y[both])[0], abs=1e-13)
        assert ic_series(a, b, min_names=10)[row] == pytest.approx(pearsonr(x[both], y[both])[0], abs=1e-13)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0.0, 0.2]), st.sampled_from([0.0, 0.2]))
def test_ranks_against_values_are_those_of_scipy(seed, ties, gaps_a, gaps_b):
    a, b = table(seed, ties, gaps_a), table(seed + 1, gaps=gaps_b)
    found = rank_value_correlation(rank_rows(a), b, min_names=10)
    for row, (x, y) in enumerate(zip(a, b, strict=True)):
        both = np.isfinite(x) & np.isfinite(y)
        assert found[row] == pytest.approx(pearsonr(rankdata(x[both]), y[both])[0], abs=1e-13)


def test_ranks_against_values_are_missing_where_rank_ics_are():
    a, b = table(1, shape=(4, 35)), table(2, shape=(4, 35))
    a[1, :6] = np.nan
    a[2] = 0.3
    b[3] = 0.0
    assert np.isfinite(rank_value_correlation(rank_rows(a), b)).tolist() == [True, False, False, False]


@pytest.mark.parametrize("series", [ic_series, rank_ic_series])
def test_a_tied_date_is_missing_and_poisons_nothing(series):
    factor, labels = table(1, shape=(3, 40)), table(2, shape=(3, 40))
    factor[1] = 0.3
    found = series(factor, labels)
    assert np.isnan(found[1])
    assert np.isfinite(found[[0, 2]]).all()
    assert np.isnan(series(labels, factor)[1])


@pytest.mark.parametrize("series", [ic_series, rank_ic_series])
def test_thirty_common_names_are_needed(series):
    factor, labels = table(1, shape=(2, 35)), table(2, shape=(2, 35))
    factor[1, :3] = np.nan
    labels[1, 3:6] = np.inf
    found = series(factor, labels)
    assert np.isfinite(found[0])
    assert np.isnan(found[1])


@pytest.mark.parametrize("scale", [1e-200, 1e-9, 1e9, 1e200])
def test_scale_does_not_matter(scale):
    factor, labels = table(1), table(2)
    np.testing.assert_allclose(ic_series(factor * scale, labels), ic_series(factor, labels), rtol=1e-12)
    np.testing.assert_array_equal(rank_ic_series(factor * scale, labels), rank_ic_series(factor, labels))


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1.0])
def test_a_line_correlates_perfectly_however_small(scale):
    labels = table(3)
    np.testing.assert_allclose(ic_series(2 * scale * labels + scale, labels), 1, rtol=1e-12)
    np.testing.assert_array_equal(rank_ic_series(-scale * labels, labels), -1)


def test_two_orders_of_one_sum_give_one_rank_ic():
    parts = np.random.default_rng(4).choice([0.1, 0.2, 0.3, 0.4], (5, 6, 60))
    forward, backward = parts[0], parts[-1]
    for part in parts[1:]:
        forward = forward + part
    for part in parts[-2::-1]:
        backward = backward + part
    assert (forward != backward).any()
    labels = table(5, shape=(6, 60))
    np.testing.assert_array_equal(rank_ic_series(forward, labels), rank_ic_series(backward, labels))


def test_rank_correlation_of_rows_with_themselves_is_one():
    ranked = rank_rows(table(6, ties=True, gaps=0.1))
    np.testing.assert_array_equal(rank_correlation(ranked, ranked), 1)


def test_names_may_be_permuted():
    factor, labels = table(1, ties=True, gaps=0.1), table(2)
    order = np.random.default_rng(0).permutation(50)
    np.testing.assert_array_equal(rank_ic_series(factor, labels), rank_ic_series(factor[:, order], labels[:, order]))


def test_shapes_must_agree():
    for series in (ic_series, rank_ic_series):
        with pytest.raises(EvidenceInvalid, match=r"\(2, 3\)"):
            series(np.zeros((2, 3)), np.zeros((2, 4)))


def test_newey_west_by_hand():
    # mean 2, errors -1, 1, 0, -1, 1: g0 = 4/5, g1 = (-1 + 0 + 0 - 1)/5 = -2/5; S = 4/5 - 2/5 at one lag
    assert newey_west_t([1, 3, 2, 1, 3], 1) == pytest.approx(2 / math.sqrt(0.4 / 5), rel=1e-14)
    assert newey_west_t([1, 3, 2, 1, 3], 0) == pytest.approx(2 / math.sqrt(0.8 / 5), rel=1e-14)


def test_missing_dates_are_dropped_before_lags_are_counted():
    assert newey_west_t([1, np.nan, 3, 2, 1, np.nan, 3], 1) == newey_west_t([1, 3, 2, 1, 3], 1)


def test_the_rule_for_lags():
    assert newey_west_lags(1503) == 7
    assert newey_west_lags(1499, 5) == 7
    assert newey_west_lags(1499, 20) == 19
    assert newey_west_lags(100) == 4
    series = np.random.default_rng(7).standard_normal(200)
    assert newey_west_t(series, horizon=10) == newey_west_t(series, 9)


def test_overlap_lowers_t():
    steps = 0.1 + np.random.default_rng(8).standard_normal(500)
    overlapping = np.convolve(steps, np.ones(10), "valid")
    assert newey_west_t(overlapping, horizon=10) < 0.6 * newey_west_t(overlapping, 0)


@pytest.mark.parametrize("series", [[], [1.0], [np.nan] * 5, [2.0, 2.0, 2.0, 2.0, 2.0, 2.0], [0.1] * 10, [0.0] * 10])
def test_what_carries_no_error_has_no_t(series):
    assert newey_west_t(series, 1) is None
    assert information_ratio(series) is None


def test_lags_can_not_be_negative_and_need_their_dates():
    with pytest.raises(EvidenceInvalid, match="0 or more"):
        newey_west_t([1.0, 2.0], -1)
    assert newey_west_t([1.0, 2.0, 4.0], 2) is None


def test_information_ratio_by_hand():
    assert information_ratio([1.0, np.nan, 2.0, 3.0]) == pytest.approx(2.0)
