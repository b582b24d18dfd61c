"""The estimate, the budget, and what is over it."""

import numpy as np
import pytest

from alphaswarm.core import ExpressionError, Panel, Reason
from alphaswarm.dsl import check, cost, parse
from alphaswarm.dsl.cost import budget
from alphaswarm.dsl.limits import FREE_OPERATIONS, OPERATIONS_A_CELL

BOMB = "ts_corr(" * 30 + "close" + ", open, 85)" * 30


def panel(rows, names, fields=("close", "open")):
    dates = np.datetime64("2000-01-01") + np.arange(rows)
    values = np.broadcast_to(np.float64(1), (rows, names))
    return Panel.from_arrays(dict.fromkeys(fields, values), dates, [f"s{i}" for i in range(names)])


@pytest.mark.parametrize(
    ("text", "a_cell"),
    [
        ("close", 0),
        ("close + open", 1),
        ("ts_mean(close, 20)", 20),
        ("ts_std(close, 20)", 80),
        ("ts_corr(close, open, 20)", 160),
        ("ts_median(close, 32)", 32 * 6),
        ("cs_rank(close)", 7),
        ("group_mean(close, sector)", 7),
        ("delay(close, 20)", 1),
        ("ema(close, 20)", 1),
        ("ts_mean(close, 20) + ts_mean(close, 20)", 21),
        ("adv(20)", 20),
    ],
)
def test_cells_times_window(text, a_cell):
    assert cost(parse(text), (100, 64)) == a_cell * 6400


def test_nested_correlations_are_within_the_caps_and_over_the_budget():
    bomb = check(parse(BOMB))
    shape = (500, 110)
    needed, allowed = cost(bomb, shape), budget(shape)
    assert needed > allowed
    with pytest.raises(ExpressionError) as caught:
        check(bomb, panel(*shape))
    assert caught.value.reason is Reason.DSL_TOO_LARGE
    assert caught.value.column == 1
    assert f"{needed:.2g}" in caught.value.message
    assert f"{allowed:.2g}" in caught.value.message
    assert "500 x 110" in caught.value.message
    assert "shorter windows" in caught.value.hint


def test_what_costs_a_second_is_never_refused():
    assert budget((10, 10)) == FREE_OPERATIONS
    assert check(parse(BOMB), panel(10, 10)) is parse(BOMB)


def test_the_budget_grows_with_the_panel():
    assert budget((5000, 5000)) == OPERATIONS_A_CELL * 25e6
    for text in ("ts_corr(close, open, 504)", "ts_rank_corr(close, open, 504)"):
        assert cost(parse(text), (5000, 5000)) < budget((5000, 5000)) / 2


def test_fields_that_the_panel_derives_count():
    shape = (600, 100)
    with pytest.raises(ExpressionError):  # returns stands for pct_change(close, 1)
        check(parse(BOMB.replace("open", "returns")), panel(*shape, fields=("close",)))
