"""Sums and means by blocks."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import apply


@pytest.mark.parametrize("name", ["ts_sum", "ts_mean", "ts_product"])
@pytest.mark.parametrize("d", [1, 2, 7, 60])
def test_against_the_definition(name, d, size, dtype, series, assert_matches):
    assert_matches(name, series(d, size), d, dtype=dtype, unit=1.0 if name != "ts_product" else 1e-30)


def test_equal_values_in_another_order_have_the_same_sum():
    x = np.array([[0.1, 0.7], [0.2, 0.3], [0.7, 0.1], [0.3, 0.2]])
    got = apply("ts_sum", Context(np.ones(x.shape, bool)), x, 4)[3]
    assert got[0] == got[1] == 1.3


@pytest.mark.parametrize("value", [0.1, 3.3, 1e-300])
@pytest.mark.parametrize("d", [3, 7, 49])
def test_a_constant_is_its_own_mean(value, d):
    x = np.full((60, 1), value)
    assert (apply("ts_mean", Context(np.ones(x.shape, bool)), x, d)[d - 1 :] == value).all()
