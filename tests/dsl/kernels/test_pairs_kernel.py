"""Correlation and regression over windows keep their digits at any scale and offset."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import KERNELS

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(2, 40))


def down(name, *args, **options):
    series = [np.array(arg, float)[:, None] if isinstance(arg, np.ndarray) else arg for arg in args]
    return KERNELS[name](Context(np.ones(series[0].shape, bool)), *series, **options)[:, 0]


@pytest.mark.parametrize("d", [3, 10, 40])
def test_against_numpy(d):
    got = {name: down(name, Y, X, d) for name in ("ts_cov", "ts_corr", "ts_beta", "ts_rsq", "ts_resid")}
    for t in range(d - 1, 40):
        x, y = X[t - d + 1 : t + 1], Y[t - d + 1 : t + 1]
        slope, constant = np.polyfit(x, y, 1)
        expected = {
            "ts_cov": np.cov(x, y)[0, 1],
            "ts_corr": np.corrcoef(x, y)[0, 1],
            "ts_beta": slope,
            "ts_rsq": np.corrcoef(x, y)[0, 1] ** 2,
            "ts_resid": y[-1] - constant - slope * x[-1],
        }
        for name, value in expected.items():
            assert got[name][t] == pytest.approx(value, rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("sigma", [1e-6, 1e-9, 1e-150, 1e150])
def test_perfect_correlation_at_any_scale(sigma):
    x = X * sigma
    np.testing.assert_allclose(down("ts_corr", x, 2.0 * x, 5)[4:], 1.0, rtol=1e-15)
    np.testing.assert_allclose(down("ts_corr", x, -x, 5)[4:], -1.0, rtol=1e-15)
    np.testing.assert_allclose(down("ts_beta", 3.0 * x, x, 5)[4:], 3.0, rtol=1e-14)


def test_a_correlation_stays_within_one():
    for seed in range(20):
        x = np.random.default_rng(seed).normal(size=30)
        y = 0.1 * x + 1e8
        assert (np.abs(down("ts_corr", x, y, 4)[3:]) <= 1.0).all()


def test_constant_windows():
    flat = np.full(40, 0.1)
    assert np.isnan(down("ts_corr", X, flat, 5)).all()
    assert np.isnan(down("ts_beta", Y, flat, 5)).all()
    assert (down("ts_cov", X, flat, 5)[4:] == 0.0).all()
    assert (down("ts_beta", flat, X, 5)[4:] == 0.0).all()


def test_order_of_the_arguments():
    for name in ("ts_cov", "ts_corr", "ts_rank_corr"):
        np.testing.assert_array_equal(down(name, X, Y, 7), down(name, Y, X, 7), err_msg=name)


def test_a_row_counts_where_both_are_valid():
    x, y = X.copy(), Y.copy()
    x[10], y[12] = np.nan, np.nan
    assert np.isnan(down("ts_corr", x, y, 5)[10:17]).all()
    there = np.array([11, 13, 14])
    expected = np.corrcoef(X[there], Y[there])[0, 1]
    assert down("ts_corr", x, y, 5, min_obs=3)[14] == pytest.approx(expected, rel=1e-13)
