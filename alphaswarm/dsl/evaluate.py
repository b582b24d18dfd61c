"""`evaluate`: the values of expressions on a panel.

Operators are computed one after the other on whole panels. Values are float64 throughout;
with `dtype` "float32" the result is rounded to it at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.errors import BudgetExceeded, DataInvalid, Reason, UnknownName
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.check import bind, check
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.parser import parse
from alphaswarm.dsl.plan import Plan
from alphaswarm.dsl.signature import SlotKind

__all__ = ["evaluate", "warm_up"]

Table = Mapping[str, Callable[..., NDArray[np.float64]]]


def _numba() -> Table:
    from alphaswarm.dsl.kernels import KERNELS  # numba takes a moment to load

    return KERNELS


def _reference() -> Table:
    from alphaswarm.dsl.reference import REFERENCE

    return REFERENCE


ENGINES: dict[str, Callable[[], Table]] = {"numba": _numba, "reference": _reference}
ENGINE_NAMES = (*ENGINES, "torch")
DTYPES = ("float32", "float64")


@overload
def evaluate(  # type: ignore[overload-overlap]  # a str is a sequence of str, but here one expression
    expr: Expr | str,
    panel: Panel,
    *,
    engine: str = ...,
    device: str = ...,
    dtype: str = ...,
    threads: int = ...,
    memory_limit: int | None = ...,
) -> NDArray[Any]: ...


@overload
def evaluate(
    expr: Sequence[Expr | str],
    panel: Panel,
    *,
    engine: str = ...,
    device: str = ...,
    dtype: str = ...,
    threads: int = ...,
    memory_limit: int | None = ...,
) -> list[NDArray[Any]]: ...


def evaluate(
    expr: Expr | str | Sequence[Expr | str],
    panel: Panel,
    *,
    engine: str = "numba",
    device: str = "cpu",
    dtype: str = "float64",
    threads: int = 1,
    memory_limit: int | None = None,
) -> NDArray[Any] | list[NDArray[Any]]:
    """The values of one expression, or of a batch that shares its common parts.

    Args:
        expr: an expression, its text, or a list of them.
        panel: what to evaluate on. Where it has no ``returns``, that name means ``pct_change(close, 1)``.
        engine: "numba" (compiled), "torch" (tensors, the `rl` extra) or "reference" (slow, the definition of
            every operator).
        device: "cpu", or "cuda" with engine "torch".
        dtype: "float64" or "float32", of the result.
        threads: how many the engine may use; "numba" and "reference" use one. torch has one such setting for
            the whole process: it is changed while this runs.
        memory_limit: bytes that the arrays made here may take at the same time, the panel not counted.

    Returns:
        [T, N], NaN where undefined or outside the universe, never infinite; a list of them for a list.

    Raises:
        ExpressionError: text or tree that is no valid expression, or (`UnknownField`) names what the panel lacks.
        UnknownName: no such engine, device or dtype.
        ProviderError: torch is not installed, or there is no such device on this machine.
        DataInvalid: `threads` or `memory_limit` below 1.
        BudgetExceeded: more than `memory_limit` would be needed; nothing was allocated.
    """
    if engine not in ENGINE_NAMES:
        raise UnknownName.of("engine", engine, ENGINE_NAMES)
    if engine != "torch" and device != "cpu":
        raise UnknownName.of("device of this engine", device, ["cpu"])
    if dtype not in DTYPES:
        raise UnknownName.of("dtype", dtype, DTYPES)
    for name, value in (("threads", threads), ("memory_limit", memory_limit)):
        if value is not None and value < 1:
            raise DataInvalid(f"{name} must be at least 1, got {value}", Reason.ARGUMENT_INVALID)
    batch = [expr] if isinstance(expr, Expr | str) else list(expr)
    trees = [parse(one) if isinstance(one, str) else one for one in batch]
    roots = [bind(check(tree, panel), panel) for tree in trees]
    if engine == "torch":
        from alphaswarm.dsl.torch_engine import run

        values = run(roots, panel, dtype=dtype, device=device, threads=threads, memory_limit=memory_limit)
    else:
        plan = Plan.of(roots)
        _within(memory_limit, plan, panel)
        values = _run(plan, panel, ENGINES[engine](), np.dtype(dtype))
    return values[0] if isinstance(expr, Expr | str) else values


def warm_up() -> None:
    """Compile every kernel, or load it from the cache, by evaluating each operator once on a tiny panel."""
    trees = [parse(operator.example) for operator in OPERATORS.values()]
    shape = (4, 3)
    numbers = np.arange(1.0, 13.0).reshape(shape)
    panel = Panel.from_arrays(
        {name: numbers for tree in trees for name in tree.fields},
        np.arange("2020-01-01", "2020-01-05", dtype="datetime64[D]"),
        ("a", "b", "c"),
        groups={name: ["u", "u", "v"] for tree in trees for name in tree.groups},
    )
    evaluate(trees, panel)


def _within(memory_limit: int | None, plan: Plan, panel: Panel) -> None:
    rows, columns = panel.shape
    needed = plan.peak() * rows * columns * 8
    if memory_limit is not None and needed > memory_limit:
        raise BudgetExceeded(
            f"memory_limit must be at least {needed} bytes for this batch on a panel of {rows} x {columns}, "
            f"got {memory_limit}; evaluate fewer expressions at once or raise it"
        )


def _run(plan: Plan, panel: Panel, table: Table, dtype: np.dtype[Any]) -> list[NDArray[Any]]:
    ctx = Context(panel.universe)
    values: dict[Expr, Any] = {}
    left = Counter(plan.uses)
    outputs: dict[int, NDArray[Any]] = {}
    for node in plan.steps:
        values[node] = _value(node, values, panel, table, ctx)
        for place in plan.outputs.get(node, ()):
            outputs[place] = _masked(values[node], ctx, dtype)
        for released in plan.release(node, left):
            values.pop(released, None)
    return [outputs[place] for place in sorted(outputs)]


def _value(node: Expr, values: Mapping[Expr, Any], panel: Panel, table: Table, ctx: Context) -> Any:
    if node.constant is not None:
        return node.constant
    if node.kind == "field":
        return panel[node.name]
    if node.kind == "group":
        return _codes(panel, node.name)
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
    return table[node.op](ctx, *arguments, **dict(node.options))


def _codes(panel: Panel, name: str) -> NDArray[np.int32]:
    labels = panel.groups[name]
    if labels.strides[0] != 0:
        return panel.group_codes(name)
    # one row of labels for all dates: sort that row only
    return np.broadcast_to(panel.head(1).group_codes(name), panel.shape)


def _masked(values: NDArray[np.float64], ctx: Context, dtype: np.dtype[Any]) -> NDArray[Any]:
    with np.errstate(over="ignore"):  # float32 holds less
        out: NDArray[Any] = np.where(ctx.universe, values, np.nan).astype(dtype, copy=False)
    if dtype != np.float64:
        out[np.isinf(out)] = np.nan
    return out
