"""Element-wise kernels: series and numbers alike, nothing infinite, no warning."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.kernels.single import KERNELS
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.reference import REFERENCE
from alphaswarm.dsl.signature import SlotKind

ELEMENTWISE = sorted(name for name, operator in operators().items() if operator.elementwise)
EDGES = np.array([-1.7e308, -2.5, -1.0, -0.5, -0.0, 0.0, 5e-324, 0.5, 1.0, 2.5, 1.7e308, np.nan])


def grid(count):
    """All combinations of the edges in `count` series."""
    return [axis.reshape(1, -1) for axis in np.meshgrid(*[EDGES] * count, indexing="ij")]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_every_combination_of_edges(name):
    slots = operators()[name].slots
    literal = iter([-0.5, 0.5])
    series = iter(grid(sum(not slot.kind.literal for slot in slots)))
    args = [next(literal) if slot.kind.literal else next(series) for slot in slots]
    args = [
        np.where(np.isnan(arg), np.nan, arg > 0) if slot.kind is SlotKind.CONDITION else arg
        for slot, arg in zip(slots, args, strict=True)
    ]
    ctx = Context(np.ones(args[0].shape, bool))
    got = KERNELS[name](ctx, *args)
    assert not np.isinf(got).any()
    np.testing.assert_allclose(got, REFERENCE[name](ctx, *args), rtol=1e-14)


@pytest.mark.parametrize("name", ["add", "div", "pow", "max", "lt", "and", "fill", "if_else"])
def test_a_number_is_a_constant_series(name):
    x = EDGES[None, :]
    ctx = Context(np.ones(x.shape, bool))
    rest = (x,) if name == "if_else" else ()
    constant = KERNELS[name](ctx, x, *rest, np.full(x.shape, 2.0))
    np.testing.assert_array_equal(KERNELS[name](ctx, x, *rest, 2.0), constant)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_what_float32_can_not_hold_is_undefined(name):
    edges = np.array([-1e38, -4.0, -0.5, 0.5, 4.0, 1e38, np.nan])
    slots = operators()[name].slots
    literal = iter([-0.5, 0.5])
    count = sum(not slot.kind.literal for slot in slots)
    series = iter([axis.reshape(1, -1) for axis in np.meshgrid(*[edges] * count, indexing="ij")])
    args = [next(literal) if slot.kind.literal else next(series) for slot in slots]
    args = [
        np.where(np.isnan(arg), np.nan, arg > 0) if slot.kind is SlotKind.CONDITION else arg
        for slot, arg in zip(slots, args, strict=True)
    ]
    args = [arg.astype(np.float32).astype(float) if isinstance(arg, np.ndarray) else arg for arg in args]
    ctx = Context(np.ones(args[0].shape, bool))
    got = KERNELS[name](ctx, *args, dtype="float32")
    with np.errstate(over="ignore"):
        true = REFERENCE[name](ctx, *args).astype(np.float32)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(true) | np.isinf(true))
    assert not np.isinf(got).any()
