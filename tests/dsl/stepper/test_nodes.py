"""Which rows a stage keeps, and which of them its engine is given."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl import field, parse
from alphaswarm.dsl.plan import Plan
from alphaswarm.dsl.stepper import nodes
from alphaswarm.dsl.stepper.nodes import Bar, Carried, keeper
from alphaswarm.dsl.stepper.stages import stages

EVERYONE = np.ones(2, bool)


def keepers(*texts):
    return [keeper(stage, 2) for stage in stages(Plan.of([parse(text) for text in texts]))]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        # windows of three rows start at a multiple of three, one block before their own
        ("ts_mean(x, 3)", [1, 2, 3, 4, 5, 6, 4, 5, 6, 4]),
        ("delay(x, 2)", [1, 2, 3, 3, 3]),
        ("sqrt(x)", [1, 1, 1]),
        ("cs_rank(x)", [1, 1, 1]),
        # the lag reaches back two rows more: a whole block
        ("ts_autocorr(x, 3, 2)", [1, 2, 3, 4, 5, 6, 7, 8, 9, 7, 8, 9, 7]),
    ],
)
def test_rows_keep_the_phase_of_the_blocks(text, given, monkeypatch):
    seen = []
    monkeypatch.setattr(nodes, "evaluate", lambda _exprs, panel: seen.append(panel["x0"][:, 0]) or [panel["x0"]])
    (stage,) = keepers(text)
    for number in range(len(given)):
        stage.step({field("x"): np.full(2, float(number))}, Bar(number, EVERYONE, {}))
    assert [len(rows) for rows in seen] == given
    for number, rows in enumerate(seen):
        assert rows.tolist() == list(range(number - len(rows) + 1, number + 1))


def test_cells_are_computed_together_and_numbers_stand_where_they_stood():
    (stage,) = keepers("if_else(x > 1, 2, max(y, 3, 4))", "x > 1")
    assert [str(one) for one in stage.alone] == ["x0 > 1", "if_else(x0 > 1, 2, max(x1, 3, 4))"]
    got = stage.step({field("x"): np.array([2.0, np.nan]), field("y"): np.array([5.0, 6.0])}, Bar(0, EVERYONE, {}))
    np.testing.assert_array_equal(got[parse("if_else(x > 1, 2, max(y, 3, 4))")], [2.0, np.nan])
    np.testing.assert_array_equal(got[parse("x > 1")], [1.0, np.nan])


def test_a_condition_from_below_looks_like_one():
    _cells, stage = keepers("ts_count(x > 1, 2)")
    assert [str(one) for one in stage.alone] == ["ts_count(x0 != 0, 2)"]


def test_membership_counts_across_symbols_only():
    outside = np.array([True, False])
    row = {field("x"): np.array([3.0, 4.0])}
    for text, expected in (("cs_rank(x)", [1.0, np.nan]), ("sqrt(x)", np.sqrt([3.0, 4.0]))):
        (stage,) = keepers(text)
        np.testing.assert_array_equal(stage.step(row, Bar(0, outside, {}))[parse(text)], expected)


def test_a_memory_takes_numbers_for_series():
    expr = parse("trade_when(1, x, 0)")
    node = Carried(expr, 2)
    values = {one: one.constant for one in node.series if one.constant is not None}
    got = node.step({**values, field("x"): np.array([3.0, 4.0])}, Bar(0, EVERYONE, {}))
    np.testing.assert_array_equal(got[expr], [3.0, 4.0])
