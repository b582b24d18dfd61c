"""Lags."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.mark.parametrize("name", ["delay", "delta", "pct_change", "log_return"])
@pytest.mark.parametrize("d", [1, 5, 50])
def test_against_the_definition(name, d, size, dtype, series, assert_matches):
    x = np.abs(series(d, size)) + 0.5
    x = x.astype(np.float32).astype(np.float64)
    assert_matches(name, x, d, dtype=dtype, unit=1e-4)
