"""Meanings across the symbols of a day, by hand and against independent formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.reference import REFERENCE
from alphaswarm.dsl.reference.cross import CROSS

NAN = math.nan
TIED = [10.0, 20.0, 20.0, 40.0]
GROUPS = np.array([0, 0, 1, 1, -1])
GROUPED = [1.0, 3.0, 7.0, NAN, 9.0]
R2 = math.sqrt(2)
BY_HAND = [
    ("cs_rank", [TIED], [0.25, 0.625, 0.625, 1]),
    ("cs_rank", [[3.0, NAN, 1.0]], [1, NAN, 0.5]),
    ("cs_rank", [[7.0]], [1]),
    ("cs_rank01", [TIED], [0, 0.5, 0.5, 1]),
    ("cs_rank01", [[7.0]], [NAN]),
    ("cs_zscore", [[1.0, 3.0, NAN]], [-1 / R2, 1 / R2, NAN]),
    ("cs_zscore", [[0.1, 0.1, 0.1]], [NAN] * 3),
    ("cs_zscore", [[4.0, NAN]], [NAN, NAN]),
    ("cs_demean", [[1.0, 2.0, 6.0, NAN]], [-2, -1, 3, NAN]),
    ("cs_demean", [[0.1, 0.1, 0.1]], [0, 0, 0]),
    ("cs_scale", [[1.0, -3.0, NAN]], [0.25, -0.75, NAN]),
    ("cs_scale", [[0.0, 0.0]], [NAN, NAN]),
    # mean 2, std sqrt(10): only the last lies beyond one std
    ("cs_winsorize", [[0.0, 0.0, 0.0, 0.0, 10.0], 1.0], [0, 0, 0, 0, 2 + math.sqrt(20)]),
    ("cs_winsorize", [[4.0, NAN], 1.0], [4, NAN]),
    # median 3, deviations 2, 1, 0, 1, 97: MAD 1
    ("cs_mad_clip", [[1.0, 2.0, 3.0, 4.0, 100.0], 1.0], [3 - 1.4826, 2, 3, 4, 3 + 1.4826]),
    ("cs_quantile_clip", [[0.0, 1.0, 2.0, 3.0, 4.0], 0.125], [0.5, 1, 2, 3, 3.5]),
    ("cs_quantile_transform", [[5.0, 1.0, 3.0]], [norm.ppf(5 / 6), norm.ppf(1 / 6), 0]),
    ("cs_bucket", [[5.0, 1.0, 3.0, 4.0, 2.0], 5], [4, 0, 2, 3, 1]),
    ("cs_bucket", [TIED, 2], [0, 1, 1, 1]),  # the tie stands at (2.5 - .5) / 4 * 2 = 1
    ("cs_bucket", [[1.0, 1.0, 1.0], 10], [5, 5, 5]),
    ("cs_resid", [[0.0, 3.0, 3.0], [1.0, 2.0, 3.0]], [-0.5, 1, -0.5]),
    ("cs_resid", [[0.0, 3.0, 3.0, 8.0], [1.0, 2.0, 3.0, NAN]], [-0.5, 1, -0.5, NAN]),
    ("cs_resid", [[0.0, 3.0, 3.0], [2.0, 2.0, 2.0]], [NAN] * 3),
    ("cs_resid", [[0.0, 3.0], [1.0, 2.0]], [NAN] * 2),
    ("cs_resid", [[0.0, 3.0, 3.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0, 9.0], [2.0, 4.0, 6.0, 8.0, 18.0]], [NAN] * 5),
    ("group_neutralize", [GROUPED, GROUPS], [-1, 1, 0, NAN, NAN]),
    ("group_rank", [GROUPED, GROUPS], [0.5, 1, 1, NAN, NAN]),
    ("group_zscore", [GROUPED, GROUPS], [-1 / R2, 1 / R2, NAN, NAN, NAN]),
    ("group_scale", [GROUPED, GROUPS], [0.25, 0.75, 1, NAN, NAN]),
    ("group_mean", [GROUPED, GROUPS], [2, 2, 7, NAN, NAN]),
    ("group_sum", [GROUPED, GROUPS], [4, 4, 7, NAN, NAN]),
    ("group_std", [GROUPED, GROUPS], [R2, R2, NAN, NAN, NAN]),
    ("group_count", [GROUPED, GROUPS], [2, 2, 1, NAN, NAN]),
    ("group_backfill", [GROUPED, GROUPS, 1], [1, 3, 7, 7, NAN]),
]


@pytest.mark.parametrize(("name", "args", "expected"), BY_HAND)
def test_by_hand(name, args, expected, across):
    np.testing.assert_allclose(across(name, *args), expected, rtol=1e-14, atol=1e-15)


def test_every_operator_is_covered():
    assert {name for name, *_ in BY_HAND} == set(CROSS)


def test_scale_to_a(across):
    np.testing.assert_allclose(across("cs_scale", [1.0, -3.0], a=2.0), [0.5, -1.5])


def test_only_members_of_the_universe_count(across):
    members = [True, True, False, True]
    np.testing.assert_array_equal(across("cs_rank", TIED, universe=members), [1 / 3, 2 / 3, NAN, 1])
    np.testing.assert_array_equal(
        across("group_mean", [1.0, 3.0, 50.0, 7.0], np.zeros(4, int), universe=members), [11 / 3, 11 / 3, NAN, 11 / 3]
    )


def test_residual_is_that_of_least_squares(across):
    rng = np.random.default_rng(3)
    y, x, z = rng.normal(size=(3, 9))
    design = np.column_stack([np.ones(9), x, z])
    expected = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    np.testing.assert_allclose(across("cs_resid", y.tolist(), x.tolist(), z.tolist()), expected, atol=1e-12)


def test_backfill_takes_each_day_by_its_own_labels_and_universe():
    x = np.array([[1.0, 2.0, 40.0], [3.0, 80.0, NAN]])
    g = np.array([[0, 1, 0], [0, 0, 0]], np.int32)
    universe = np.array([[True, True, True], [True, False, True]])
    run = REFERENCE["group_backfill"]
    # 1 and 40 of the first day (2 bore another label), 3 of the second (80 was no member)
    assert run(Context(universe), x, g, 2)[1, 2] == pytest.approx(44 / 3)
    assert run(Context(universe), x, g, 1)[1, 2] == 3.0


def test_backfill_winsorises_at_four_standard_deviations():
    x = np.array([[0.0] * 29 + [3000.0, NAN]])
    filled = REFERENCE["group_backfill"](Context(np.ones(x.shape, bool)), x, np.zeros(x.shape, np.int32), 1)[0, -1]
    middle, width = 100.0, np.std(x[0, :30], ddof=1)
    assert filled == pytest.approx((middle + 4 * width) / 30)
