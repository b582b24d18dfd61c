"""There and back between rows and blocks."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.kernels.layout import Layout, aligned, pattern


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (4, 16), (5, 17), (30, 100)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_there_and_back(rows, columns, dtype):
    layout = Layout(rows, columns, np.dtype(dtype))
    x = np.random.default_rng(0).normal(size=(rows, columns)).astype(dtype).astype(np.float64)
    blocks = layout.blocked(x)
    assert blocks.shape == (layout.blocks, layout.padded_rows, 16)
    np.testing.assert_array_equal(layout.natural(blocks), x)
    padding = blocks.transpose(1, 0, 2).reshape(layout.padded_rows, -1)[:rows, columns:]
    assert np.isnan(padding).all()


def test_what_float32_cannot_hold_is_missing():
    layout = Layout(1, 3, np.dtype("float32"))
    assert np.isnan(layout.natural(layout.blocked(np.array([[1e200, -1e200, np.nan]])))).all()


def test_buffers_begin_at_a_cache_line():
    for count in (1, 7, 1000):
        assert aligned(count, np.dtype("float32")).ctypes.data % 64 == 0


def test_patterns_carry_floats():
    assert np.int64(pattern(-0.25)).view(np.float64) == -0.25
