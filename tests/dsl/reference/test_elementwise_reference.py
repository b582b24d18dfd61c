"""Element-wise meanings, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alphaswarm.dsl.reference.elementwise import ELEMENTWISE

NAN = math.nan
BY_HAND = [
    ("add", [[1.0, NAN, 1e308], [2.0, 1.0, 1e308]], [3.0, NAN, NAN]),
    ("sub", [[1.0, NAN], [2.5, 1.0]], [-1.5, NAN]),
    ("mul", [[3.0, 0.0, 1e200], [-2.0, NAN, 1e200]], [-6.0, NAN, NAN]),
    ("div", [[1.0, 1.0, 0.0, 1e300], [4.0, 0.0, 0.0, 1e-300]], [0.25, NAN, NAN, NAN]),
    ("neg", [[1.0, -2.0, NAN]], [-1.0, 2.0, NAN]),
    ("inv", [[4.0, 0.0, 1e-320]], [0.25, NAN, NAN]),
    ("abs", [[-3.0, 0.0, NAN]], [3.0, 0.0, NAN]),
    ("sign", [[-3.0, 0.0, 7.0, NAN]], [-1.0, 0.0, 1.0, NAN]),
    ("log", [[1.0, math.e, 0.0, -1.0]], [0.0, 1.0, NAN, NAN]),
    ("log1p", [[0.0, math.e - 1, -1.0, -2.0]], [0.0, 1.0, NAN, NAN]),
    ("slog1p", [[math.e - 1, 1 - math.e, 0.0]], [1.0, -1.0, 0.0]),
    ("exp", [[0.0, 1.0, 800.0, -800.0]], [1.0, math.e, NAN, 0.0]),
    ("sqrt", [[9.0, 0.0, -1.0]], [3.0, 0.0, NAN]),
    ("floor", [[1.7, -1.2, NAN]], [1.0, -2.0, NAN]),
    ("ceil", [[1.2, -1.7]], [2.0, -1.0]),
    ("round", [[0.5, 1.5, 2.5, -0.5, 1.2]], [0.0, 2.0, 2.0, 0.0, 1.0]),
    (
        "pow",
        [[2.0, -2.0, -8.0, 0.0, 0.0, NAN, 1.0, 10.0], [3.0, 2.0, 1 / 3, 0.0, -1.0, 0.0, NAN, 400.0]],
        [8.0, 4.0, NAN, 1.0, NAN, NAN, NAN, NAN],
    ),
    ("signed_power", [[-4.0, 4.0, 0.0, 0.0], [0.5, 0.5, 2.0, -1.0]], [-2.0, 2.0, 0.0, NAN]),
    ("max", [[1.0, 5.0, NAN], [2.0, 4.0, 1.0], [3.0, 0.0, 1.0]], [3.0, 5.0, NAN]),
    ("min", [[1.0, 5.0, 1.0], [2.0, 4.0, NAN]], [1.0, 4.0, NAN]),
    ("clip", [[-3.0, 0.5, 3.0, NAN], -1.0, 2.0], [-1.0, 0.5, 2.0, NAN]),
    ("sigmoid", [[0.0, math.log(3), -math.log(3), 1000.0, -1000.0]], [0.5, 0.75, 0.25, 1.0, 0.0]),
    ("tanh", [[0.0, 50.0, math.log(2)]], [0.0, 1.0, 0.6]),
    ("lt", [[1.0, 2.0, 2.0, NAN], [2.0, 2.0, 1.0, 1.0]], [1.0, 0.0, 0.0, NAN]),
    ("le", [[1.0, 2.0, 2.0, NAN], [2.0, 2.0, 1.0, 1.0]], [1.0, 1.0, 0.0, NAN]),
    ("gt", [[1.0, 2.0, 2.0, 1.0], [2.0, 2.0, 1.0, NAN]], [0.0, 0.0, 1.0, NAN]),
    ("ge", [[1.0, 2.0, 2.0, 1.0], [2.0, 2.0, 1.0, NAN]], [0.0, 1.0, 1.0, NAN]),
    ("eq", [[1.0, 2.0, NAN], [2.0, 2.0, NAN]], [0.0, 1.0, NAN]),
    ("ne", [[1.0, 2.0, NAN], [2.0, 2.0, NAN]], [1.0, 0.0, NAN]),
    (
        "and",
        [[1.0, 1.0, 0.0, 0.0, 1.0, NAN, NAN], [1.0, 0.0, 0.0, NAN, NAN, 0.0, NAN]],
        [1.0, 0.0, 0.0, 0.0, NAN, 0.0, NAN],
    ),
    (
        "or",
        [[1.0, 1.0, 0.0, 0.0, 1.0, NAN, NAN], [1.0, 0.0, 0.0, NAN, NAN, 0.0, NAN]],
        [1.0, 1.0, 0.0, NAN, 1.0, NAN, NAN],
    ),
    ("not", [[1.0, 0.0, NAN]], [0.0, 1.0, NAN]),
    (
        "if_else",
        [[1.0, 0.0, NAN, 1.0, 0.0], [10.0, 10.0, 10.0, NAN, NAN], [20.0, 20.0, 20.0, 20.0, 20.0]],
        [10.0, 20.0, NAN, NAN, 20.0],
    ),
    ("is_nan", [[1.0, NAN]], [0.0, 1.0]),
    ("fill", [[1.0, NAN, NAN], [5.0, 6.0, NAN]], [1.0, 6.0, NAN]),
    ("fill", [[1.0, NAN], 0.0], [1.0, 0.0]),
]


@pytest.mark.parametrize(("name", "args", "expected"), BY_HAND)
def test_by_hand(name, args, expected, down):
    np.testing.assert_allclose(down(name, *args), expected, rtol=1e-15, atol=1e-15)


def test_every_operator_is_covered():
    assert {name for name, *_ in BY_HAND} == set(ELEMENTWISE)
