"""The exact arithmetic beneath the reference."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from alphaswarm.dsl.reference.base import average_ranks, central_sum, mean, quantile, real, signed_root, std


def test_what_has_no_finite_real_value_is_nan():
    assert math.isnan(real(lambda: 1 / 0))
    assert math.isnan(real(lambda: math.log(-1.0)))
    assert math.isnan(real(lambda: math.exp(1000.0)))
    assert math.isnan(real(lambda: 1e308 * 10))
    assert math.isnan(real(lambda: None))
    assert real(lambda x: x, 2.0) == 2.0


def test_moments_are_exact():
    assert central_sum([0.1] * 7, 2) == 0
    assert central_sum([1.0, 2.0, 6.0], 3) == 18
    assert std([100.0, 100.0 + 2.0**-45]) == pytest.approx(2.0**-45 / math.sqrt(2), rel=1e-15)
    assert std([5.0]) != std([5.0])  # NaN


@pytest.mark.parametrize("power", [-1000, -3, 0, 5, 1000])
def test_roots_beyond_the_range_of_a_square(power):
    value = Fraction(3) * Fraction(2) ** power
    assert signed_root(value, value**2) == 3.0 * 2.0**power
    assert signed_root(-value, value**2) == -3.0 * 2.0**power


def test_order():
    assert average_ranks([10.0, 20.0, 20.0, 5.0]) == [2.0, 3.5, 3.5, 1.0]
    assert quantile([4.0, 1.0], 0.25) == 1.75
    assert mean([0.1] * 3) == 0.1
