"""Memory: seeding, gaps and resets, against pandas where it has the operator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.recursive import RECURSIVE
from alphaswarm.dsl.kernels.single import KERNELS

X = np.random.default_rng(0).normal(size=(50, 3))
CTX = Context(np.ones(X.shape, bool))


def test_ema_is_that_of_pandas():
    expected = pd.DataFrame(X).ewm(span=7, adjust=False, min_periods=7).mean()
    np.testing.assert_allclose(KERNELS["ema"](CTX, X, 7), expected, rtol=1e-13)


@pytest.mark.parametrize("gap", [3, 4])
def test_ema_forgets_after_a_gap_longer_than_its_span(gap):
    x = X.copy()
    x[10 : 10 + gap] = np.nan
    after = KERNELS["ema"](CTX, x, 3)[10 + gap]
    assert np.isnan(after).all() == (gap > 3)


def test_backfill_looks_back_d_rows():
    x = np.full((6, 1), np.nan)
    x[0] = 1.0
    got = KERNELS["ts_backfill"](Context(np.ones(x.shape, bool)), x, 3)
    assert np.isfinite(got[:, 0]).tolist() == [True, True, True, False, False, False]


def test_hump_bounds_every_step():
    got = KERNELS["hump"](CTX, X, 0.3)
    assert np.abs(np.diff(got, axis=0)).max() <= 0.3 + 1e-15
    np.testing.assert_array_equal(KERNELS["hump"](CTX, X, 1e9), X)


@pytest.mark.parametrize("name", sorted(RECURSIVE))
def test_an_empty_column_stays_empty(name):
    x = np.full((4, 2), np.nan)
    args = {"ema": (2,), "sma_cn": (2, 1), "hump": (0.5,), "ts_backfill": (2,), "trade_when": (x, x)}.get(name, ())
    assert np.isnan(KERNELS[name](Context(np.ones(x.shape, bool)), x, *args)).all()
