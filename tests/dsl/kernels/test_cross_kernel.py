"""Cross-sections: against numpy and scipy, exact under permutation and change of sign."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.cross import CROSS
from alphaswarm.dsl.kernels.single import KERNELS

RNG = np.random.default_rng(0)
SHAPE = (7, 50)
X = np.round(RNG.normal(size=SHAPE), 1)
X[RNG.random(SHAPE) < 0.1] = np.nan
G = RNG.integers(-1, 4, SHAPE).astype(np.int32)
UNIVERSE = RNG.random(SHAPE) < 0.9
UNIVERSE[3] = False
CTX = Context(UNIVERSE)
PARAMETER = {"cs_winsorize": (1.5,), "cs_mad_clip": (1.5,), "cs_quantile_clip": (0.1,), "cs_bucket": (10,)}


def run(name, x=X, g=G, ctx=CTX):
    return KERNELS[name](ctx, x, *((g,) if name.startswith("group") else PARAMETER.get(name, ())))


def test_against_scipy():
    for t in range(SHAPE[0]):
        there = UNIVERSE[t] & ~np.isnan(X[t])
        x = X[t, there]
        n = len(x)
        for name in ("cs_rank", "cs_quantile_transform", "cs_bucket", "cs_zscore", "cs_scale", "cs_quantile_clip"):
            assert np.isnan(run(name)[t, ~there]).all(), name
        if n == 0:
            continue
        rank = rankdata(x)
        np.testing.assert_array_equal(run("cs_rank")[t, there], rank / n)
        np.testing.assert_allclose(run("cs_quantile_transform")[t, there], norm.ppf((rank - 0.5) / n), atol=1e-14)
        np.testing.assert_allclose(run("cs_zscore")[t, there], (x - x.mean()) / x.std(ddof=1), atol=1e-13)
        np.testing.assert_allclose(run("cs_scale")[t, there], x / np.abs(x).sum(), rtol=1e-14)
        clipped = np.clip(x, *np.quantile(x, [0.1, 0.9]))
        np.testing.assert_allclose(run("cs_quantile_clip")[t, there], clipped, rtol=1e-14)
        for group in range(4):
            inside = there & (G[t] == group)
            np.testing.assert_array_equal(run("group_rank")[t, inside], rankdata(X[t, inside]) / inside.sum())


@pytest.mark.parametrize("name", sorted(CROSS))
def test_permuted_symbols_permute_the_result_and_change_no_bit(name):
    order = np.random.default_rng(1).permutation(SHAPE[1])
    permuted = run(name, X[:, order], G[:, order], Context(UNIVERSE[:, order]))
    np.testing.assert_array_equal(permuted, run(name)[:, order])


@pytest.mark.parametrize("name", ["cs_demean", "cs_zscore", "cs_scale", "cs_winsorize", "cs_mad_clip", "group_sum"])
def test_a_change_of_sign_changes_no_other_bit(name):
    x = np.random.default_rng(2).normal(size=SHAPE)
    np.testing.assert_array_equal(run(name, -x), -run(name, x))


def test_buckets_hold_equal_counts():
    x = np.random.default_rng(3).permutation(100.0 * np.arange(50))[None]
    buckets = KERNELS["cs_bucket"](Context(np.ones(x.shape, bool)), x, 10)
    assert np.bincount(buckets[0].astype(int)).tolist() == [5] * 10


def test_groups_without_a_member():
    nobody = np.full(SHAPE, -1, np.int32)
    assert np.isnan(run("group_mean", X, nobody)).all()
    assert np.isnan(run("group_mean", np.full(SHAPE, np.nan), G)).all()


def test_zeros_of_either_sign_tie():
    x = np.array([[0.0, -0.0, 1.0]])
    np.testing.assert_array_equal(KERNELS["cs_rank"](Context(np.ones(x.shape, bool)), x), [[0.5, 0.5, 1.0]])
