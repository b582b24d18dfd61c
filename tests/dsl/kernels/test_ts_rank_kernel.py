import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import Panel
from alphaswarm.dsl import evaluate


def panel_of(values):
    dates = np.datetime64("2020-01-01") + np.arange(values.shape[0])
    return Panel.from_arrays({"close": values}, dates, [f"S{k}" for k in range(values.shape[1])])


def slow(values, window):
    """Average rank of the last value among the window, as a share of it; NaN where one is missing."""
    out = np.full(values.shape, np.nan)
    for t in range(window - 1, values.shape[0]):
        for i in range(values.shape[1]):
            seen = values[t - window + 1 : t + 1, i]
            if np.isfinite(seen).all():
                less, same = (seen < seen[-1]).sum(), (seen == seen[-1]).sum()
                out[t, i] = (less + (same + 1) / 2) / window
    return out


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 10_000),
    window=st.sampled_from([1, 2, 3, 5, 8, 17, 40]),
    distinct=st.sampled_from([2, 5, 1000]),
    names=st.sampled_from([1, 3, 16, 21]),
)
def test_against_counting(seed, window, distinct, names):
    rng = np.random.default_rng(seed)
    values = rng.integers(-distinct, distinct, (45, names)).astype(float)
    values[rng.random(values.shape) < 0.03] = np.nan
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-7)):
        found = evaluate(f"ts_rank(close, {window})", panel_of(values), dtype=dtype)
        np.testing.assert_allclose(found, slow(values, window), rtol=tolerance)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_zeros_of_both_signs_tie(dtype):
    values = np.array([[0.0], [-0.0], [0.0], [-0.0]])
    found = evaluate("ts_rank(close, 4)", panel_of(values), dtype=dtype)
    assert found[-1, 0] == 2.5 / 4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_neighbours_that_differ_by_the_last_bit_do_not_tie(dtype):
    one = np.ones((), dtype)
    values = np.array([[1.0], [float(np.nextafter(one, 2 * one))], [1.0]])
    found = evaluate("ts_rank(close, 3)", panel_of(values), dtype=dtype)
    assert found[-1, 0] == pytest.approx(1.5 / 3)
