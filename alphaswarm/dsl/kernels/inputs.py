"""A panel's fields, membership and groups in blocks: made once for each panel and type, and forgotten with it."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.panel import Panel
from alphaswarm.dsl.context import group_codes
from alphaswarm.dsl.kernels.layout import Layout

__all__ = ["Inputs"]

_KEPT: WeakKeyDictionary[Panel, dict[str, Inputs]] = WeakKeyDictionary()


class Inputs:
    """What kernels read of one panel, in one type.

    Attributes:
        layout: sizes and steps of its blocks.
        members: uint8 [T, columns], padded with 0.
        member_blocks: the same in blocks, see `Layout.members`.
        rows: the number of each row, one block that serves all.
    """

    def __init__(self, panel: Panel, dtype: str) -> None:
        self.layout = Layout(*panel.shape, np.dtype(dtype))
        rows, columns = panel.shape
        self.members: NDArray[np.uint8] = np.zeros((rows, self.layout.width), np.uint8)
        self.members[:, :columns] = panel.universe
        self.member_blocks = self.layout.members(panel.universe)
        self.rows = self.layout.buffer(1)
        self.rows[:] = np.arange(self.layout.padded_rows)[:, None]
        self._fields: dict[str, NDArray[Any]] = {}
        self._groups: dict[str, tuple[NDArray[np.int32], int]] = {}

    @classmethod
    def of(cls, panel: Panel, dtype: str) -> Inputs:
        """The inputs of `panel`, the same object every time."""
        kept = _KEPT.setdefault(panel, {})
        if dtype not in kept:
            kept[dtype] = cls(panel, dtype)
        return kept[dtype]

    def field(self, name: str, panel: Panel) -> NDArray[Any]:
        """Field `name` in blocks."""
        if name not in self._fields:
            self._fields[name] = self.layout.blocked(panel[name])
        return self._fields[name]

    def group(self, name: str, panel: Panel) -> tuple[NDArray[np.int32], int]:
        """Codes of group `name`, int32 [T, columns] padded with -1, and how many groups there are."""
        if name not in self._groups:
            codes = group_codes(panel, name)
            padded = np.full(self.members.shape, -1, np.int32)
            padded[:, : panel.shape[1]] = codes
            self._groups[name] = padded, int(codes.max(initial=-1)) + 1
        return self._groups[name]
