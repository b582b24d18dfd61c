"""The form of one instruction: a row of integers that says to a kernel where its operands lie and what to do.

Values lie in blocks: `BLOCK` stocks side by side, row after row, so that one row of a block is one or two
cache lines and a vector reads neighbouring stocks. The last block is padded with stocks that are all NaN.

An instruction is written once for all blocks. `RESOLVED` words are what a kernel reads; the words after them say
how the addresses move from one block, and from one thread, to the next.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.vectors import LANES, instruction

__all__ = [
    "BLOCK",
    "BLOCKS",
    "BLOCK_BYTES",
    "CODES",
    "COLUMNS",
    "ELEMENTS",
    "GROUPS",
    "INDEX",
    "KERNEL",
    "LANE_STEP",
    "MEMBERS",
    "MIN_OBS",
    "NATURAL",
    "OP",
    "OUT",
    "PER_BLOCK",
    "PER_THREAD",
    "REFUSED",
    "RESOLVED",
    "ROWS",
    "SCRATCH",
    "STEP",
    "WINDOW",
    "WORDS",
    "A",
    "B",
    "C",
    "P",
    "Q",
    "call",
    "number",
]

# Stocks in a block: one cache line of float32.
BLOCK = 16
# Vectors that make up one row of a block.
LANE_STEP = LANES

# Rows to compute, which operation of its family, window or lag, scratch memory of the thread.
ROWS, OP, WINDOW, SCRATCH = range(4)
# Addresses of the first row of result and arguments, and, STEP later, the bytes from one row to the next.
OUT, A, B, C = range(4, 8)
STEP = 4
# Two parameters (floats), required valid rows, the number of the block.
P, Q, MIN_OBS, INDEX = range(12, 16)
# A kernel sets it to 1 where the data are beyond what it can do: the instruction is then done again with care.
REFUSED = 16
RESOLVED = 17
# What to add to the words SCRATCH, OUT, A, B, C for each block and for each thread.
PER_BLOCK, PER_THREAD = 17, 22
# Address of the kernel; how many element-wise instructions follow each other from here on.
KERNEL, ELEMENTS = 27, 28
WORDS = 32

# A kernel of the cross-section walks ROWS days instead, each through all blocks; it reads these words too.
# How many blocks, bytes from one to the next; addresses of [T, columns] membership (bytes, 0 for "all") and
# group codes (int32), both padded to whole blocks; of the caller's own [T, N] result (0 for none).
BLOCKS, BLOCK_BYTES, MEMBERS, CODES, NATURAL, COLUMNS, GROUPS = range(17, 24)


@instruction
def _float_of(_typing: Any, _pattern: Any) -> Any:
    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_data_type(types.float64))

    return types.float64(types.int64), lower


@part
def number(words: Any, place: int) -> float:
    """The float in word `place`."""
    value: float = _float_of(words[place])
    return value


@instruction
def call(_typing: Any, _address: Any, _words: Any) -> Any:
    """Call the kernel at one address on the resolved instruction that lies at another."""

    def lower(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        pointer = ir.IntType(64).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer])
        function = builder.inttoptr(args[0], kind.as_pointer())
        # the first argument only carries a type
        builder.call(function, [ir.Constant(pointer, None), builder.inttoptr(args[1], pointer)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), lower
