"""Statistics of samples that lie along the first axis of a tensor; some places of a sample may be empty.

Sums are compensated and added up in a fixed tree of single operations, so their value depends on neither the
device nor how the work was cut, and up to heavy cancellation not on the order of the values. Moments are made of
deviations from one value of the sample, so nothing cancels and equal values deviate by exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from alphaswarm.dsl.torch_engine.base import WIDE

__all__ = ["Deviations", "Sample", "at", "product", "total", "twice_ranks"]


def _pairwise(values: Tensor, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    while len(values) > 1:
        half = len(values) // 2
        joined = combine(values[:half], values[half : 2 * half])
        values = torch.cat([joined, values[2 * half :]]) if len(values) % 2 else joined
    return values[0]


def total(values: Tensor) -> Tensor:
    """Sum over the first axis, less what rounding lost (two-sum of Knuth, 1969; Ogita, Rump and Oishi, 2005)."""
    lost = torch.zeros_like(values[0])

    def plus(a: Tensor, b: Tensor) -> Tensor:
        nonlocal lost
        joined = a + b
        part = joined - a
        rest = (a - (joined - part)) + (b - part)
        lost = lost + _pairwise(rest, torch.add)
        return joined

    joined = _pairwise(values, plus)
    return joined + lost


def product(values: Tensor) -> Tensor:
    """Product over the first axis."""
    return _pairwise(values, torch.mul)


def at(values: Tensor, place: Tensor) -> Tensor:
    """`values` at a place of the first axis that may differ from sample to sample."""
    return torch.gather(values, 0, place.to(torch.int64).clamp(0, len(values) - 1).unsqueeze(0)).squeeze(0)


def twice_ranks(ordered: Tensor) -> Tensor:
    """Twice the average ranks, whole numbers from 2, along a first axis in ascending order."""
    place = torch.arange(len(ordered), device=ordered.device).reshape(-1, *[1] * (ordered.ndim - 1))
    new = torch.ones_like(ordered, dtype=torch.bool)
    new[1:] = ordered[1:] != ordered[:-1]
    first = torch.where(new, place, 0).cummax(0).values
    ends = torch.ones_like(new)
    ends[:-1] = new[1:]
    last = torch.where(ends, place, len(ordered)).flip(0).cummin(0).values.flip(0)
    return first + last + 2


@dataclass(frozen=True, eq=False)
class Deviations:
    """Deviations from the mean as shares of the largest one, so that no power of them overflows.

    Attributes:
        shares: [K, ...], 0 at empty places.
        reach: [...], the largest deviation; the shares times this are the deviations.
    """

    shares: Tensor
    reach: Tensor

    def powers(self, order: int) -> Tensor:
        """Sum of the shares to the power `order`."""
        power = self.shares * self.shares
        for _ in range(2, order):
            power = power * self.shares
        return total(power)


@dataclass(frozen=True, eq=False)
class Sample:
    """Values along the first axis.

    Attributes:
        values: float64 [K, ...], 0 at empty places.
        valid: bool [K, ...], which places hold a value.
        count: float64 [...], how many do.
    """

    values: Tensor
    valid: Tensor
    count: Tensor

    @classmethod
    def of(cls, values: Tensor, valid: Tensor) -> Sample:
        """The sample of the `values` that are `valid`."""
        return cls(torch.where(valid, values, 0.0), valid, valid.sum(0).to(WIDE))

    @cached_property
    def low(self) -> Tensor:
        """Smallest value."""
        return torch.where(self.valid, self.values, torch.inf).amin(0)

    @cached_property
    def high(self) -> Tensor:
        """Largest value."""
        return torch.where(self.valid, self.values, -torch.inf).amax(0)

    @property
    def constant(self) -> Tensor:
        """Whether all values are equal."""
        return self.low == self.high

    @property
    def today(self) -> Tensor:
        """The last value."""
        return self.values[-1]

    def within(self, value: Tensor) -> Tensor:
        """`value`, held within the range of the values: rounding never pushes a mean out of it."""
        return torch.minimum(torch.maximum(value, self.low), self.high)

    @cached_property
    def mean(self) -> Tensor:
        """Arithmetic mean."""
        return self.within(total(self.values) / self.count)

    @cached_property
    def deviations(self) -> Deviations:
        """Deviations from the mean."""
        above = torch.where(self.valid, self.values - self.low, 0.0)
        away = torch.where(self.valid, above - total(above) / self.count, 0.0)
        reach = away.abs().amax(0)
        return Deviations(away / torch.where(reach > 0, reach, 1.0), reach)

    @cached_property
    def variance(self) -> Tensor:
        """Variance (ddof 1) of the shares of the deviations; NaN for fewer than two values."""
        return torch.where(self.count >= 2, self.deviations.powers(2) / (self.count - 1), torch.nan)

    @property
    def std(self) -> Tensor:
        """Standard deviation, ddof 1; 0 for equal values."""
        return self.variance.sqrt() * self.deviations.reach

    @cached_property
    def ordered(self) -> Tensor:
        """The values in ascending order, infinity after the last."""
        return torch.where(self.valid, self.values, torch.inf).sort(0).values

    def quantile(self, q: float) -> Tensor:
        """Linear interpolation between order statistics (type 7 of Hyndman and Fan, 1996)."""
        place = q * (self.count - 1)
        below = place.floor()
        above = torch.minimum(below + 1, self.count - 1)
        low, high = at(self.ordered, below), at(self.ordered, above)
        return low + (place - below) * (high - low)

    @property
    def median(self) -> Tensor:
        """The mean of the middle two where the count is even."""
        below, above = ((self.count - 1) / 2).floor(), (self.count / 2).floor()
        return (at(self.ordered, below) + at(self.ordered, above)) / 2

    @property
    def median_distance(self) -> Tensor:
        """Median of the distances from the median."""
        return Sample((self.values - self.median).abs(), self.valid, self.count).median
