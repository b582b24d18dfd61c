"""Ranks of a day, whatever its values: heavy tails, ties, zeros of either sign, values at the ends of the range."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import apply

RNG = np.random.default_rng(0)
SHAPE = (6, 300)
NORMAL = RNG.normal(size=SHAPE)
DAYS = {
    "normal": NORMAL,
    "ties": np.round(NORMAL),
    "one value": np.full(SHAPE, 0.1),
    "heavy": np.exp(20 * NORMAL),
    "outliers": np.where(RNG.random(SHAPE) < 0.01, 1e9 * NORMAL, NORMAL),
    "two clusters": np.where(RNG.random(SHAPE) < 0.5, 1.0, -1e30) * (1.0 + 1e-6 * np.abs(NORMAL)),
    "nearly equal": 1.0 + np.floor(np.abs(NORMAL) * 100) * 2.0**-23,
    "zeros": np.where(NORMAL < 0, -0.0, 0.0) * 1.0 + np.where(np.abs(NORMAL) > 1, NORMAL, 0.0),
    "largest": np.where(NORMAL > 0, 3e38, -3e38) * (1 - 0.1 * np.abs(np.tanh(NORMAL))),
    "denormal": np.round(NORMAL * 100) * 1e-44,
}


@pytest.mark.parametrize("kind", DAYS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_against_scipy(kind, missing, dtype):
    x = DAYS[kind].astype(np.float32).astype(np.float64)
    x = np.where(np.random.default_rng(1).random(SHAPE) < missing, np.nan, x)
    got = apply("cs_rank", Context(np.ones(SHAPE, bool)), x, dtype=dtype)
    for t in range(SHAPE[0]):
        there = ~np.isnan(x[t])
        assert np.isnan(got[t, ~there]).all()
        expected = rankdata(x[t, there]) / there.sum()
        np.testing.assert_array_equal(got[t, there], expected.astype(dtype))


def test_a_day_that_suits_no_bucket_is_sorted_by_its_bytes():
    # most values share a code whichever map is used, in the worst order for insertion
    x = np.concatenate([1.0 + np.arange(3000)[::-1] * 2.0**-50, [-1e300, 1e300, 1e-300]])[None]
    got = apply("cs_rank", Context(np.ones(x.shape, bool)), x)
    np.testing.assert_array_equal(got[0], rankdata(x[0]) / x.size)


def test_widths_around_a_block():
    for width in (1, 2, 15, 16, 17, 33):
        x = np.random.default_rng(width).normal(size=(9, width))
        got = apply("cs_rank", Context(np.ones(x.shape, bool)), x)
        np.testing.assert_array_equal(got, rankdata(x, axis=1) / width)


def test_missing_values_of_either_sign_come_last(dtype):
    # 0 / 0 gives a NaN with the sign bit set; days that are sorted by bytes see it too
    x = np.concatenate([1.0 + np.arange(3000)[::-1] * 2.0**-22, [-3e38, 3e38], np.full(30, -np.nan)])[None]
    got = apply("cs_rank", Context(np.ones((3, x.size), bool)), np.repeat(x, 3, axis=0), dtype=dtype)
    there = ~np.isnan(x[0])
    for day in got:
        np.testing.assert_array_equal(day[there], (rankdata(x[0, there]) / there.sum()).astype(dtype))
        assert np.isnan(day[~there]).all()


def test_days_after_a_hard_one():
    rng = np.random.default_rng(3)
    hard = np.concatenate([1.0 + np.arange(300)[::-1] * 2.0**-50, [-1e300, 1e300]])
    x = np.stack([hard if t % 7 == 0 else rng.normal(size=hard.size).round(t % 3) for t in range(40)])
    got = apply("cs_rank", Context(np.ones(x.shape, bool)), x)
    np.testing.assert_array_equal(got, rankdata(x, axis=1) / hard.size)
