import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from alphaswarm.backtest import quantile_weights, rank_weights, stagger, target_weights
from alphaswarm.core import Panel, WeightsInvalid


@pytest.fixture
def factor():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((12, 40)).round(1)  # with ties
    values[rng.random(values.shape) < 0.1] = np.nan
    values[5, 11:] = np.nan  # too few names
    values[7] = 3.0  # no differences
    return values


@pytest.fixture
def panel(factor):
    dates = np.arange("2020-01-06", "2020-01-18", dtype="datetime64[D]")
    return Panel.from_arrays({"close": np.ones(factor.shape)}, dates, [f"S{i}" for i in range(40)])


def test_three_names_by_hand():
    np.testing.assert_allclose(rank_weights([[3.0, 1.0, 2.0]], min_names=3), [[0.5, -0.5, 0.0]])
    np.testing.assert_allclose(rank_weights([[1.0, 1.0, np.nan, 5.0]], min_names=3), [[-0.25, -0.25, 0, 0.5]])


def test_every_row_has_gross_one_and_net_zero_or_is_flat(factor):
    weights = rank_weights(factor)
    np.testing.assert_allclose(weights.sum(axis=1), 0, atol=1e-15)
    expected = np.ones(12)
    expected[[5, 7]] = 0
    np.testing.assert_allclose(np.abs(weights).sum(axis=1), expected, rtol=1e-14)
    assert (weights[np.isnan(factor)] == 0).all()


def test_rank_weights_are_centred_average_ranks(factor):
    for row, weights in zip(factor, rank_weights(factor), strict=True):
        ranks = rankdata(row, nan_policy="omit")
        centred = np.nan_to_num(ranks - np.nanmean(ranks))
        if np.isfinite(row).sum() >= 30 and np.abs(centred).sum() > 0:
            np.testing.assert_allclose(weights, centred / np.abs(centred).sum(), atol=1e-15)


def test_thirty_names_are_needed():
    assert rank_weights([np.arange(30.0)]).any()
    assert not rank_weights([np.arange(29.0)]).any()


def test_quantiles_by_hand():
    row = [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]]
    np.testing.assert_allclose(quantile_weights(row, 3, min_names=6), [[-0.25, -0.25, 0, 0, 0.25, 0.25]])
    np.testing.assert_allclose(quantile_weights(row, 3, False, min_names=6), [[0, 0, 0, 0, 0.5, 0.5]])


def test_ties_that_empty_a_quantile_leave_the_row_flat():
    assert not quantile_weights([[1.0, 1.0, 1.0, 2.0]], 4, min_names=4).any()  # nobody is in the lowest
    assert quantile_weights([[1.0, 1.0, 1.0, 2.0]], 4, False, min_names=4).tolist() == [[0, 0, 0, 1]]


def test_fewer_than_two_quantiles_are_refused(factor):
    with pytest.raises(WeightsInvalid, match="at least 2"):
        quantile_weights(factor, 1)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 15), st.integers(1, 9), st.integers(0, 99))
def test_stagger_is_the_mean_of_the_last_rows(tranches, days, seed):
    weights = np.random.default_rng(seed).standard_normal((2, days, 3))
    expected = np.zeros_like(weights)
    for t in range(days):
        for lag in range(tranches):
            if t - lag >= 0:
                expected[:, t] += weights[:, t - lag] / tranches
    np.testing.assert_allclose(stagger(weights, tranches), expected, atol=1e-14)


def test_one_tranche_changes_nothing_and_none_is_refused(factor):
    weights = rank_weights(factor)
    np.testing.assert_array_equal(stagger(weights, 1), weights)
    with pytest.raises(WeightsInvalid, match="at least 1 tranche"):
        stagger(weights, 0)


@pytest.mark.parametrize(
    "rule", [rank_weights, quantile_weights, lambda f: stagger(rank_weights(f), 3)], ids=["rank", "quantile", "stagger"]
)
def test_no_row_depends_on_a_later_one(rule, factor):
    later = factor.copy()
    later[6:] = np.random.default_rng(9).standard_normal(later[6:].shape)
    np.testing.assert_array_equal(rule(factor)[:6], rule(later)[:6])


@pytest.mark.parametrize("rule", [rank_weights, quantile_weights], ids=["rank", "quantile"])
def test_names_may_be_permuted(rule, factor):
    order = np.random.default_rng(2).permutation(factor.shape[1])
    np.testing.assert_allclose(rule(factor[:, order]), rule(factor)[:, order], atol=1e-16)


def test_target_weights_are_the_row_of_the_matrix(factor, panel):
    book = stagger(rank_weights(factor), 3)
    for as_of, row in [("2020-01-10", 4), ("2020-01-12T00:00", 6), (panel.dates[9], 9), (None, 11)]:
        target = target_weights(factor, panel, as_of, tranches=3, provenance={"panel": panel.digest})
        np.testing.assert_array_equal(target.weights, book[row])
        assert target.as_of == panel.dates[row]
        assert target.provenance["panel"] == panel.digest


def test_a_day_without_a_session_takes_the_session_before(factor):
    dates = np.array(["2020-01-02", "2020-01-03", "2020-01-06"], "datetime64[D]")
    panel = Panel.from_arrays({"close": np.ones((3, 40))}, dates, [f"S{i}" for i in range(40)])
    assert target_weights(factor[:3], panel, "2020-01-05").as_of == np.datetime64("2020-01-03")


def test_a_target_reads_no_later_row(factor, panel):
    later = factor.copy()
    later[5:] = 99.0
    early = target_weights(factor, panel, "2020-01-10", tranches=5)
    assert early.digest == target_weights(later, panel, "2020-01-10", tranches=5).digest


@pytest.mark.parametrize(
    ("as_of", "message"),
    [
        ("2020-01-05", "within the panel's dates"),
        ("2020-01-18", "within the panel's dates"),
        ("2020-01-17T10:00", "within the panel's dates"),
        ("2020-01-10T10:00", "has a row for"),
        ("2020-01", "a date like"),
        ("soon", "a date like"),
        ("2020-01-11", "got 10 finite"),  # too few names: hold
        ("2020-01-13", "values that differ"),
    ],
)
def test_no_weights_rather_than_wrong_ones(factor, panel, as_of, message):
    factor = factor.copy()
    factor[5, 10:] = np.nan
    factor[5, :10] = np.arange(10)
    with pytest.raises(WeightsInvalid, match=message):
        target_weights(factor, panel, as_of)


def test_a_factor_of_another_shape_is_refused(factor, panel):
    with pytest.raises(WeightsInvalid, match="shape"):
        target_weights(factor[:5], panel)
