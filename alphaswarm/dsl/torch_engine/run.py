"""The way into the tensor engine: torch is an optional extra, so it is imported when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.errors import ProviderError

if TYPE_CHECKING:
    from typing import Any

    from alphaswarm.core.panel import Panel
    from alphaswarm.dsl.plan import Plan

__all__ = ["run"]


def run(
    plan: Plan, panel: Panel, *, dtype: str, device: str, threads: int, memory_limit: int | None
) -> list[NDArray[Any]]:
    """The outputs of `plan` on `panel`, as numpy arrays; `evaluate` says what the arguments mean.

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
    outputs = tensors(plan, panel, dtype=dtype, device=device, threads=threads, memory_limit=memory_limit)
    return [np.asarray(output.cpu().numpy()) for output in outputs]
