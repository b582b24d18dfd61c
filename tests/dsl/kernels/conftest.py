"""Kernels against the definitions on awkward sizes, in both types."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import apply
from alphaswarm.dsl.reference import REFERENCE

# Relative to the natural unit of the operator: see each test.
RELATIVE = {"float64": 1e-12, "float32": 2e-7}
# Days and stocks: fewer than a block, a block, one more, several; days not a multiple of any window.
SIZES = ((1, 1), (5, 16), (23, 17), (41, 35))


@pytest.fixture(params=SIZES, ids=str)
def size(request):
    return request.param


@pytest.fixture(params=sorted(RELATIVE))
def dtype(request):
    return request.param


@pytest.fixture
def series():
    """`series(seed, shape, missing)`: values that are exact in float32, with an all-missing day."""

    def make(seed, shape, missing=0.03):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=shape).astype(np.float32).astype(np.float64)
        x[rng.random(shape) < missing] = np.nan
        if shape[0] > 20 and missing:
            x[11] = np.nan
        return x

    return make


@pytest.fixture
def assert_matches():
    """`check(name, *args, dtype=..., unit=...)`: kernel and definition agree, missing values included."""

    def check(name, *args, dtype, unit=0.0, **options):
        shape = next(arg.shape for arg in args if isinstance(arg, np.ndarray))
        ctx = Context(np.ones(shape, bool))
        got = apply(name, ctx, *args, dtype=dtype, **options)
        assert got.dtype == dtype
        expected = REFERENCE[name](ctx, *args, **options)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
        there = ~np.isnan(expected)
        away = np.abs(got[there].astype(np.float64) - expected[there])
        assert (away <= RELATIVE[dtype] * np.maximum(np.abs(expected[there]), unit)).all(), (name, away.max())

    return check
