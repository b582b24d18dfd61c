"""Meanings of the operators with a memory, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from alphaswarm.dsl.reference.recursive import RECURSIVE

NAN = math.nan
BY_HAND = [
    ("ema", [[1.0, 3.0, 5.0], 1], [1, 3, 5]),  # alpha 1
    ("ema", [[2.0, 4.0, 8.0], 3], [NAN, NAN, 5.5]),  # alpha 1/2: 2, 3, 5.5
    ("ema", [[NAN, 2.0, NAN, 4.0, 8.0], 3], [NAN, NAN, NAN, NAN, 5.5]),
    ("ema", [[2.0, 4.0, 8.0, NAN, 0.0], 3], [NAN, NAN, 5.5, NAN, 2.75]),
    # span 2, alpha 2/3: two missing rows keep the state, three clear it
    ("ema", [[0.0, 3.0, NAN, NAN, 5.0], 2], [NAN, 2, NAN, NAN, 4]),
    ("ema", [[0.0, 3.0, NAN, NAN, NAN, 5.0, 8.0], 2], [NAN, 2, NAN, NAN, NAN, NAN, 7]),
    ("sma_cn", [[4.0, 8.0, 0.0], 4, 1], [NAN, NAN, NAN]),
    ("sma_cn", [[4.0, 8.0, 0.0], 2, 1], [NAN, 6, 3]),
    ("sma_cn", [[4.0, 8.0, 0.0], 2, 2], [NAN, 8, 0]),
    ("hump", [[1.0, 5.0, 5.0, NAN, 5.0, -5.0], 2.0], [1, 3, 5, NAN, 5, 3]),
    ("hump", [[NAN, 1.0, 1.5], 2.0], [NAN, 1, 1.5]),
    (
        "trade_when",
        [[0.0, 1.0, 0.0, NAN, 1.0, 0.0, 1.0], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, NAN], [0, 0, 0, NAN, 1.0, 0, 0]],
        [NAN, 2, 2, 2, NAN, NAN, NAN],
    ),
    ("ts_days_since", [[NAN, 0.0, 1.0, 0.0, NAN, 0.0, 1.0]], [NAN, NAN, 0, 1, NAN, 3, 0]),
    ("last_diff", [[1.0, 1.0, 2.0, NAN, 2.0, 1.0]], [NAN, NAN, 1, NAN, 1, 2]),
    ("days_from_change", [[1.0, 1.0, 2.0, NAN, 2.0, 1.0]], [NAN, NAN, 0, NAN, 2, 0]),
    ("ts_backfill", [[1.0, NAN, NAN, NAN, 5.0], 3], [1, 1, 1, NAN, 5]),
    ("ts_backfill", [[1.0, NAN], 1], [1, NAN]),
]


@pytest.mark.parametrize(("name", "args", "expected"), BY_HAND)
def test_by_hand(name, args, expected, down):
    np.testing.assert_allclose(down(name, *args), expected, rtol=1e-14, atol=1e-15)


def test_every_operator_is_covered():
    assert {name for name, *_ in BY_HAND} == set(RECURSIVE)
