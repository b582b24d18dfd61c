"""What is made of ranks, and who takes part in a day."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl.evaluate import evaluate


@pytest.mark.parametrize(
    ("name", "args"), [("cs_rank", ()), ("cs_rank01", ()), ("cs_quantile_transform", ()), ("cs_bucket", (5,))]
)
def test_against_the_definition(name, args, size, dtype, series, assert_matches):
    assert_matches(name, series(1, size), *args, dtype=dtype, unit=1e-3)
    assert_matches(name, np.round(series(2, size)), *args, dtype=dtype, unit=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("names", [5, 16, 19])
def test_padding_never_counts(names, dtype):
    x = np.random.default_rng(0).normal(size=(6, names))
    x[:, 0] = np.nan
    dates = np.datetime64("2020-01-01") + np.arange(6)
    panel = Panel.from_arrays({"x": x}, dates, [f"s{n}" for n in range(names)])
    for text in ("cs_rank(fill(x, 0))", "cs_rank(is_nan(x))", "cs_demean(fill(x, 1))", "cs_rank(0 * fill(x, 0) + 3)"):
        got = evaluate(text, panel, dtype=dtype)
        np.testing.assert_allclose(got, evaluate(text, panel, engine="reference"), atol=1e-6)
