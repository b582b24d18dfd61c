from itertools import pairwise

import numpy as np
import pytest

from alphaswarm.backtest import vector_days as days

NAN = np.nan
FREE = np.empty(0)


def filled(held, target, tradable=None, most=FREE, value=100.0, band=0.0):
    """What `filled` returns, and what is held after."""
    held = np.array(held, float)
    can = np.ones(held.size, bool) if tradable is None else np.array(tradable)
    return days.filled(held, np.array(target, float), can, np.array(most, float), value, band), held.tolist()


def test_positions_become_targets():
    assert filled([10, 50, 0], [0.2, 0.0, -0.1]) == ((-50.0, 70.0, 0), [20, 0, -10])


def test_what_can_not_be_traded_stays():
    assert filled([10, 50], [0.2, 0.0], [False, True]) == ((-50.0, 50.0, 1), [10, 0])


def test_small_orders_wait_but_an_exit_does_not():
    assert filled([10, 4, 10], [0.12, 0.0, 0.2], band=0.05) == ((6.0, 14.0, 0), [10, 0, 20])


def test_orders_are_cut_to_what_may_be_traded():
    assert filled([0, 30, 0], [0.2, 0.0, 0.1], most=[5, 12, NAN]) == ((-7.0, 17.0, 3), [5, 18, 0])


def test_a_missing_return_is_counted_where_something_is_held():
    held = np.array([10.0, 0.0, 20.0])
    assert days.moved(held, np.array([0.1, NAN, NAN])) == 1
    np.testing.assert_allclose(held, [11, 0, 20])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_days_are_the_same_in_any_parts(dtype, monkeypatch):
    rng = np.random.default_rng(1)
    rows, names = 600, 20  # more rows than a block
    returns = rng.normal(0, 0.01, (rows, names)).astype(dtype)
    returns[rng.random((rows, names)) < 0.001] = NAN
    weights = rng.normal(0, 0.05, (2, rows, names)).astype(dtype)

    def run(cuts):
        held, cash = np.zeros((2, names), dtype), np.ones(2)
        daily, counts = np.zeros((2, days.FIGURES, rows)), np.zeros((2, 2), np.int64)
        daily[:, days.EQUITY, 0] = 1.0
        none = np.zeros((0, 0), dtype)
        for first, stop in pairwise(cuts):
            arrays = returns, np.isfinite(returns).all(axis=1), none, np.zeros((0, 0), bool)
            found = days.batch(
                weights,
                0,
                first,
                stop - first,
                *arrays,
                1,
                0.001,
                0.0,
                0.0,
                held,
                cash,
                daily,
                counts,
                np.zeros((0, 0, 0), dtype),
            )
            assert found == (-1, -1)
        return daily

    tolerance = 1e-12 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(run([0, rows - 1]), run([0, 1, 7, 300, rows - 1]), rtol=tolerance, atol=tolerance)
