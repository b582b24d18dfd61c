import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.backtest import EventEngine, Fills
from alphaswarm.backtest.event_bars import count_trades, list_trades
from alphaswarm.backtest.fills import Fill, FillColumns
from alphaswarm.core import Panel

SYMBOLS = ("A", "B")


def two(asked):
    """Two fills, and a list that grows each time the columns are made."""

    def make():
        asked.append(1)
        return FillColumns(
            np.array([1, 3]), np.array([1, 0]), np.array([5.0, -2.0]), np.array([10.0, 20.0]), np.zeros(2)
        )

    return Fills(make, SYMBOLS)


def test_they_read_as_a_list():
    fills = two([])
    assert len(fills) == 2
    assert list(fills) == [Fill(1, "B", 5.0, 10.0, 0.0), Fill(3, "A", -2.0, 20.0, 0.0)]
    assert fills[-1].symbol == "A"
    assert isinstance(fills[0].bar, int)
    with pytest.raises(IndexError):
        fills[2]


def test_they_are_made_once_and_only_when_asked_for():
    asked = []
    fills = two(asked)
    assert asked == []
    assert len(fills) == len(list(fills)) == 2
    assert asked == [1]


def test_columns_are_read_only():
    for column in two([]).columns:
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_there_may_be_none():
    assert len(Fills.none()) == 0
    assert list(Fills.none()) == []


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10_000), sells_first=st.booleans())
def test_trades_are_listed_as_a_loop_would(seed, sells_first):
    rng = np.random.default_rng(seed)
    rows, names = rng.integers(1, 12), rng.integers(1, 7)
    sizes = rng.integers(-2, 3, (rows, names)).astype(float)
    price = rng.uniform(5, 50, (rows - 1, names))
    expected = []
    for row in range(1, rows):
        bar = [
            (row + 6, name, sizes[row, name] - sizes[row - 1, name], price[row - 1, name])
            for name in range(names)
            if sizes[row, name] != sizes[row - 1, name]
        ]
        expected += sorted(bar, key=lambda fill: fill[2] > 0) if sells_first else bar
    count = count_trades(sizes)
    found = [np.empty(count, kind) for kind in (int, int, float, float, float)]
    list_trades(sizes, price, 0.01, 7, sells_first, *found)
    assert list(zip(*(column.tolist() for column in found[:4]), strict=True)) == expected
    np.testing.assert_allclose(found[4], [0.01 * abs(size) * at for _, _, size, at in expected], rtol=1e-15)


def test_a_result_keeps_its_fills_while_the_account_goes_on():
    panel = Panel.from_arrays({"close": np.full((5, 1), 10.0)}, np.datetime64("2024-01-01") + np.arange(5), ["A"])
    session = EventEngine(cash=100.0).start(panel)
    session.step([0.5])
    early = session.result()
    session.step([0.0])
    assert [fill.size for fill in early.fills] == [5.0]
    assert early.positions[-1, 0] == 0.5
    for _ in range(2):
        session.step(None)
    assert [fill.size for fill in session.result().fills] == [5.0, -5.0]
