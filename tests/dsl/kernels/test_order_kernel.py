"""The sorted copy follows its window: quantiles and medians against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.order import median_distance, middle_value, quantile_value
from alphaswarm.dsl.kernels.single import KERNELS


def windows(x, t, d):
    there = x[max(0, t - d + 1) : t + 1]
    return there[~np.isnan(there)]


@pytest.mark.parametrize("d", [1, 2, 9, 40])
@pytest.mark.parametrize("coarse", [False, True])
def test_against_numpy(d, coarse):
    rng = np.random.default_rng(d)
    x = rng.normal(size=(60, 3))
    x = np.round(x) if coarse else x
    x[rng.random(x.shape) < 0.2] = np.nan
    ctx = Context(np.ones(x.shape, bool))
    got = {
        "ts_quantile": KERNELS["ts_quantile"](ctx, x, d, 0.3, min_obs=1),
        "ts_median": KERNELS["ts_median"](ctx, x, d, min_obs=1),
        "ts_medad": KERNELS["ts_medad"](ctx, x, d, min_obs=1),
    }
    for t, n in np.ndindex(x.shape):
        there = windows(x[:, n], t, d)
        if there.size == 0:
            assert all(np.isnan(values[t, n]) for values in got.values())
            continue
        assert got["ts_quantile"][t, n] == pytest.approx(np.quantile(there, 0.3), abs=1e-14)
        assert got["ts_median"][t, n] == np.median(there)
        assert got["ts_medad"][t, n] == pytest.approx(np.median(np.abs(there - np.median(there))), abs=1e-15)


def test_of_a_sorted_part():
    ordered = np.array([9.0, 1.0, 2.0, 6.0, 7.0, 0.0])
    assert middle_value(ordered, 1, 4) == 4.0
    assert quantile_value(ordered, 1, 4, 0.5) == 4.0
    assert quantile_value(ordered, 1, 4, 1.0) == 7.0
    assert median_distance(ordered, 1, 4) == 2.5  # 3, 2, 2, 3
    assert median_distance(ordered, 1, 1) == 0.0
