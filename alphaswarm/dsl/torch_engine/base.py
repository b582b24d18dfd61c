"""What the tensor operators share: their context, blocks that fit into the memory allowed, and finite values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["WIDE", "Context", "Operator", "by_rows", "empty", "finite", "row_blocks"]

# What statistics are computed in, whatever the values are stored in.
WIDE = torch.float64
WIDE_BYTES = 8

Operator = Callable[..., Tensor]


@dataclass(frozen=True, eq=False)
class Context:
    """The surroundings of one evaluation.

    Attributes:
        universe: bool [T, N] on the device; cross-sections see members only.
        dtype: what values are stored in between operators.
        scratch: bytes that one operator may use besides its arguments and its result.
    """

    universe: Tensor
    dtype: torch.dtype
    scratch: int

    @property
    def shape(self) -> tuple[int, int]:
        """(T, N)."""
        rows, columns = self.universe.shape
        return rows, columns

    def cells(self, copies: int) -> int:
        """How many cells fit into the scratch at a time, where each takes `copies` wide numbers; at least 1."""
        return max(1, self.scratch // (WIDE_BYTES * copies))


def empty(ctx: Context) -> Tensor:
    """A result to be filled, [T, N]."""
    return torch.empty(ctx.shape, dtype=ctx.dtype, device=ctx.universe.device)


def finite(x: Tensor) -> Tensor:
    """`x` with NaN for infinities."""
    return torch.where(torch.isinf(x), torch.nan, x)


def row_blocks(ctx: Context, copies: int, width: int | None = None) -> Iterator[slice]:
    """Cut the rows into blocks of as many as the scratch allows; `width` cells a row, N by default."""
    rows, columns = ctx.shape
    step = max(1, ctx.cells(copies) // (columns if width is None else width))
    for start in range(0, rows, step):
        yield slice(start, min(start + step, rows))


def by_rows(ctx: Context, copies: int, function: Callable[..., Tensor], *series: Tensor) -> Tensor:
    """Apply `function`, which looks at nothing but the rows that it is given, to blocks of rows of all `series`."""
    out = empty(ctx)
    for rows in row_blocks(ctx, copies):
        block = function(*(one[rows] if one.ndim else one for one in series))
        out[rows] = finite(block.to(ctx.dtype))
    return out
