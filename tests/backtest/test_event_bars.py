import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.backtest import event_bars as bars

NAN = np.nan


def wanted(target, equity, price, size, lot):
    """Positions and refusals, as arrays of floats."""
    after = np.empty(len(target))
    refused = bars.wanted(
        *(np.array(values, float) for values in (target,)),
        equity,
        np.array(price, float),
        np.array(size, float),
        lot,
        after,
    )
    return after.tolist(), refused


def test_targets_become_whole_lots_toward_zero():
    assert wanted([0.5, -0.5, 0.0, NAN], 1000.0, [30, 30, 30, 30], [0, 0, 7, 7], 1.0) == ([16, -16, 0, 7], 0)
    assert wanted([0.5, -0.5], 1000.0, [30, 30], [0, 0], 5.0) == ([15, -15], 0)
    assert wanted([0.5], 1000.0, [32], [0], 0.0) == ([15.625], 0)


def test_a_name_without_a_price_keeps_its_position_and_is_counted():
    assert wanted([0.5, 0.0, 0.0, NAN], 1000.0, [NAN] * 4, [3, 3, 0, 3], 1.0) == ([3, 3, 0, 3], 2)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0.01, 100)), max_size=20))
def test_value_is_the_sum_over_names(held):
    sizes, prices = (np.array([pair[k] for pair in held], float) for k in (0, 1))
    scale = sum(abs(a * b) for a, b in held)
    assert bars.value_of(sizes, prices) == pytest.approx(sum(a * b for a, b in held), abs=1e-12 * scale + 1e-300)


@settings(deadline=None)
@given(st.lists(st.integers(-100, 100), min_size=1, max_size=10), st.floats(0, 1), st.sampled_from([1.0, 10.0]))
def test_a_cut_to_the_cash_touches_buys_only_and_leaves_whole_lots(wishes, share, lot):
    size = np.zeros(len(wishes))
    after = np.array(wishes, float) * lot
    before = after.copy()
    bars.cut_to_cash(size, share, lot, after)
    sells = before <= 0
    np.testing.assert_array_equal(after[sells], before[sells])
    assert (after[~sells] <= before[~sells] * share + 1e-9).all()
    assert (after % lot == 0).all()


def test_a_cut_to_the_volume_is_counted():
    size, after = np.array([0.0, 10.0, 0.0]), np.array([25.0, -30.0, 5.0])
    assert bars.cut_to_volume(size, np.array([12.0, 12.0, NAN]), 5.0, after) == 2
    assert after.tolist() == [10, 0, 5]


def test_an_account_with_nothing_left_is_closed_out():
    sizes, held, daily, counts = (
        np.array([[0.0], [-10.0]]),
        np.zeros((2, 1)),
        np.zeros((bars.FIGURES, 2)),
        np.zeros(4, int),
    )
    known, gone = np.array([[10.0], [30.0]]), np.zeros((2, 1), bool)
    bars.close_row(1, 200.0, 0.5, 0.0, known, gone, sizes, held, daily, counts)
    assert sizes[1, 0] == 0.0
    assert daily[bars.EQUITY, 1] == daily[bars.CASH, 1] == -100.0
