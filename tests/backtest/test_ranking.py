import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from alphaswarm.backtest import rank_rows
from alphaswarm.backtest.ranking import rerank
from alphaswarm.core import DataInvalid

CELLS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5, math.nan, math.inf, -math.inf]),
    st.floats(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
)
TABLES = arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9)), elements=CELLS)


def slow_ranks(row):
    """The rule as it is written: round at the row's scale, then average ranks of what is finite."""
    out = np.full(row.size, np.nan)
    finite = np.flatnonzero(np.isfinite(row))
    if not finite.size:
        return out
    ordered = sorted(row[finite])
    quarter = (finite.size - 1) // 4
    scale = max(abs(ordered[quarter]), abs(ordered[finite.size - 1 - quarter])) or max(
        abs(ordered[0]), abs(ordered[-1])
    )
    power = math.ceil(math.log10(scale)) if scale else 0
    decimals = min(300, max(min(12, 12 - power), 8 - power))
    with np.errstate(over="ignore"):
        rounded = [np.rint(value * 10.0**decimals) for value in row[finite]]
    for place, value, exact in zip(finite, rounded, row[finite], strict=True):

        def equal(other, other_exact, value=value, exact=exact):
            return other_exact == exact or (other == value and math.isfinite(value))

        below = sum(e < exact and not equal(o, e) for o, e in zip(rounded, row[finite], strict=True))
        same = sum(equal(o, e) for o, e in zip(rounded, row[finite], strict=True))
        out[place] = below + (same + 1) / 2
    return out


@settings(max_examples=300, deadline=None)
@given(TABLES)
def test_ranks_follow_the_rule(table):
    ranked = rank_rows(table)
    np.testing.assert_array_equal(ranked.ranks, [slow_ranks(row) for row in table])
    np.testing.assert_array_equal(ranked.count, np.isfinite(table).sum(axis=1))


@settings(max_examples=150, deadline=None)
@given(TABLES)
def test_order_and_ties_describe_the_ranks(table):
    ranked = rank_rows(table)
    for t, n in enumerate(ranked.count):
        order, tie = ranked.order[t, :n], ranked.tie[t, :n]
        assert sorted(order) == list(np.flatnonzero(np.isfinite(table[t])))
        along = ranked.ranks[t, order]
        assert (np.diff(along) >= 0).all()
        np.testing.assert_array_equal(np.diff(along) > 0, np.diff(tie) == 1)


@settings(max_examples=150, deadline=None)
@given(TABLES)
def test_turning_the_sign_mirrors_the_ranks(table):
    up, down = rank_rows(table), rank_rows(-table)
    np.testing.assert_array_equal(down.ranks, up.count[:, None] + 1 - up.ranks)


@pytest.mark.parametrize(
    "distribution", ["normal", "uniform", "cauchy", "five_values", "one_outlier", "sorted", "crowds", "all_magnitudes"]
)
def test_long_rows_agree_with_scipy(distribution):
    rng = np.random.default_rng(3)
    shape = (20, 700)
    table = {
        "normal": lambda: rng.standard_normal(shape),
        "uniform": lambda: rng.random(shape),
        "cauchy": lambda: rng.standard_cauchy(shape),
        "five_values": lambda: rng.integers(0, 5, shape).astype(float),
        "one_outlier": lambda: np.where(np.arange(700) == 5, 1e300, rng.standard_normal(shape)),
        "sorted": lambda: np.sort(rng.standard_normal(shape)),
        "crowds": lambda: 10.0 ** rng.integers(0, 4, shape) + rng.integers(0, 90, shape) * 1e-6,
        "all_magnitudes": lambda: np.exp2(np.arange(700.0) - 350.0)[
            rng.permuted(np.tile(np.arange(700), (20, 1)), axis=1)
        ],
    }[distribution]()
    table[rng.random(shape) < 0.1] = np.nan
    if distribution == "all_magnitudes":  # what is small beside the quartiles ties
        np.testing.assert_array_equal(rank_rows(table).ranks, [slow_ranks(row) for row in table])
        return
    np.testing.assert_array_equal(rank_rows(table).ranks, rankdata(table, axis=1, nan_policy="omit"))


def test_sums_in_another_order_tie():
    table = np.array([[0.1 + 0.2, 0.3, 0.2, 0.4]])
    assert table[0, 0] != table[0, 1]
    np.testing.assert_array_equal(rank_rows(table).ranks, [[2.5, 2.5, 1, 4]])


def test_twelve_decimals_at_scale_one():
    np.testing.assert_array_equal(rank_rows([[0.5, 0.5 + 4e-13, 0.5 + 2e-12, 0.9]]).ranks, [[1.5, 1.5, 3, 4]])


@pytest.mark.parametrize("scale", [1e-250, 1e-10, 1e-6, 1.0, 1e9, 1e250])
def test_no_scale_flattens_a_factor(scale):
    values = np.random.default_rng(0).permutation(np.arange(1.0, 101.0))
    np.testing.assert_array_equal(rank_rows([values * scale]).ranks, [values])


def test_the_wrong_shape_is_refused():
    with pytest.raises(DataInvalid, match=r"\[T, N\]"):
        rank_rows([1.0, 2.0])


def test_results_are_read_only():
    ranked = rank_rows([[1.0, 2.0]])
    for array in (ranked.ranks, ranked.order, ranked.tie, ranked.count):
        assert not array.flags.writeable


@settings(max_examples=150, deadline=None)
@given(TABLES, st.randoms(use_true_random=False))
def test_rerank_ranks_among_those_that_are_kept(table, random):
    ranked = rank_rows(table)
    for t in range(table.shape[0]):
        keep = np.array([random.choice([1.0, math.nan]) for _ in table[t]])
        out = np.empty(table.shape[1])
        rerank(ranked.order[t], ranked.tie[t], ranked.count[t], keep, out)
        expected = np.where(np.isnan(keep), np.nan, ranked.ranks[t])
        np.testing.assert_array_equal(out, rankdata(expected, nan_policy="omit"))


@settings(max_examples=150, deadline=None)
@given(TABLES, st.randoms(use_true_random=False))
def test_ranks_among_some_need_no_sorting(table, random):
    ranked = rank_rows(table)
    keep = np.array([[random.random() < 0.6 for _ in row] for row in table])
    some = ranked.among(keep)
    for t, row in enumerate(np.where(keep, ranked.ranks, np.nan)):
        np.testing.assert_array_equal(some.ranks[t], rankdata(row, nan_policy="omit"))
        n = some.count[t]
        assert n == np.isfinite(row).sum()
        along = some.ranks[t, some.order[t, :n]]
        assert (np.diff(along) >= 0).all()
        np.testing.assert_array_equal(np.diff(along) > 0, np.diff(some.tie[t, :n]) == 1)


def test_marks_must_have_the_shape_of_the_ranks():
    with pytest.raises(DataInvalid, match="in the shape of the ranks"):
        rank_rows([[1.0, 2.0]]).among(np.ones((1, 3), bool))
