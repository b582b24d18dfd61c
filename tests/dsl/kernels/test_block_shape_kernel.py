"""Third and fourth moments by blocks."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.block_shape import HIGHEST
from alphaswarm.dsl.kernels.single import apply


@pytest.mark.parametrize("name", ["ts_skew", "ts_kurt"])
@pytest.mark.parametrize("d", [4, 7, 60])
def test_against_the_definition(name, d, size, dtype, series, assert_matches):
    assert_matches(name, series(d, size), d, dtype=dtype, unit=1.0)


@pytest.mark.parametrize("order", range(1, HIGHEST + 2))
def test_moments(order, dtype, series, assert_matches):
    assert_matches("ts_moment", series(order, (40, 20)), 9, order, dtype=dtype, unit=1.0)


def test_constant_windows_have_no_shape(dtype):
    x = np.full((30, 2), 0.1)
    ctx = Context(np.ones(x.shape, bool))
    assert np.isnan(apply("ts_skew", ctx, x, 7, dtype=dtype)).all()
    assert np.isnan(apply("ts_kurt", ctx, x, 7, dtype=dtype)).all()
    assert (apply("ts_moment", ctx, x, 7, 4, dtype=dtype)[6:] == 0.0).all()


def test_an_outlier_as_the_anchor_costs_few_digits(series):
    x = series(0, (60, 3), 0.0)
    x[::10] += 1e6  # the first row of each block
    ctx = Context(np.ones(x.shape, bool))
    for name in ("ts_skew", "ts_kurt"):
        expected = apply(name, ctx, np.roll(x, 3, axis=0), 10)[13:]
        np.testing.assert_allclose(apply(name, ctx, x, 10)[10:-3], expected, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_what_the_block_kernel_refuses_is_done_with_care(scale, series):
    x = series(1, (30, 20))
    ctx = Context(np.ones(x.shape, bool))
    np.testing.assert_allclose(apply("ts_kurt", ctx, x * scale, 5), apply("ts_kurt", ctx, x, 5), rtol=1e-9)


def test_equal_windows_in_another_order_tie():
    rng = np.random.default_rng(0)
    window = rng.integers(0, 10, 8).astype(float)
    x = np.column_stack([rng.permutation(window) for _ in range(20)])
    ctx = Context(np.ones(x.shape, bool))
    assert np.unique(apply("ts_skew", ctx, x, 8)[7]).size == 1
    assert np.unique(apply("ts_kurt", ctx, x, 8)[7]).size == 1
