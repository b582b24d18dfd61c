"""The members of each group of each day as samples: the way into and out of every operator across symbols.

Members are sorted, so a sample does not depend on the order of the symbols. The whole market is one group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from alphaswarm.dsl.torch_engine.base import WIDE, Context, Operator, empty, finite, row_blocks
from alphaswarm.dsl.torch_engine.sample import Sample

__all__ = ["GROUP_BACKFILL", "across", "member_copies", "of_groups", "winsorized"]

# Wide numbers that a cell takes while it is sorted, and that a member takes while its statistic is computed.
SORTING, STATISTIC = 10, 14
# BRAIN's documented default for the fill value of a group: winsorised at four standard deviations.
BACKFILL_STDS = 4.0

Statistic = Callable[[Sample], Tensor]


def member_copies() -> int:
    """Wide numbers that a cell of one day takes at the least."""
    return SORTING + STATISTIC


class _Members:
    """The members of the groups of some rows, sorted by group and value.

    Attributes:
        place: int64 [R, K], where each cell stands in the order of its row.
        starts, counts: int64 [R, G], where each group starts in that order and how many members it has.
    """

    def __init__(self, x: Tensor, codes: Tensor, groups: int) -> None:
        """`x` wide [R, K]; `codes` int64 [R, K], -1 for what is in no group; NaN is in none."""
        inside = (codes >= 0) & ~torch.isnan(x)
        self.codes = torch.where(inside, codes, groups)
        values, order = torch.where(inside, x, torch.inf).sort(1)
        by_group = self.codes.gather(1, order).sort(dim=1, stable=True).indices
        self.values = values.gather(1, by_group)
        order = order.gather(1, by_group)
        places = torch.arange(x.shape[1], device=x.device).expand_as(order)
        self.place = torch.empty_like(order).scatter_(1, order, places)
        counts = torch.zeros(len(x), groups + 1, dtype=torch.int64, device=x.device)
        counts.scatter_add_(1, self.codes, inside.to(torch.int64))
        self.counts = counts[:, :groups]
        self.starts = self.counts.cumsum(1) - self.counts

    def samples(self, cells: int) -> Iterator[tuple[int, int, int, Sample]]:
        """Some groups at a time (first, stop), the size of the largest, and their samples [M, R, groups]."""
        rows, groups = self.counts.shape
        first = 0
        while first < groups:
            stop = first + 1
            while stop < groups and rows * (stop + 1 - first) * self._largest(first, stop + 1) <= cells:
                stop += 1
            largest = max(1, self._largest(first, stop))
            member = torch.arange(largest, device=self.values.device).reshape(-1, 1, 1)
            index = (self.starts[:, first:stop] + member).clamp(max=self.values.shape[1] - 1)
            flat = index.movedim(0, -1).reshape(rows, -1)
            values = self.values.gather(1, flat).reshape(rows, stop - first, largest).movedim(-1, 0).contiguous()
            yield first, stop, largest, Sample.of(values, member < self.counts[:, first:stop])
            first = stop

    def _largest(self, first: int, stop: int) -> int:
        return int(self.counts[:, first:stop].max())


def across(ctx: Context, statistic: Statistic, x: Tensor, codes: Tensor | None = None) -> Tensor:
    """`statistic` of the members of each group (all of them together without `codes`), given to each of them.

    It gets samples [M, rows, groups] in ascending order and gives a value for each member, or one for all.
    """
    out = empty(ctx)
    groups = 1 if codes is None else _groups(codes)
    for rows in row_blocks(ctx, member_copies()):
        own = torch.where(ctx.universe[rows], 0 if codes is None else codes[rows].to(torch.int64), -1)
        members = _Members(x[rows].to(WIDE), own, groups)
        result = torch.full_like(members.values, torch.nan)
        for first, stop, largest, sample in members.samples(ctx.cells(STATISTIC)):
            value = statistic(sample).to(WIDE).expand(sample.values.shape)
            here = (members.codes >= first) & (members.codes < stop)
            group = torch.where(here, members.codes, first)
            index = (group - first) * largest + members.place - members.starts.gather(1, group)
            flat = value.movedim(0, -1).reshape(len(own), -1)
            result = torch.where(here, flat.gather(1, index.clamp(0, flat.shape[1] - 1)), result)
        out[rows] = finite(result.to(ctx.dtype))
    return out


def of_groups(statistic: Statistic) -> Operator:
    """The operator that applies `statistic` within each group."""

    def apply(ctx: Context, x: Tensor, g: Tensor) -> Tensor:
        return across(ctx, statistic, x, g)

    return apply


def winsorized(sample: Sample, k: float) -> Tensor:
    """The values held within mean +- k standard deviations; a value alone is its own mean."""
    reach = torch.where(sample.count > 1, k * sample.std, 0.0)
    return torch.minimum(torch.maximum(sample.values, sample.mean - reach), sample.mean + reach)


def group_backfill(ctx: Context, x: Tensor, g: Tensor, d: int) -> Tensor:
    """Fill a member's NaN by the winsorised mean of what its group had in the last `d` rows.

    A value counts where its symbol was in the universe and carried the label on its own day.
    """
    codes = torch.where(ctx.universe, g.to(torch.int64), -1)
    out = torch.where(codes >= 0, x, torch.nan)
    wanting = torch.nonzero(((codes >= 0) & torch.isnan(x)).any(1)).flatten().tolist()
    groups = _groups(g)
    for t in wanting:
        first = max(0, t - d + 1)
        recent = slice(first, t + 1)
        members = _Members(x[recent].to(WIDE).reshape(1, -1), codes[recent].reshape(1, -1), groups)
        numbers = torch.full((groups,), torch.nan, dtype=WIDE, device=x.device)
        for start, stop, _largest, sample in members.samples(ctx.cells(STATISTIC)):
            held = Sample(torch.where(sample.valid, winsorized(sample, BACKFILL_STDS), 0.0), sample.valid, sample.count)
            numbers[start:stop] = torch.where(held.count > 0, held.mean, torch.nan)[0]
        fill = numbers[codes[t].clamp(min=0)]
        out[t] = torch.where((codes[t] >= 0) & torch.isnan(x[t]), finite(fill.to(ctx.dtype)), out[t])
    return out


def _groups(codes: Tensor) -> int:
    return max(1, int(codes.max()) + 1)


GROUP_BACKFILL: dict[str, Operator] = {"group_backfill": group_backfill}
