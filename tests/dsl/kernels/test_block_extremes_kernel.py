"""Extremes and ranks of windows, on values with ties."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.kernels.block_extremes import EXTREMES


@pytest.mark.parametrize("name", [*EXTREMES, "ts_rank"])
@pytest.mark.parametrize("d", [2, 7, 60])
def test_against_the_definition(name, d, size, dtype, series, assert_matches):
    assert_matches(name, series(d, size), d, dtype=dtype, unit=1.0)
    assert_matches(name, np.round(series(d, size) * 2) / 2, d, dtype=dtype, unit=1.0)


@pytest.mark.parametrize("name", ["ts_max", "ts_min", "ts_argmax", "ts_rank"])
def test_a_window_of_one_row(name, dtype, series, assert_matches):
    assert_matches(name, series(0, (23, 17)), 1, dtype=dtype)
