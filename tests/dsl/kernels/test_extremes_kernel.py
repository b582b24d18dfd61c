"""Ranks, places and entropy of windows against plain numpy."""

from __future__ import annotations

import numpy as np
from scipy.stats import entropy, rankdata

from alphaswarm.dsl.kernels.extremes import (
    ARGMAX,
    ARGMIN,
    ENTROPY,
    MAX,
    MIN,
    PRODUCT,
    RANK,
    SCALE,
    extreme_value,
)

X = np.round(np.random.default_rng(0).normal(size=25), 1)


def test_against_numpy():
    for start, stop in ((0, 25), (3, 4), (5, 17)):
        window = X[start:stop]
        n = len(window)
        got = {op: extreme_value(op, X, start, stop, n) for op in (MIN, MAX, ARGMIN, ARGMAX, RANK, PRODUCT, SCALE)}
        assert got[MIN] == window.min()
        assert got[MAX] == window.max()
        assert got[ARGMIN] == np.argmin(window[::-1])
        assert got[ARGMAX] == np.argmax(window[::-1])
        assert got[RANK] == rankdata(window)[-1] / n
        assert got[PRODUCT] == np.multiply.reduce(window)
        if n > 1:
            assert got[SCALE] == (window[-1] - window.min()) / (window.max() - window.min())


def test_entropy_is_that_of_the_histogram():
    x = np.random.default_rng(1).normal(size=60)  # no value on an inner edge
    expected = entropy(np.histogram(x, 10)[0])
    assert abs(extreme_value(ENTROPY, x, 0, 60, 60) - expected) < 1e-14


def test_nan_is_never_the_extreme():
    x = np.array([2.0, np.nan, 5.0, np.nan])
    assert extreme_value(ARGMAX, x, 0, 4, 2) == 1.0
    assert extreme_value(ARGMIN, x, 0, 4, 2) == 3.0
    assert np.isnan(extreme_value(RANK, x, 0, 4, 2))
    assert extreme_value(RANK, x, 0, 3, 2) == 1.0


def test_a_width_beyond_floats_has_no_entropy():
    assert np.isnan(extreme_value(ENTROPY, np.array([-1.7e308, 1.7e308]), 0, 2, 2))
