"""Vectors do lane by lane what floats do."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core.jit import entry
from alphaswarm.dsl.kernels import vectors as v

EDGES = np.array([-np.inf, -2.5, -1.0, -0.0, 0.0, 0.5, 1.5, 3.0, np.inf, np.nan, 7.0, -7.5, 1e30, -1e-30, 2.0, 4.0])


def operations(kind, words):
    x, y, out = v.load(kind, words[0]), v.load(kind, words[1]), words[2]
    line = v.LANES * v.itemsize(kind)
    v.store(kind, out, x + y)
    v.store(kind, out + line, x * y - x / y)
    v.store(kind, out + 2 * line, v.select(x < y, x, y))
    v.store(kind, out + 3 * line, v.floor(x))
    v.store(kind, out + 4 * line, v.rint(x))
    v.store(kind, out + 5 * line, v.sqrt(v.absolute(x)))
    v.store(kind, out + 6 * line, v.select((x >= y) | v.invert(y == y), v.fill(kind, 1.0), v.fill(kind, 0.0)))
    v.store(kind, out + 7 * line, v.narrow(kind, v.fma(v.wide(x), v.wide(y), v.fill_wide(1.0))))
    words[3] = 1 if v.any_true(x != x) else 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lane_by_lane(dtype):
    import ctypes

    x = np.ascontiguousarray(EDGES[: v.LANES], dtype)
    y = np.ascontiguousarray(np.roll(EDGES[: v.LANES], 3), dtype)
    out = np.empty((8, v.LANES), dtype)
    words = np.array([x.ctypes.data, y.ctypes.data, out.ctypes.data, -1])
    run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(entry(operations, dtype, "int64"))
    run(None, words.ctypes.data)
    with np.errstate(all="ignore"):
        expected = [
            x + y,
            x * y - x / y,
            np.where(x < y, x, y),
            np.floor(x),
            np.rint(x),
            np.sqrt(np.abs(x)),
            ((x >= y) | np.isnan(y)).astype(dtype),
            (x.astype(np.float64) * y.astype(np.float64) + 1.0).astype(dtype),
        ]
    np.testing.assert_array_equal(out, np.array(expected))
    assert words[3] == np.isnan(x).any()
