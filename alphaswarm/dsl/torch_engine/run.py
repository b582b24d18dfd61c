"""The way into the tensor engine: torch is an optional extra, so it is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.errors import ProviderError
from alphaswarm.dsl.plan import Plan

if TYPE_CHECKING:
    from typing import Any

    from alphaswarm.core.panel import Panel
    from alphaswarm.dsl.expr import Expr

__all__ = ["run"]


def run(
    roots: Sequence[Expr], panel: Panel, *, dtype: str, device: str, threads: int, memory_limit: int | None
) -> list[NDArray[Any]]:
    """The values of `roots` on `panel`, as numpy arrays; `evaluate` says what the arguments mean.

    Raises:
        ProviderError: torch is not installed, or there is no such device on this machine.
        UnknownName: no such device.
        BudgetExceeded: more than `memory_limit` would be needed; nothing was allocated.
    """
    try:
        from alphaswarm.dsl.torch_engine.runner import tensors
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ProviderError(
            "engine 'torch' needs torch, which is not installed: pip install 'alphaswarm[rl]'"
        ) from None
    outputs = tensors(Plan.of(roots), panel, dtype=dtype, device=device, threads=threads, memory_limit=memory_limit)
    return [np.asarray(output.cpu().numpy()) for output in outputs]
