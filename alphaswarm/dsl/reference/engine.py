"""Evaluate batches by the definitions, one operator after the other on whole panels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.errors import BudgetExceeded
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.context import Context, group_codes
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.plan import Plan
from alphaswarm.dsl.reference import REFERENCE
from alphaswarm.dsl.signature import SlotKind

__all__ = ["evaluate_batch"]


def evaluate_batch(roots: Sequence[Expr], panel: Panel, dtype: str, memory_limit: int | None) -> list[NDArray[Any]]:
    """The values [T, N] of each of `roots`, NaN outside the universe, rounded to `dtype` at the end.

    Raises:
        BudgetExceeded: more than `memory_limit` bytes would be needed; nothing was allocated.
    """
    plan = Plan.of(roots)
    _within(memory_limit, plan, panel)
    return _run(plan, panel, np.dtype(dtype))


def _within(memory_limit: int | None, plan: Plan, panel: Panel) -> None:
    rows, columns = panel.shape
    needed = plan.peak() * rows * columns * 8
    if memory_limit is not None and needed > memory_limit:
        raise BudgetExceeded(
            f"memory_limit must be at least {needed} bytes for this batch on a panel of {rows} x {columns}, "
            f"got {memory_limit}; evaluate fewer expressions at once or raise it"
        )


def _run(plan: Plan, panel: Panel, dtype: np.dtype[Any]) -> list[NDArray[Any]]:
    ctx = Context(panel.universe)
    values: dict[Expr, Any] = {}
    left = Counter(plan.uses)
    outputs: dict[int, NDArray[Any]] = {}
    for node in plan.steps:
        values[node] = _value(node, values, panel, ctx)
        for place in plan.outputs.get(node, ()):
            outputs[place] = _masked(values[node], ctx, dtype)
        for released in plan.release(node, left):
            values.pop(released, None)
    return [outputs[place] for place in sorted(outputs)]


def _value(node: Expr, values: Mapping[Expr, Any], panel: Panel, ctx: Context) -> Any:
    if node.constant is not None:
        return node.constant
    if node.kind == "field":
        return panel[node.name]
    if node.kind == "group":
        return group_codes(panel, node.name)
    operator = OPERATORS[node.op]
    arguments: list[Any] = []
    for index, argument in enumerate(node.args):
        kind = operator.slot(index).kind
        value = values[argument]
        if kind.literal:
            arguments.append(int(value) if kind.whole else value)
        elif kind is SlotKind.GROUP or operator.elementwise or isinstance(value, np.ndarray):
            arguments.append(value)
        else:
            arguments.append(np.full(ctx.shape, value))
    return REFERENCE[node.op](ctx, *arguments, **dict(node.options))


def _masked(values: NDArray[np.float64], ctx: Context, dtype: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore"):  # float32 holds less
        out: NDArray[Any] = np.where(ctx.universe, values, np.nan).astype(dtype, copy=False)
    if dtype != np.float64:
        out[np.isinf(out)] = np.nan
    return out
