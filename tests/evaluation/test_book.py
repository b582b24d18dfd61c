import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.backtest import rank_rows, rank_weights, stagger
from alphaswarm.evaluation import turnover
from alphaswarm.evaluation.book import rank_book


def slow_book(factor, earned, tranches):
    """Day by day from the weights of each day, flat before the first."""
    weights = rank_weights(factor)
    ahead = len(factor) - len(earned)
    book = [sum(weights[t - k] for k in range(tranches) if t >= k) / tranches for t in range(len(factor))]
    gross, traded, active, missing = [], [], [], []
    for t in range(ahead, len(factor)):
        before = book[t - 1] if t else np.zeros_like(book[0])
        held = np.flatnonzero(book[t])
        gross.append(sum(book[t][i] * earned[t - ahead, i] for i in held if np.isfinite(earned[t - ahead, i])))
        traded.append(sum(abs(book[t] - before)))
        missing.append(sum(np.isnan(earned[t - ahead, held])))
        active.append(bool(len(held)) or traded[-1] > 0)
    return gross, traded, active, missing


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 9999), st.integers(1, 6), st.integers(0, 6))
def test_the_book_is_that_of_the_slow_loop(seed, tranches, ahead):
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((12, 33)).round(1)
    factor[rng.random(factor.shape) < 0.05] = np.nan
    factor[rng.random(12) < 0.2] = np.nan
    earned = rng.normal(0, 0.01, (12 - ahead, 33))
    earned[rng.random(earned.shape) < 0.05] = np.nan
    book = rank_book(rank_rows(factor), earned, tranches)
    gross, traded, active, missing = slow_book(factor, earned, tranches)
    np.testing.assert_allclose(book.weights, stagger(rank_weights(factor), tranches)[ahead:], atol=1e-17)
    np.testing.assert_allclose(book.gross, gross, atol=1e-15)
    np.testing.assert_allclose(book.turnover, traded, atol=1e-14)
    np.testing.assert_array_equal(book.active, active)
    np.testing.assert_array_equal(book.missing, missing)


def test_leaving_is_charged_on_the_day_after():
    factor = np.vstack([np.arange(30.0), np.full(30, np.nan), np.full(30, np.nan)])
    book = rank_book(rank_rows(factor), np.zeros((3, 30)), 1)
    np.testing.assert_allclose(book.turnover, [1, 1, 0])
    np.testing.assert_array_equal(book.active, [True, True, False])


def test_turnover_by_hand():
    up = np.arange(30.0)
    assert turnover(np.vstack([up, up, up])) == 0
    assert turnover(np.vstack([up, -up, -up])) == pytest.approx(1.0)  # a full turn is 2, then nothing
    assert turnover(np.vstack([up, -up, -up]), 2) == pytest.approx((0.5 + 1) / 2)
    assert turnover(up[None]) is None
