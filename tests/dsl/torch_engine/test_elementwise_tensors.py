"""Cells of tensors: domains, NaN and literals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from alphaswarm.dsl.torch_engine.base import Context
from alphaswarm.dsl.torch_engine.elementwise import ELEMENTWISE

NAN = math.nan


def on(name, *values, dtype=torch.float64):
    arguments = [torch.tensor([one], dtype=dtype) if isinstance(one, list) else one for one in values]
    width = max(len(one) for one in values if isinstance(one, list))
    ctx = Context(torch.ones(1, width, dtype=torch.bool), dtype, 10**6)
    return ELEMENTWISE[name](ctx, *arguments)[0].tolist()


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("div", ([1.0, 0.0], 0.0), [NAN, NAN]),
        ("inv", ([4.0, 0.0],), [0.25, NAN]),
        ("log", ([1.0, 0.0, -1.0],), [0.0, NAN, NAN]),
        ("sqrt", ([9.0, -1.0],), [3.0, NAN]),
        ("exp", ([0.0, 1000.0],), [1.0, NAN]),
        ("round", ([0.5, 1.5, -2.5],), [0.0, 2.0, -2.0]),
        ("sign", ([-3.0, 0.0, NAN],), [-1.0, 0.0, NAN]),
        ("pow", ([-8.0, -8.0, 1.0, NAN], [2.0, 0.5, NAN, 0.0]), [64.0, NAN, NAN, NAN]),
        ("signed_power", ([-3.0, 0.0], 2.0), [-9.0, 0.0]),
        ("sigmoid", ([0.0, -1000.0, 1000.0],), [0.5, 0.0, 1.0]),
        ("max", ([1.0, NAN], 2.0), [2.0, NAN]),
        ("clip", ([-5.0, 5.0, NAN], -1.0, 1.0), [-1.0, 1.0, NAN]),
        ("lt", ([1.0, NAN], 2.0), [1.0, NAN]),
        ("and", ([0.0, NAN, NAN, 1.0], [NAN, 0.0, 1.0, 1.0]), [0.0, 0.0, NAN, 1.0]),
        ("or", ([1.0, NAN, NAN, 0.0], [NAN, 1.0, 0.0, 0.0]), [1.0, 1.0, NAN, 0.0]),
        ("not", ([0.0, 1.0, NAN],), [1.0, 0.0, NAN]),
        ("if_else", ([1.0, 0.0, NAN], 7.0, 8.0), [7.0, 8.0, NAN]),
        ("is_nan", ([1.0, NAN],), [0.0, 1.0]),
        ("fill", ([1.0, NAN], 7.0), [1.0, 7.0]),
    ],
)
def test_cells(name, values, expected):
    np.testing.assert_array_equal(on(name, *values), expected)


def test_a_literal_has_the_width_of_the_values():
    # 0.1 in float32 is not 0.1 in float64: a value compared with the literal that it was stored from is equal to it
    assert on("eq", [0.1], 0.1, dtype=torch.float32) == [1.0]


def test_no_bit_of_a_power_depends_on_its_place():
    rng = np.random.default_rng(0)
    x, y = rng.lognormal(size=100), rng.normal(size=100)
    whole = on("pow", x.tolist(), y.tolist())
    for n in range(1, 100, 7):
        assert on("pow", x[:n].tolist(), y[:n].tolist()) == whole[:n]
