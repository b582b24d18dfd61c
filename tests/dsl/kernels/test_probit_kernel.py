"""The normal quantile against scipy, far into the tails."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from alphaswarm.core.jit import jit
from alphaswarm.dsl.kernels.probit import probit


@jit
def each(p, out):
    for i in range(p.size):
        out[i] = probit(p[i])


def test_against_scipy():
    p = np.concatenate([np.linspace(1e-3, 1 - 1e-3, 999), 10.0 ** -np.arange(4, 40.0)])
    out = np.empty(p.size)
    each(p, out)
    np.testing.assert_allclose(out, ndtri(p), rtol=1e-14, atol=1e-15)
