import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.backtest import liquidity
from alphaswarm.core import Panel

NAN = np.nan


def make_panel(**fields):
    rows = len(next(iter(fields.values())))
    given = {name: np.array(values, float).reshape(rows, 1) for name, values in fields.items()}
    return Panel.from_arrays(given, np.datetime64("2024-01-01") + np.arange(rows), ["A"])


def test_value_traded_is_stated_or_worked_out():
    assert liquidity.dollar_volume(make_panel(close=[2, 3], volume=[10, 20])).tolist() == [[20], [60]]
    assert liquidity.dollar_volume(make_panel(close=[2], volume=[10], dollar_volume=[7])).tolist() == [[7]]
    assert liquidity.dollar_volume(make_panel(close=[2])) is None


def test_the_last_price_stays_known():
    prices = np.array([[NAN], [5.0], [NAN], [0.0], [6.0]])
    np.testing.assert_array_equal(liquidity.last_known(prices), [[NAN], [5], [5], [5], [6]])


@pytest.mark.parametrize("field", ["volume", "dollar_volume"])
def test_a_halt_is_no_price_or_no_volume(field):
    panel = make_panel(close=[1, NAN, 1, 1], **{field: [1, 1, 0, NAN]})
    assert liquidity.tradable(panel, panel["close"])[:, 0].tolist() == [True, False, False, True]
    bare = make_panel(close=[1, NAN])
    assert liquidity.tradable(bare, bare["close"])[:, 0].tolist() == [True, False]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10_000), rows=st.integers(2, 12))
def test_trailing_figures_are_those_of_each_window(seed, rows):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((30, 3))
    values[rng.random(values.shape) < 0.3] = NAN
    mean, deviation = liquidity.trailing_mean(values, rows), liquidity.trailing_volatility(values, rows)
    for row in range(30):
        for name in range(3):
            window = values[max(row - rows + 1, 0) : row + 1, name]
            above, finite = window[window > 0], window[np.isfinite(window)]
            expected = above.mean() if 2 * above.size >= rows and above.size else NAN
            np.testing.assert_allclose(mean[row, name], expected, rtol=1e-12)
            expected = finite.std(ddof=1) if 2 * finite.size >= rows and finite.size > 1 else NAN
            np.testing.assert_allclose(deviation[row, name], expected, rtol=1e-12)


def test_a_large_day_leaves_nothing_behind():
    values = np.full((20, 1), 0.25)
    values[3] = 1e17
    assert liquidity.trailing_mean(values, 5)[10, 0] == 0.25


def test_nothing_later_is_known():
    values = np.abs(np.random.default_rng(1).standard_normal((40, 2)))
    later = values.copy()
    later[25:] *= 9
    for figure in (
        liquidity.last_known,
        lambda v: liquidity.trailing_mean(v, 7),
        lambda v: liquidity.trailing_volatility(v, 7),
    ):
        np.testing.assert_array_equal(figure(values)[:25], figure(later)[:25])
