"""Moving ranks equal ranks taken anew in every window."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import KERNELS


@pytest.mark.parametrize("d", [3, 8, 50])
@pytest.mark.parametrize("digits", [0, 8])
def test_against_scipy(d, digits):
    rng = np.random.default_rng(d)
    x, y = np.round(rng.normal(size=(2, 80, 2)), digits)
    x[rng.random(x.shape) < 0.1] = np.nan
    y[rng.random(y.shape) < 0.1] = np.nan
    got = KERNELS["ts_rank_corr"](Context(np.ones(x.shape, bool)), x, y, d, min_obs=3)
    for t, n in np.ndindex(x.shape):
        rows = slice(max(0, t - d + 1), t + 1)
        both = ~np.isnan(x[rows, n]) & ~np.isnan(y[rows, n])
        a, b = x[rows, n][both], y[rows, n][both]
        if len(a) < 3 or len(set(a)) == 1 or len(set(b)) == 1:
            assert np.isnan(got[t, n])
        else:
            assert got[t, n] == pytest.approx(spearmanr(a, b).statistic, abs=1e-14)
