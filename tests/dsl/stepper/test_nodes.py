"""Which rows a call keeps, and which of them its engine is given."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl import field, parse
from alphaswarm.dsl.stepper import nodes
from alphaswarm.dsl.stepper.nodes import Bar, Carried, Recent

EVERYONE = np.ones(2, bool)


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
    monkeypatch.setattr(nodes, "evaluate", lambda _expr, panel: seen.append(panel["x0"][:, 0]) or panel["x0"])
    node = Recent(parse(text), 2)
    for number in range(len(given)):
        node.step({field("x"): np.full(2, float(number))}, Bar(number, EVERYONE, {}))
    assert [len(rows) for rows in seen] == given
    for number, rows in enumerate(seen):
        assert rows.tolist() == list(range(number - len(rows) + 1, number + 1))


def test_numbers_stand_where_they_stood():
    node = Recent(parse("if_else(x > 1, 2, max(y, 3, 4))"), 2)
    assert str(node.alone) == "if_else(x0 != 0, 2, x2)"
    assert list(node.inputs) == ["x0", "x2"]
    x, y = node.inputs["x0"], node.inputs["x2"]
    got = node.step({x: np.array([1.0, np.nan]), y: np.array([5.0, 6.0])}, Bar(0, EVERYONE, {}))
    np.testing.assert_array_equal(got, [2.0, np.nan])


def test_membership_counts_across_symbols_only():
    outside = np.array([True, False])
    row = {field("x"): np.array([3.0, 4.0])}
    np.testing.assert_array_equal(Recent(parse("cs_rank(x)"), 2).step(row, Bar(0, outside, {})), [1.0, np.nan])
    np.testing.assert_array_equal(Recent(parse("sqrt(x)"), 2).step(row, Bar(0, outside, {})), np.sqrt([3.0, 4.0]))


def test_a_memory_takes_numbers_for_series():
    node = Carried(parse("trade_when(1, x, 0)"), 2)
    values = {one: one.constant for one in node.series if one.constant is not None}
    got = node.step({**values, field("x"): np.array([3.0, 4.0])}, Bar(0, EVERYONE, {}))
    np.testing.assert_array_equal(got, [3.0, 4.0])
