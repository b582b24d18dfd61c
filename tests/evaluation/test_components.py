import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.evaluation.components import principal_components


def span(rows):
    """The projection on the space that rows span; it does not know signs or order."""
    return rows.T @ rows


def by_numpy(returns, k):
    block = (returns - returns.mean(axis=0)) / returns.std(axis=0)
    return np.linalg.svd(block, full_matrices=False)[2][:k]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 9999), st.integers(8, 90), st.integers(6, 90), st.sampled_from([0.0, 0.3, 3.0]))
def test_the_span_is_that_of_the_singular_vectors(seed, days, names, common):
    rng = np.random.default_rng(seed)
    returns = rng.standard_normal((days, names)) + common * rng.standard_normal((days, 2)) @ rng.random((2, names))
    values = np.linalg.svd((returns - returns.mean(axis=0)) / returns.std(axis=0), compute_uv=False)
    gap = (values[4] ** 2 - values[5] ** 2) / values[0] ** 2
    if gap > 1e-4:
        found = principal_components(returns, 5)
        np.testing.assert_allclose(span(found), span(by_numpy(returns, 5)), atol=1e-9)


def test_a_year_of_many_names():
    rng = np.random.default_rng(3)
    returns = 0.01 * (rng.standard_normal((252, 7)) @ rng.standard_normal((7, 500)) + rng.standard_t(4, (252, 500)))
    np.testing.assert_allclose(span(principal_components(returns, 5)), span(by_numpy(returns, 5)), atol=1e-10)


def test_scale_and_mean_of_a_name_do_not_matter():
    returns = np.random.default_rng(4).standard_normal((60, 40))
    other = returns * np.linspace(0.1, 3, 40) + np.linspace(-1, 1, 40)
    np.testing.assert_allclose(span(principal_components(other, 5)), span(principal_components(returns, 5)), atol=1e-9)


def test_half_of_the_rows_are_needed_and_the_others_count_as_the_mean():
    returns = np.random.default_rng(5).standard_normal((60, 40))
    returns[:30, 3] = np.nan
    returns[:31, 4] = np.nan
    returns[:, 5] = 0.1
    found = principal_components(returns, 5)
    assert np.flatnonzero(np.isnan(found).any(axis=0)).tolist() == [4, 5]
    filled = np.delete(returns, [4, 5], axis=1)
    block = (filled - np.nanmean(filled, axis=0)) / np.nanstd(filled, axis=0)
    expected = np.linalg.svd(np.nan_to_num(block), full_matrices=False)[2][:5]
    np.testing.assert_allclose(span(np.delete(found, [4, 5], axis=1)), span(expected), atol=1e-9)


@pytest.mark.parametrize("names", [0, 1, 3])
def test_data_of_fewer_dimensions_leave_rows_of_zeros(names):
    returns = np.full((30, 8), np.nan)
    returns[:, :names] = np.random.default_rng(6).standard_normal((30, names))
    found = principal_components(returns, 5)[:, :names]
    np.testing.assert_allclose(span(found), np.eye(names), atol=1e-12)
    assert (found[names:] == 0).all()
