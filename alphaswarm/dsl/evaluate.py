"""`evaluate`: the values of expressions on a panel, by the compiled engine or by the definition of every operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.errors import DataInvalid, Reason, UnknownName
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.check import bind, check
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.parser import parse

__all__ = ["evaluate", "warm_up"]

ENGINES = ("numba", "reference", "torch")
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
        dtype: "float64" or "float32": how the compiled and the tensor engine store every value. Sums are
            float64 in either case. The reference rounds its results only.
        threads: how many the engine may use; the reference uses one. torch has one such setting for the whole
            process: it is changed while this runs.
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
    if engine not in ENGINES:
        raise UnknownName.of("engine", engine, ENGINES)
    if engine != "torch" and device != "cpu":
        raise UnknownName.of("device of this engine", device, ["cpu"])
    if dtype not in DTYPES:
        raise UnknownName.of("dtype", dtype, DTYPES)
    for name, value in (("threads", threads), ("memory_limit", memory_limit)):
        if value is not None and value < 1:
            raise DataInvalid(f"{name} must be at least 1, got {value}", Reason.ARGUMENT_INVALID)
    batch = [expr] if isinstance(expr, Expr | str) else list(expr)
    trees = [parse(one, panel=panel) if isinstance(one, str) else check(one, panel) for one in batch]
    roots = [bind(tree, panel) for tree in trees]
    if engine == "numba":
        from alphaswarm.dsl.kernels.engine import evaluate_batch  # numba takes a moment to load

        values = evaluate_batch(roots, panel, dtype, threads, memory_limit)
    elif engine == "torch":
        from alphaswarm.dsl.torch_engine import run

        values = run(roots, panel, dtype=dtype, device=device, threads=threads, memory_limit=memory_limit)
    else:
        from alphaswarm.dsl.reference.engine import evaluate_batch as by_definition

        values = by_definition(roots, panel, dtype, memory_limit)
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
    for dtype in DTYPES:
        evaluate(trees, panel, dtype=dtype)
