import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import EvidenceInvalid
from alphaswarm.evaluation import quantile_return_series, quantile_returns


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 10), st.sampled_from([0, 1, 9]))
def test_the_series_is_that_of_pandas(seed, n, decimals):
    rng = np.random.default_rng(seed)
    factor, labels = rng.standard_normal((4, 40)).round(decimals), rng.standard_normal((4, 40))
    factor[rng.random(factor.shape) < 0.1] = np.nan
    labels[rng.random(factor.shape) < 0.1] = np.nan
    found = quantile_return_series(factor, labels, n, min_names=5)
    for row in range(4):
        frame = pd.DataFrame({"f": factor[row], "y": labels[row]}).dropna()
        bucket = np.ceil(n * frame.f.rank() / len(frame))
        expected = frame.y.groupby(bucket).mean().reindex(range(1, n + 1))
        np.testing.assert_allclose(found[row], expected, rtol=1e-12)
    kept = pd.DataFrame(found)
    np.testing.assert_allclose(quantile_returns(factor, labels, n, min_names=5), kept.mean(), rtol=1e-12)


def test_five_fifths_by_hand():
    values = np.arange(30.0)[None]
    np.testing.assert_allclose(quantile_returns(values, values), [2.5, 8.5, 14.5, 20.5, 26.5])


def test_a_date_without_differences_or_names_is_missing():
    factor = np.vstack([np.ones(40), np.r_[np.arange(29.0), np.full(11, np.nan)], np.arange(40.0)])
    found = quantile_return_series(factor, np.ones((3, 40)))
    assert np.isnan(found[:2]).all()
    assert (found[2] == 1).all()


def test_a_quantile_that_ties_leave_empty_is_missing():
    factor = np.r_[np.zeros(35), np.arange(1.0, 6.0)][None]  # the zeros share rank 18 of 40
    found = quantile_returns(factor, np.ones((1, 40)))
    np.testing.assert_array_equal(found, [np.nan, np.nan, 1, np.nan, 1])


def test_what_is_asked_must_make_sense():
    with pytest.raises(EvidenceInvalid, match="at least 2"):
        quantile_returns(np.zeros((1, 40)), np.zeros((1, 40)), 1)
    with pytest.raises(EvidenceInvalid, match="share a shape"):
        quantile_returns(np.zeros((1, 40)), np.zeros((1, 41)))
