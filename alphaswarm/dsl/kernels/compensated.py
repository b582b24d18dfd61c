"""Sums that keep what rounding loses (Neumaier, 1974; two-sum of Knuth, 1969).

Up to heavy cancellation the result is the true sum rounded once. So equal values in another
order give the same bits, and ties stay ties.
"""

from __future__ import annotations

from alphaswarm.core.jit import part

__all__ = ["plus"]


@part
def plus(high: float, low: float, value: float) -> tuple[float, float]:
    """Add `value` to the sum high + low, where `low` is what `high` lost."""
    new = high + value
    part = new - high
    return new, low + ((high - (new - part)) + (value - part))
