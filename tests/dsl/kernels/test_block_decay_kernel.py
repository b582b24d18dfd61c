"""Weighted means by blocks."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import apply


@pytest.mark.parametrize("d", [1, 2, 7, 60])
def test_against_the_definition(d, size, dtype, series, assert_matches):
    assert_matches("decay_linear", series(d, size), d, dtype=dtype, unit=1.0)
    assert_matches("decay_exp", series(d, size), d, 0.9, dtype=dtype, unit=1.0)


@pytest.mark.parametrize("value", [0.1, 3.3])
def test_a_constant_is_its_own_mean(value):
    x = np.full((30, 1), value)
    ctx = Context(np.ones(x.shape, bool))
    for d in (2, 7, 11):
        assert (apply("decay_linear", ctx, x, d)[d - 1 :] == value).all()
        assert (apply("decay_exp", ctx, x, d, 0.7)[d - 1 :] == value).all()
