"""Values of constant parts."""

import math

import pytest

from alphaswarm.dsl.constants import EXACT, constant_value
from alphaswarm.dsl.operators import OPERATORS

# One call of every cell-by-cell operator on numbers.
VALUES = [
    ("add", (1, 2), 3),
    ("sub", (1, 2), -1),
    ("mul", (3, 2), 6),
    ("div", (3, 2), 1.5),
    ("neg", (3,), -3),
    ("inv", (4,), 0.25),
    ("abs", (-3,), 3),
    ("sign", (-3,), -1),
    ("sqrt", (9,), 3),
    ("floor", (-1.5,), -2),
    ("ceil", (-1.5,), -1),
    ("round", (2.5,), 2),
    ("max", (1, 3, 2), 3),
    ("min", (1, 3, 2), 1),
    ("clip", (5, 0, 2), 2),
    ("lt", (1, 2), 1),
    ("le", (2, 2), 1),
    ("gt", (1, 2), 0),
    ("ge", (1, 2), 0),
    ("eq", (1, 2), 0),
    ("ne", (1, 2), 1),
    ("and", (1, 0), 0),
    ("or", (1, 0), 1),
    ("not", (1,), 0),
    ("if_else", (0, 5, 6), 6),
    ("if_else", (1, 5, 6), 5),
    ("is_nan", (1,), 0),
    ("fill", (1, 2), 1),
    ("pow", (2, 3), 8),
    ("pow", (-2, 3), -8),
    ("signed_power", (-4, 0.5), -2),
    ("log", (1,), 0),
    ("log1p", (0,), 0),
    ("slog1p", (0,), 0),
    ("exp", (0,), 1),
    ("sigmoid", (0,), 0.5),
    ("sigmoid", (-800,), 0),
    ("sigmoid", (800,), 1),
    ("tanh", (0,), 0),
]


@pytest.mark.parametrize(("op", "values", "result"), VALUES)
def test_values(op, values, result):
    value = constant_value(op, [float(value) for value in values])
    assert isinstance(value, float)
    assert value == result


def test_every_cell_by_cell_operator_is_covered():
    named = {row.name for row in OPERATORS.values() if row.elementwise}
    assert named == {op for op, _, _ in VALUES}
    assert named > EXACT


@pytest.mark.parametrize(
    ("op", "values"),
    [
        ("div", (1, 0)),
        ("inv", (0,)),
        ("log", (-1,)),
        ("log", (0,)),
        ("sqrt", (-1,)),
        ("exp", (1e3,)),
        ("pow", (9, 1e9)),
        ("pow", (0, -1)),
        ("pow", (-8, 1 / 3)),
        ("mul", (1e200, 1e200)),
        ("add", (math.nan, 1)),
    ],
)
def test_no_finite_value_is_nan(op, values):
    assert math.isnan(constant_value(op, [float(value) for value in values]))


def test_what_is_no_constant():
    assert constant_value("add", [1.0, None]) is None
    assert constant_value("ts_mean", [1.0, 5.0]) is None
    assert constant_value("", []) is None
