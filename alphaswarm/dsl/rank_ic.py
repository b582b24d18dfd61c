"""`daily_rank_ic`: how well expressions order the symbols of each day, without writing their values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.errors import DataInvalid
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.check import bind, check
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.parser import parse

__all__ = ["daily_rank_ic"]


def daily_rank_ic(
    exprs: Sequence[Expr | str],
    panel: Panel,
    labels: NDArray[np.float64],
    *,
    dtype: str = "float32",
    threads: int = 1,
    memory_limit: int | None = None,
) -> list[NDArray[np.float64]]:
    """Spearman correlation of each expression with `labels`, day by day: a first screen for mining.

    Ranks are averages on ties, over the members of the universe that have both values. Values tie where they
    are equal as stored; nothing is rounded first.

    Args:
        exprs: expressions or their text.
        panel: what to evaluate on.
        labels: [T, N], NaN where missing; ranked once for all expressions.
        dtype: how values are stored.
        threads: how many to use.
        memory_limit: bytes that the arrays made here may take at the same time.

    Returns:
        [T] for each expression, NaN where fewer than two values or no spread are left.

    Raises:
        DataInvalid: `labels` has another shape than the panel.
        BudgetExceeded: more than `memory_limit` would be needed; nothing was allocated.
    """
    from alphaswarm.dsl.kernels.engine import rank_ic_batch  # numba takes a moment to load

    if labels.shape != panel.shape:
        raise DataInvalid(f"labels must have the panel's shape {panel.shape}, got {labels.shape}")
    trees = [parse(one, panel=panel) if isinstance(one, str) else check(one, panel) for one in exprs]
    return rank_ic_batch([bind(tree, panel) for tree in trees], panel, labels, dtype, threads, memory_limit)
