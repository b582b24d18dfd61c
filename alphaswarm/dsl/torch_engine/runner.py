"""Walk a plan with tensors: each operator on whole panels, block by block, and forget what nobody reads again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from alphaswarm.core.errors import BudgetExceeded, ProviderError, UnknownName
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.plan import Plan
from alphaswarm.dsl.signature import Family, SlotKind
from alphaswarm.dsl.torch_engine import cross, elementwise, groups, pairs, rolling, shift, stateful
from alphaswarm.dsl.torch_engine.base import WIDE_BYTES, Context, Operator

__all__ = ["OPERATORS_ON_TENSORS", "tensors"]

DEVICES = ("cpu", "cuda")
# Scratch of one operator where no limit says less: blocks that stay in a cache, or that fill a device.
SCRATCH = {"cpu": 2**25, "cuda": 2**31}

OPERATORS_ON_TENSORS: dict[str, Operator] = {
    **elementwise.ELEMENTWISE,
    **shift.SHIFT,
    **rolling.ROLLING,
    **pairs.PAIRS,
    **stateful.STATEFUL,
    **cross.CROSS,
    **groups.GROUP_BACKFILL,
}


def tensors(
    plan: Plan, panel: Panel, *, dtype: str, device: str, threads: int, memory_limit: int | None
) -> list[Tensor]:
    """The outputs of `plan` on `panel`, [T, N] on `device`, masked by the universe.

    Raises:
        ProviderError: there is no such device on this machine.
        UnknownName: no such device.
        BudgetExceeded: more than `memory_limit` would be needed; nothing was allocated.
    """
    if device not in DEVICES:
        raise UnknownName.of("device", device, DEVICES)
    if device == "cuda" and not torch.cuda.is_available():
        raise ProviderError("device 'cuda' must be there, got none that torch can use; valid here: 'cpu'")
    stored = torch.float32 if dtype == "float32" else torch.float64
    scratch = _scratch(plan, panel, stored.itemsize, SCRATCH[device], memory_limit)
    with torch.no_grad(), _threads(threads):
        ctx = Context(torch.tensor(panel.universe, device=device), stored, scratch)
        return _walk(plan, panel, ctx)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Change the one setting that torch has for the process, and give it back."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _scratch(plan: Plan, panel: Panel, size: int, usual: int, memory_limit: int | None) -> int:
    """Bytes that an operator may use besides the arrays of the plan."""
    rows, columns = panel.shape
    least = max((_least_cells(node, rows, columns) for node in plan.steps if node.kind == "call"), default=1)
    least *= WIDE_BYTES
    if memory_limit is None:
        return max(usual, least)
    arrays = (_live(plan) * size + 1) * rows * columns  # the universe is a byte a cell
    if arrays + least > memory_limit:
        raise BudgetExceeded(
            f"memory_limit must be at least {arrays + least} bytes for this batch on a panel of {rows} x {columns}, "
            f"got {memory_limit}; evaluate fewer expressions at once or raise it"
        )
    return min(max(usual, least), memory_limit - arrays)


def _live(plan: Plan) -> int:
    """Most arrays [T, N] that exist at once: copies of fields, codes, values, outputs and one that is masked."""
    left = Counter(plan.uses)
    alive: set[Expr] = set()
    done, peak = 0, 0
    for node in plan.steps:
        if node.constant is None and node.kind != "number":
            alive.add(node)
        done += len(plan.outputs.get(node, ()))
        extra = 1 if node.op in ("ts_autocorr", "group_backfill") else 0
        peak = max(peak, done + len(alive) + extra)
        for released in plan.release(node, left):
            alive.discard(released)
    return peak


def _least_cells(node: Expr, rows: int, columns: int) -> int:
    """Wide numbers that the smallest block of an operator takes."""
    operator = OPERATORS[node.op]
    window = int(node.args[operator.window].value) if operator.window is not None else 1
    series = sum(slot.kind in (SlotKind.SERIES, SlotKind.CONDITION) for slot in operator.slots)
    if node.op == "group_backfill":
        return columns * window * groups.member_copies()
    if operator.family in (Family.CROSS, Family.GROUP):
        return columns * max(groups.member_copies(), cross.COPIES * len(node.args))
    if operator.family is Family.WINDOW:
        return window * series * rolling.COPIES
    if operator.family is Family.STATE or node.op == "ts_backfill":
        return max(rows, columns) * stateful.COPIES
    return columns * max(elementwise.COPIES, len(node.args))


def _walk(plan: Plan, panel: Panel, ctx: Context) -> list[Tensor]:
    values: dict[Expr, Any] = {}
    left = Counter(plan.uses)
    outputs: dict[int, Tensor] = {}
    for node in plan.steps:
        values[node] = _value(node, values, panel, ctx)
        for place in plan.outputs.get(node, ()):
            outputs[place] = torch.where(ctx.universe, values[node], torch.nan)
        for released in plan.release(node, left):
            values.pop(released, None)
    return [outputs[place] for place in sorted(outputs)]


def _value(node: Expr, values: Mapping[Expr, Any], panel: Panel, ctx: Context) -> Any:
    device = ctx.universe.device
    if node.constant is not None:
        return node.constant
    if node.kind == "field":
        return torch.tensor(panel[node.name], dtype=ctx.dtype, device=device)
    if node.kind == "group":
        return torch.tensor(panel.group_codes(node.name), device=device)
    operator = OPERATORS[node.op]
    arguments: list[Any] = []
    for index, argument in enumerate(node.args):
        kind = operator.slot(index).kind
        value = values[argument]
        if kind.literal:
            arguments.append(int(value) if kind.whole else value)
        elif operator.elementwise or isinstance(value, Tensor):
            arguments.append(value)
        else:
            arguments.append(torch.tensor(value, dtype=ctx.dtype, device=device).expand(ctx.shape))
    return OPERATORS_ON_TENSORS[node.op](ctx, *arguments, **dict(node.options))
