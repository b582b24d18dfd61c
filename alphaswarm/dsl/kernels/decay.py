"""Weighted means of windows: linear and exponential decay."""

from __future__ import annotations

import math

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.columns import Flat
from alphaswarm.dsl.kernels.compensated import plus

__all__ = ["DECAY_EXP", "DECAY_LINEAR", "decay_value"]

DECAY_LINEAR, DECAY_EXP = range(40, 42)


@part
def decay_value(op: int, factor: float, d: int, x: Flat, start: int, stop: int) -> float:
    """Weighted mean of the valid values of x[start:stop]; it lies within their range.

    Weights are d for the newest row down to 1, or 1, f, f ** 2, ... from the newest.
    """
    smallest, largest = np.inf, -np.inf
    high, low, weights, weight = 0.0, 0.0, 0.0, 1.0
    for age in range(stop - start):
        value = x[stop - 1 - age]
        if op == DECAY_LINEAR:
            weight = float(d - age)
        if not math.isnan(value):
            smallest, largest = min(smallest, value), max(largest, value)
            weights += weight
            high, low = plus(high, low, weight * value)
        weight *= factor
    return min(max((high + low) / weights, smallest), largest)
