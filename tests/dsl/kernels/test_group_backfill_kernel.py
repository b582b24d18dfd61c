"""A group's recent values fill its gaps, and only they."""

from __future__ import annotations

import numpy as np

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import KERNELS

run = KERNELS["group_backfill"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(9, 6))
G = RNG.integers(0, 2, X.shape).astype(np.int32)
CTX = Context(np.ones(X.shape, bool))


def test_without_gaps_nothing_changes():
    np.testing.assert_array_equal(run(CTX, X, G, 4), X)


def test_a_gap_is_the_mean_of_its_group_over_the_window():
    x = X.copy()
    x[5, 2] = np.nan
    window, labels = x[2:6], G[2:6]
    there = window[(labels == G[5, 2]) & ~np.isnan(window)]
    got = run(CTX, x, G, 4)
    np.testing.assert_allclose(got[5, 2], there.mean(), rtol=1e-14)
    changed = got != X
    assert np.argwhere(changed).tolist() == [[5, 2]]


def test_no_value_no_label_no_member():
    x = X.copy()
    x[0] = np.nan
    assert np.isnan(run(CTX, x, G, 9)[0]).all()
    g = G.copy()
    g[4, 1] = -1
    members = np.ones(X.shape, bool)
    members[4, 2] = False
    assert np.isnan(run(Context(members), X, g, 2)[4, 1:3]).all()
