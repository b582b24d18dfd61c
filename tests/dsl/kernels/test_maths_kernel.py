"""Logarithms and exponentials to a few units in the last place."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import apply

RNG = np.random.default_rng(0)
WIDE = np.concatenate([10.0 ** RNG.uniform(-308, 308, 500), 1.0 + RNG.normal(size=500) * 1e-6, [5e-324, 2.2e-308, 1.0]])
NEAR = np.concatenate(
    [RNG.normal(size=500), RNG.normal(size=300) * 1e-9, RNG.normal(size=300) * 100, [0.0, 709.5, -745.0]]
)


@pytest.mark.parametrize(
    ("name", "x", "function"),
    [
        ("log", WIDE, np.log),
        ("log1p", np.abs(NEAR), np.log1p),
        ("log1p", -np.abs(np.tanh(NEAR)) * 0.999, np.log1p),
        ("slog1p", NEAR, lambda x: np.sign(x) * np.log1p(np.abs(x))),
        ("exp", NEAR, np.exp),
        ("sigmoid", NEAR, lambda x: 1.0 / (1.0 + np.exp(-x))),
        ("tanh", NEAR, np.tanh),
    ],
)
def test_against_numpy(name, x, function):
    got = apply(name, Context(np.ones((1, x.size), bool)), x[None])[0]
    with np.errstate(over="ignore"):
        expected = function(x)
    expected = np.where(np.isinf(expected), np.nan, expected)
    np.testing.assert_allclose(got, expected, rtol=2e-15, atol=5e-324)


@pytest.mark.parametrize("name", ["log", "log1p", "exp", "sigmoid", "tanh", "sqrt"])
def test_float32(name, dtype):
    x = np.abs(NEAR[:800]).astype(np.float32).astype(np.float64)
    ctx = Context(np.ones((1, x.size), bool))
    got, expected = apply(name, ctx, x[None], dtype=dtype), apply(name, ctx, x[None])
    np.testing.assert_allclose(got, expected, rtol=2e-7 if dtype == "float32" else 0)
