"""Deviations by blocks."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.block_spread import SPREAD
from alphaswarm.dsl.kernels.single import apply


@pytest.mark.parametrize("name", SPREAD)
@pytest.mark.parametrize("d", [2, 7, 60])
def test_against_the_definition(name, d, size, dtype, series, assert_matches):
    unit = 1.0 if name in ("ts_zscore", "ts_ir", "ts_av_diff") else 1e-3
    assert_matches(name, series(d, size), d, dtype=dtype, unit=unit)


@pytest.mark.parametrize("name", ["ts_std", "ts_mean", "decay_linear"])
def test_float32_recovers_at_once_from_a_spike(name, series):
    x = 5.0 + series(0, (60, 3), 0.0)
    spiked = x.copy()
    spiked[20] = 1e12
    ctx = Context(np.ones(x.shape, bool))
    after = slice(20 + 10, None)
    expected = apply(name, ctx, x, 10)[after]
    np.testing.assert_allclose(apply(name, ctx, spiked, 10, dtype="float32")[after], expected, rtol=2e-7)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_what_the_block_kernel_refuses_is_done_with_care(scale, series):
    x = series(1, (30, 20))
    ctx = Context(np.ones(x.shape, bool))
    np.testing.assert_allclose(apply("ts_std", ctx, x * scale, 5), apply("ts_std", ctx, x, 5) * scale, rtol=1e-12)
    np.testing.assert_allclose(apply("ts_corr", ctx, x * scale, x[::-1], 5), apply("ts_corr", ctx, x, x[::-1], 5))


def test_constant_windows_are_exact(dtype):
    x = np.full((30, 2), 0.1)
    ctx = Context(np.ones(x.shape, bool))
    assert (apply("ts_std", ctx, x, 7, dtype=dtype)[6:] == 0.0).all()
    assert np.isnan(apply("ts_zscore", ctx, x, 7, dtype=dtype)).all()
