"""The kernels follow the reference through whole expressions, drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import make_rng
from alphaswarm.dsl import Expr, call, check, number, random_expr
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.kernels.single import KERNELS
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.reference import REFERENCE
from alphaswarm.dsl.signature import SlotKind

SEEDS = range(150)
FEW_ROWS = 11
NODE_TOLERANCE = 1e-10
# Rounding before a rank or a comparison may turn single cells.
SHARE_OF_CELLS = 1e-4


def with_short_windows(expr):
    """The same tree with windows and lags of a few rows, so that a small panel fills them."""
    made = {}
    for node in expr.walk():
        if node.kind != "call":
            made[node] = node
            continue
        operator = operators()[node.op]
        args = []
        for index, argument in enumerate(node.args):
            slot = operator.slot(index)
            rows = slot.kind in (SlotKind.WINDOW, SlotKind.LAG)
            short = number(max(argument.value % FEW_ROWS, operator.minimum)) if rows else made[argument]
            args.append(short)
        if node.op == "sma_cn":
            args[2] = number(min(args[2].value, args[1].value))
        options = dict(node.options)
        if "min_obs" in options:
            options["min_obs"] = min(options["min_obs"], int(args[operator.window].value))
        made[node] = call(node.op, *args, **options)
    return check(made[expr])


def drawn(seed) -> Expr:
    return with_short_windows(random_expr(make_rng(seed), ["x", "y", "z"], ["g"], max_depth=6))


@pytest.fixture(scope="module")
def market(make_market):
    return make_market(11, rows=40, names=8, missing=0.02)


def test_random_expressions(market):
    cells = differing = 0
    for seed in SEEDS:
        expr = drawn(seed)
        fast, slow = evaluate(expr, market), evaluate(expr, market, engine="reference")
        same = np.isclose(fast, slow, rtol=1e-9, atol=1e-12, equal_nan=True)
        cells += same.size
        differing += same.size - same.sum()
    assert differing <= SHARE_OF_CELLS * cells


def test_every_node_on_the_inputs_of_the_reference(market):
    ctx = Context(market.universe)
    codes = market.group_codes("g")
    seen = set()
    for seed in SEEDS:
        values = {}
        for node in drawn(seed).walk():
            if node.kind != "call":
                values[node] = {"number": node.value, "field": market.fields.get(node.name), "group": codes}[node.kind]
                continue
            if node.constant is not None:
                values[node] = node.constant
                continue
            operator = operators()[node.op]
            args = []
            for index, argument in enumerate(node.args):
                kind, value = operator.slot(index).kind, values[argument]
                if kind.literal:
                    value = int(value) if kind.whole else value
                elif not isinstance(value, np.ndarray):
                    value = np.full(market.shape, value)
                args.append(value)
            slow = REFERENCE[node.op](ctx, *args, **dict(node.options))
            fast = KERNELS[node.op](ctx, *args, **dict(node.options))
            size = max(np.nanmax(np.abs(arg), initial=0.0) for arg in args if isinstance(arg, np.ndarray))
            np.testing.assert_allclose(
                fast, slow, rtol=NODE_TOLERANCE, atol=NODE_TOLERANCE * min(size, 1.0), err_msg=f"{node.op} in {node}"
            )
            values[node] = slow
            seen.add(node.op)
    assert len(seen) > 80


def test_tables_say_the_same_names():
    names = {name for name, operator in operators().items() if operator.expands is None}
    assert names == set(REFERENCE) == set(KERNELS)
