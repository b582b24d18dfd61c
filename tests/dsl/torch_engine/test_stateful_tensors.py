"""Operators with a memory, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from alphaswarm.dsl.torch_engine.base import Context
from alphaswarm.dsl.torch_engine.stateful import STATEFUL

NAN = math.nan


def on(name, *series, scratch=10**6):
    columns = [torch.tensor(one, dtype=torch.float64).unsqueeze(1) for one in series if isinstance(one, list)]
    literals = [one for one in series if not isinstance(one, list)]
    ctx = Context(torch.ones_like(columns[0], dtype=torch.bool), torch.float64, scratch)
    return STATEFUL[name](ctx, *columns, *literals)[:, 0].tolist()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("ema", ([2.0, 4.0, NAN, 8.0], 3), [NAN, NAN, NAN, 5.5]),
        ("ema", ([2.0, NAN, NAN, 8.0, 2.0], 1), [2.0, NAN, NAN, 8.0, 2.0]),
        ("sma_cn", ([3.0, 6.0, 9.0], 2, 1), [NAN, 4.5, 6.75]),
        ("hump", ([1.0, 5.0, NAN, 2.5, -9.0], 1.0), [1.0, 2.0, NAN, 2.5, 1.5]),
        ("trade_when", ([0.0, 1.0, 0.0, NAN], [7.0, 8.0, 9.0, 9.0], [0.0, 0.0, 0.0, 1.0]), [NAN, 8.0, 8.0, NAN]),
        ("trade_when", ([1.0, 1.0], [7.0, 8.0], [1.0, NAN]), [NAN, 8.0]),
        ("ts_days_since", ([0.0, 1.0, 0.0, NAN, 0.0],), [NAN, 0.0, 1.0, NAN, 3.0]),
        ("last_diff", ([1.0, 1.0, 2.0, NAN, 2.0, 3.0],), [NAN, NAN, 1.0, NAN, 1.0, 2.0]),
        ("days_from_change", ([1.0, 1.0, 2.0, NAN, 2.0],), [NAN, NAN, 0.0, NAN, 2.0]),
        ("ts_backfill", ([1.0, NAN, NAN, NAN], 3), [1.0, 1.0, 1.0, NAN]),
    ],
)
def test_by_hand(name, arguments, expected):
    np.testing.assert_array_equal(on(name, *arguments), expected)
    np.testing.assert_array_equal(on(name, *arguments, scratch=1), expected)


def test_a_long_gap_starts_anew():
    got = on("ema", [2.0, 2.0, NAN, NAN, NAN, 4.0, 4.0], 2)
    np.testing.assert_array_equal(got, [NAN, 2.0, NAN, NAN, NAN, NAN, 4.0])
