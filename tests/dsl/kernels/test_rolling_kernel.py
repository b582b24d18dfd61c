"""Windows at the edges: longer than the panel, of one row, over a first row that is missing."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.rolling import ROLLING
from alphaswarm.dsl.kernels.single import KERNELS

X = np.random.default_rng(0).normal(size=(6, 3))
CTX = Context(np.ones(X.shape, bool))
EXTRA = {"decay_exp": (0.5,), "ts_moment": (2,)}


def run(name, x, d, **options):
    series = (x, (x > 0) * 1.0) if name == "ts_sumif" else (x,)
    return KERNELS[name](Context(np.ones(x.shape, bool)), *series, d, *EXTRA.get(name, ()), **options)


@pytest.mark.parametrize("name", sorted(ROLLING))
def test_a_window_longer_than_the_panel(name):
    assert np.isnan(run(name, X, 7)).all()
    # with few enough required rows it reads what there is
    np.testing.assert_array_equal(run(name, X, 504, min_obs=5)[4], run(name, X[:5], 504, min_obs=5)[4])


@pytest.mark.parametrize("name", ["ts_sum", "ts_mean", "ts_product", "ts_min", "ts_max", "decay_linear", "decay_exp"])
def test_a_window_of_one_row_is_the_value(name):
    np.testing.assert_array_equal(run(name, X, 1), X)


@pytest.mark.parametrize("name", sorted(ROLLING))
def test_columns_do_not_meet(name):
    alone = np.column_stack([run(name, X[:, [n]], 3) for n in range(3)])
    np.testing.assert_array_equal(run(name, X, 3), alone)


def test_a_missing_value_is_missed_for_exactly_d_rows():
    x = np.ones((10, 1))
    x[4] = np.nan
    missing = np.isnan(run("ts_sum", x, 3)[:, 0])
    assert np.flatnonzero(missing).tolist() == [0, 1, 4, 5, 6]
