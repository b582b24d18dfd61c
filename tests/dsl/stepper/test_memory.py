"""What is carried from bar to bar, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.stepper.memory import MEMORIES

NAN = math.nan


def test_every_operator_with_a_memory_has_one():
    assert set(MEMORIES) == {name for name, operator in operators().items() if operator.recursive}


@pytest.mark.parametrize(
    ("name", "literals", "series", "expected"),
    [
        ("ema", (3,), ([2, 4, NAN, 8],), [NAN, NAN, NAN, 5.5]),
        ("sma_cn", (2, 1), ([3, 6, 9],), [NAN, 4.5, 6.75]),
        ("hump", (1.0,), ([1, 5, NAN, 2.5],), [1, 2, NAN, 2.5]),
        ("trade_when", (), ([0, 1, 0, NAN], [7, 8, 9, 9], [0, 0, 0, 1]), [NAN, 8, 8, NAN]),
        ("ts_days_since", (), ([0, 1, 0, NAN, 0],), [NAN, 0, 1, NAN, 3]),
        ("last_diff", (), ([1, 1, 2, NAN, 2, 3],), [NAN, NAN, 1, NAN, 1, 2]),
        ("days_from_change", (), ([1, 1, 2, NAN, 2],), [NAN, NAN, 0, NAN, 2]),
    ],
)
def test_by_hand(name, literals, series, expected):
    memory = MEMORIES[name](1, *literals)
    got = [memory.step(*(np.array([float(value)]) for value in today))[0] for today in zip(*series, strict=True)]
    np.testing.assert_array_equal(got, expected)
    assert all(values.shape == (1,) for values in memory.state.values())


def test_an_overflow_is_undefined_and_forgets():
    memory = MEMORIES["hump"](1, 1.0)
    memory.step(np.array([1e308]))
    assert memory.step(np.array([-1e308]))[0] == 1e308
