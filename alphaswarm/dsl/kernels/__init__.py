"""Compiled kernels of the operators: one function for each name of the table."""

from __future__ import annotations

from alphaswarm.dsl.kernels.base import Kernel as _Kernel
from alphaswarm.dsl.kernels.cross import CROSS as _CROSS
from alphaswarm.dsl.kernels.elementwise import ELEMENTWISE as _ELEMENTWISE
from alphaswarm.dsl.kernels.group_backfill import GROUP_BACKFILL as _GROUP_BACKFILL
from alphaswarm.dsl.kernels.order import ORDER as _ORDER
from alphaswarm.dsl.kernels.pairs import PAIRS as _PAIRS
from alphaswarm.dsl.kernels.rank_corr import RANK_CORR as _RANK_CORR
from alphaswarm.dsl.kernels.recursive import RECURSIVE as _RECURSIVE
from alphaswarm.dsl.kernels.residual import RESIDUAL as _RESIDUAL
from alphaswarm.dsl.kernels.rolling import ROLLING as _ROLLING
from alphaswarm.dsl.kernels.shift import SHIFT as _SHIFT

__all__ = ["KERNELS"]

KERNELS: dict[str, _Kernel] = {
    **_ELEMENTWISE,
    **_SHIFT,
    **_ROLLING,
    **_ORDER,
    **_PAIRS,
    **_RANK_CORR,
    **_RECURSIVE,
    **_CROSS,
    **_RESIDUAL,
    **_GROUP_BACKFILL,
}
