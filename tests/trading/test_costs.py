import math

import numpy as np
import pytest

from alphaswarm.core import SpecInvalid
from alphaswarm.trading import COST_CURVE_BP, DEFAULT_COST_BP, ProportionalCosts


def test_five_basis_points_of_ten_thousand_are_five():
    assert ProportionalCosts(5).charge(10_000.0) == pytest.approx(5.0, rel=1e-15)
    assert ProportionalCosts(5).rate == pytest.approx(0.0005, rel=1e-15)


def test_a_charge_keeps_the_shape_of_what_was_traded():
    np.testing.assert_allclose(
        ProportionalCosts(10).charge(np.array([[0.0, 1.0], [0.5, 2.0]])), [[0, 1e-3], [5e-4, 2e-3]]
    )


def test_the_default_lies_on_the_curve_that_is_always_shown():
    assert ProportionalCosts().bp == DEFAULT_COST_BP
    assert DEFAULT_COST_BP in COST_CURVE_BP
    assert list(COST_CURVE_BP) == sorted(COST_CURVE_BP)
    assert COST_CURVE_BP[0] == 0.0


@pytest.mark.parametrize("bp", [-1, math.nan, math.inf, -math.inf])
def test_impossible_costs_are_refused(bp):
    with pytest.raises(SpecInvalid, match="basis points"):
        ProportionalCosts(bp)


def test_equal_costs_are_equal_whatever_number_type_was_given():
    assert ProportionalCosts(5) == ProportionalCosts(5.0)
    assert repr(ProportionalCosts(5)) == repr(ProportionalCosts(5.0))
