"""Co-movement by blocks."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.block_pairs import PAIRS
from alphaswarm.dsl.kernels.single import apply


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("d", [3, 7, 60])
def test_against_the_definition(name, d, size, dtype, series, assert_matches):
    assert_matches(name, series(d, size), series(d + 1, size), d, dtype=dtype, unit=1.0)


@pytest.mark.parametrize("d", [3, 8])
def test_slope_and_autocorrelation(d, dtype, series, assert_matches):
    assert_matches("ts_slope", series(2, (41, 18)), d, dtype=dtype, unit=1.0)
    assert_matches("ts_autocorr", series(3, (41, 18)), d, 2, dtype=dtype, unit=1.0)


def test_the_order_of_the_arguments_changes_no_bit(dtype, series):
    x, y = series(4, (50, 20)), series(5, (50, 20))
    ctx = Context(np.ones(x.shape, bool))
    for name in ("ts_cov", "ts_corr"):
        np.testing.assert_array_equal(
            apply(name, ctx, x, y, 6, dtype=dtype), apply(name, ctx, y, x, 6, dtype=dtype), err_msg=name
        )


def test_a_series_correlates_with_itself(dtype, series):
    x = series(6, (50, 20), 0.0)
    ctx = Context(np.ones(x.shape, bool))
    assert (apply("ts_corr", ctx, x, x, 9, dtype=dtype)[8:] == 1.0).all()
    assert (apply("ts_corr", ctx, x, -x, 9, dtype=dtype)[8:] == -1.0).all()
