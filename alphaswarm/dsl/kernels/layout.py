"""`Layout`: how [T, N] rows lie in blocks of stocks, and the way there and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.jit import entry
from alphaswarm.dsl.kernels.interpreter import run_blocks
from alphaswarm.dsl.kernels.transfer import to_blocks
from alphaswarm.dsl.kernels.words import BLOCK, KERNEL, OUT, PER_BLOCK, ROWS, STEP, WORDS, A, P

__all__ = ["Layout", "aligned", "pattern"]

# A vector never straddles two cache lines.
CACHE_LINE = 64


def aligned(count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """`count` uninitialised values that begin at a cache line."""
    room = np.empty(count * dtype.itemsize + CACHE_LINE, np.uint8)
    start = -room.ctypes.data % CACHE_LINE
    return room[start : start + count * dtype.itemsize].view(dtype)


def pattern(value: float) -> int:
    """The bits of a float64, as an instruction carries it."""
    return int(np.float64(value).view(np.int64))


class Layout:
    """Blocks of `BLOCK` stocks side by side, [blocks, padded_rows, BLOCK].

    Attributes:
        rows: T.
        columns: N.
        dtype: of the stored values.
        blocks: how many blocks there are.
        width: columns with those that pad the last block.
        padded_rows: an odd number, so that one day's lines in all blocks do not fall into one set of the cache.
    """

    def __init__(self, rows: int, columns: int, dtype: np.dtype[Any]) -> None:
        self.rows, self.columns, self.dtype = rows, columns, dtype
        self.blocks = -(-columns // BLOCK)
        self.width = self.blocks * BLOCK
        self.padded_rows = rows | 1

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of a block."""
        return BLOCK * self.dtype.itemsize

    @property
    def block_bytes(self) -> int:
        """Bytes of one block."""
        return self.padded_rows * self.row_bytes

    @property
    def bytes(self) -> int:
        """Bytes of all blocks of one series."""
        return self.blocks * self.block_bytes

    def buffer(self, blocks: int | None = None) -> NDArray[Any]:
        """Uninitialised blocks of one series; of `blocks` blocks only, as [rows, BLOCK] where that is one."""
        count = self.blocks if blocks is None else blocks
        flat = aligned(count * self.padded_rows * BLOCK, self.dtype)
        shape = (count, self.padded_rows, BLOCK)
        return flat.reshape(shape[1:] if blocks == 1 else shape)

    def blocked(self, values: NDArray[np.float64]) -> NDArray[Any]:
        """The float64 rows [T, N] in blocks, rounded to the type, infinities as NaN."""
        values = np.ascontiguousarray(values, dtype=np.float64)
        blocks = self.buffer()
        words = np.zeros((1, WORDS), np.int64)
        words[0, [ROWS, OUT, OUT + STEP, A, A + STEP]] = (
            self.rows,
            blocks.ctypes.data,
            self.row_bytes,
            values.ctypes.data,
            self.columns * 8,
        )
        words[0, P] = pattern(self.columns)
        words[0, [PER_BLOCK + 1, PER_BLOCK + 2]] = self.block_bytes, BLOCK * 8
        words[0, KERNEL] = entry(to_blocks, self.dtype.name, "int64")
        run_blocks(words, self.blocks, 1)
        return blocks

    def members(self, present: NDArray[np.bool_]) -> NDArray[np.uint8]:
        """The rows `present` [T, N] as bytes in blocks [blocks, rows, BLOCK], 0 in the padding."""
        blocks = np.zeros((self.blocks, self.rows, BLOCK), np.uint8)
        whole = self.columns // BLOCK
        split = present[:, : whole * BLOCK].reshape(self.rows, whole, BLOCK)
        blocks[:whole] = split.transpose(1, 0, 2)
        if whole < self.blocks:
            blocks[whole, :, : self.columns - whole * BLOCK] = present[:, whole * BLOCK :]
        return blocks

    def natural(self, blocks: NDArray[Any]) -> NDArray[np.float64]:
        """Blocks as float64 rows [T, N]."""
        rows = blocks[:, : self.rows].transpose(1, 0, 2).reshape(self.rows, self.width)
        return np.ascontiguousarray(rows[:, : self.columns], dtype=np.float64)
