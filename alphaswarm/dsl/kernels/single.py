"""One operator on plain arrays: how the kernels are held against their definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.panel import Panel
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.expr import Expr, call, field, group, number
from alphaswarm.dsl.kernels.engine import evaluate_batch
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family, SlotKind

__all__ = ["KERNELS", "apply"]


def apply(name: str, ctx: Context, *arguments: Any, dtype: str = "float64", **options: float) -> NDArray[Any]:
    """The operator `name` on its arguments in slot order, as the reference takes them.

    Series are [T, N] or numbers, groups int32 codes [T, N]. Operators across the symbols see members only.
    """
    operator = OPERATORS[name]
    fields: dict[str, Any] = {"spare": np.zeros(ctx.shape)}
    groups: dict[str, Any] = {}
    nodes: list[Expr] = []
    for index, value in enumerate(arguments):
        if operator.slot(index).kind is SlotKind.GROUP:
            groups["g"] = np.where(value < 0, "", np.char.zfill(value.astype(np.str_), 9))
            nodes.append(group("g"))
        elif isinstance(value, np.ndarray):
            fields[f"x{index}"] = np.broadcast_to(value, ctx.shape)
            nodes.append(field(f"x{index}"))
        else:
            nodes.append(number(value))
    dates = np.datetime64("2000-01-01") + np.arange(ctx.shape[0])
    universe = ctx.universe if operator.family in (Family.CROSS, Family.GROUP) else None
    panel = Panel.from_arrays(fields, dates, [f"s{n}" for n in range(ctx.shape[1])], universe, groups)
    return evaluate_batch([call(name, *nodes, **options)], panel, dtype, 1, None)[0]


KERNELS: Mapping[str, Callable[..., NDArray[Any]]] = MappingProxyType(
    {name: partial(apply, name) for name, operator in OPERATORS.items() if operator.expands is None}
)
