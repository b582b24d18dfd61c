"""`Context`: what an operator may see besides its arguments; and groups as codes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.panel import Panel

__all__ = ["Context", "group_codes"]


@dataclass(frozen=True, eq=False)
class Context:
    """The surroundings of one evaluation.

    Attributes:
        universe: bool [T, N], membership of each day; cross-sections see members only.
    """

    universe: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """(T, N)."""
        rows, columns = self.universe.shape
        return rows, columns


def group_codes(panel: Panel, name: str) -> NDArray[np.int32]:
    """Codes of group `name` [T, N], -1 where missing."""
    labels = panel.groups[name]
    if labels.strides[0] != 0:
        return panel.group_codes(name)
    # one row of labels for all dates: sort that row only
    return np.broadcast_to(panel.head(1).group_codes(name), panel.shape)
