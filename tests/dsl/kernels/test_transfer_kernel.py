"""Rows leave with the members only."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl.evaluate import evaluate


@pytest.mark.parametrize("names", [1, 8, 15, 16, 31, 40])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_members_only(names, dtype):
    rng = np.random.default_rng(names)
    x = rng.normal(size=(7, names)).astype(np.float32)
    universe = rng.random(x.shape) < 0.5
    dates = np.datetime64("2020-01-01") + np.arange(7)
    panel = Panel.from_arrays({"x": x}, dates, [f"s{n}" for n in range(names)], universe)
    np.testing.assert_array_equal(evaluate("x", panel, dtype=dtype), np.where(universe, x, np.nan))
