"""Decay: the newest row weighs most."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.kernels.decay import DECAY_EXP, DECAY_LINEAR, decay_value

X = np.random.default_rng(0).normal(size=20)


@pytest.mark.parametrize("d", [1, 2, 7, 20])
def test_against_numpy(d):
    window = X[20 - d :]
    assert decay_value(DECAY_LINEAR, 0.0, d, X, 20 - d, 20) == pytest.approx(
        np.average(window, weights=np.arange(1, d + 1)), rel=1e-13
    )
    assert decay_value(DECAY_EXP, 0.9, d, X, 20 - d, 20) == pytest.approx(
        np.average(window, weights=0.9 ** np.arange(d)[::-1]), rel=1e-13
    )


def test_the_result_lies_within_the_window():
    for seed in range(50):
        x = 0.1 + np.random.default_rng(seed).integers(0, 2, 9) * np.spacing(0.1)
        assert x.min() <= decay_value(DECAY_LINEAR, 0.0, 9, x, 0, 9) <= x.max()
