"""`cs_resid` against least squares, with weak, collinear and constant regressors."""

from __future__ import annotations

import numpy as np

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import KERNELS

RNG = np.random.default_rng(0)
Y, X, Z = RNG.normal(size=(3, 6, 40))
CTX = Context(np.ones(Y.shape, bool))
run = KERNELS["cs_resid"]


def test_against_least_squares():
    got = run(CTX, Y, X, Z)
    for t in range(6):
        design = np.column_stack([np.ones(40), X[t], Z[t]])
        expected = Y[t] - design @ np.linalg.lstsq(design, Y[t], rcond=None)[0]
        np.testing.assert_allclose(got[t], expected, atol=1e-13)


def test_the_residual_is_orthogonal_to_nearly_collinear_regressors():
    near = X + 1e-6 * Z
    got = run(CTX, Y, X, near)
    for regressor in (np.ones(Y.shape), X, Z):
        assert np.abs((got * regressor).sum(axis=1)).max() < 1e-8


def test_scale_does_not_matter():
    np.testing.assert_allclose(run(CTX, Y * 1e200, X * 1e-200) / 1e200, run(CTX, Y, X), atol=1e-13)


def test_no_regression():
    assert np.isnan(run(CTX, Y, np.full(Y.shape, 0.1))).all()
    assert np.isnan(run(CTX, Y, X, 3.0 * X - 1.0)).all()
    assert np.isnan(run(Context(np.arange(40) < np.full((6, 1), 2)), Y, X)).all()


def test_only_complete_members_count():
    x, members = X.copy(), np.ones(Y.shape, bool)
    x[:, 0], members[:, 1] = np.nan, False
    got = run(Context(members), Y, x)
    assert np.isnan(got[:, :2]).all()
    np.testing.assert_allclose(got[:, 2:], run(Context(members[:, 2:]), Y[:, 2:], X[:, 2:]), atol=1e-13)
