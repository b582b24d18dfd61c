"""Sums and moments keep their digits: no drift, no cancellation, exact constants, extreme scale."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.moments import center, deviation_scale, total
from alphaswarm.dsl.kernels.single import KERNELS


def down(name, values, *args, **options):
    x = np.array(values, float)[:, None]
    return KERNELS[name](Context(np.ones(x.shape, bool)), x, *args, **options)[:, 0]


def test_sums_are_compensated():
    values = np.array([1e16, 1.0, -1e16, np.nan, 1e-3])
    assert total(values, 0, 5) == math.fsum([1e16, 1.0, -1e16, 1e-3])
    rng = np.random.default_rng(0)
    values = rng.normal(size=500) * 10.0 ** rng.integers(-9, 9, 500)
    assert total(values, 0, 500) == math.fsum(values)


def test_the_mean_tells_what_its_rounding_left():
    values = np.array([0.1, 0.2, 0.4])
    middle, rest, smallest, largest = center(values, 0, 3, 3)
    assert (smallest, largest) == (0.1, 0.4)
    assert middle == math.fsum(values) / 3
    assert abs(rest) <= np.spacing(middle)


@pytest.mark.parametrize("value", [0.1, 3.3, 1e-300, 1e300, 0.0])
def test_constant_windows_are_exact(value):
    x = [value] * 12
    assert (down("ts_mean", x, 7)[6:] == value).all()
    for name in ("ts_std", "ts_var", "ts_mad", "ts_av_diff"):
        assert (down(name, x, 7)[6:] == 0.0).all(), name
    for name in ("ts_zscore", "ts_ir", "ts_skew", "ts_kurt"):
        assert np.isnan(down(name, x, 7)).all(), name


def test_a_spike_leaves_no_trace():
    rng = np.random.default_rng(1)
    x = rng.normal(size=60)
    spiked = x.copy()
    spiked[20] = 1e12
    for name in ("ts_sum", "ts_mean", "ts_std", "ts_skew", "ts_kurt", "decay_linear"):
        np.testing.assert_array_equal(down(name, x, 10)[30:], down(name, spiked, 10)[30:], err_msg=name)


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**-40, 2.0**500])
def test_scale_does_not_matter(scale):
    x = np.random.default_rng(2).normal(size=30)
    for name in ("ts_zscore", "ts_skew", "ts_kurt", "ts_ir"):
        np.testing.assert_allclose(down(name, x * scale, 6), down(name, x, 6), rtol=1e-12, err_msg=name)
    np.testing.assert_allclose(down("ts_std", x * scale, 6), down("ts_std", x, 6) * scale, rtol=1e-13)


def test_an_offset_costs_no_digits():
    steps = np.array([0, 1, 3, 2, 5, 4, 7, 1.0])
    near = 1000.0 + steps * 2.0**-40
    np.testing.assert_allclose(down("ts_std", near, 5), down("ts_std", steps, 5) * 2.0**-40, rtol=1e-14)
    np.testing.assert_allclose(down("ts_skew", near, 5), down("ts_skew", steps, 5), rtol=1e-12)


def test_a_change_of_sign_changes_no_other_bit():
    x = np.random.default_rng(3).normal(size=40)
    for name in ("ts_sum", "ts_mean", "ts_skew", "ts_zscore", "ts_ir", "ts_av_diff", "decay_linear"):
        np.testing.assert_array_equal(down(name, -x, 9), -down(name, x, 9), err_msg=name)
    for name in ("ts_std", "ts_var", "ts_kurt", "ts_mad"):
        np.testing.assert_array_equal(down(name, -x, 9), down(name, x, 9), err_msg=name)


def test_scales_keep_fourth_powers_finite():
    assert deviation_scale(0.0, -1.0, 1.0) == 1.0
    assert deviation_scale(5.0, 5.0, 5.0) == 1.0
    for reach in (5e-324, 1e-200, 1e200, 1e308):
        scaled = reach * deviation_scale(0.0, 0.0, reach)
        assert 1e-60 < scaled < 1e60
