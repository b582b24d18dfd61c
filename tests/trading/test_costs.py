import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphaswarm.core import DataInvalid, SpecInvalid
from alphaswarm.trading import (
    COST_CURVE_BP,
    DEFAULT_COST_BP,
    BorrowCosts,
    MinimumFee,
    ProportionalCosts,
    SpreadCosts,
    SquareRootImpact,
    SumOfCosts,
    TradedNames,
)


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


# What each model charges for 10,000 traded of one name, worked out by hand.
NAMES = TradedNames(
    price=np.array([50.0]), dollar_volume=np.array([1e6]), volatility=np.array([0.02]), held=np.array([-25_200.0])
)


@pytest.mark.parametrize(
    ("costs", "charged"),
    [
        (ProportionalCosts(5), 5.0),
        (SpreadCosts(4), 2.0),  # half of 4 bp
        (SpreadCosts(4, tick=0.05), 5.0),  # 0.05 / 50 = 10 bp, half of it
        (SquareRootImpact(1.0), 20.0),  # 0.02 * sqrt(0.01) = 20 bp
        (SquareRootImpact(0.5), 10.0),
        (BorrowCosts(0.01), 1.0),  # 252 a year on 25,200
        (MinimumFee(1.0), 5.0),
        (MinimumFee(7.0), 7.0),
        (MinimumFee(7.0, SpreadCosts(20)), 10.0),
        (SumOfCosts((ProportionalCosts(5), SquareRootImpact(), BorrowCosts(0.01))), 26.0),
        (SumOfCosts(()), 0.0),
    ],
    ids=repr,
)
def test_charges_by_hand(costs, charged):
    np.testing.assert_allclose(costs.charge(np.array([10_000.0]), NAMES), [charged], rtol=1e-14)


MODELS = [
    ProportionalCosts(5),
    SpreadCosts(3, tick=0.01),
    SquareRootImpact(0.8),
    MinimumFee(1.0),
    SumOfCosts((SpreadCosts(2), SquareRootImpact(), MinimumFee(0.5, ProportionalCosts(1)))),
]
values = st.lists(st.floats(1e-3, 1e9), min_size=3, max_size=3).map(np.array)


def three(**changed):
    known = {
        "price": np.array([5.0, 50.0, 500.0]),
        "dollar_volume": np.array([1e5, 1e6, 1e8]),
        "volatility": np.array([0.05, 0.02, 0.01]),
        "held": np.array([-1e4, 0.0, 1e4]),
    }
    return TradedNames(**(known | changed))


@pytest.mark.parametrize("costs", MODELS, ids=repr)
@given(less=values, more=st.floats(1.0, 100.0))
def test_trading_more_never_costs_less(costs, less, more):
    assert (costs.charge(more * less, three()) >= costs.charge(less, three()) * (1 - 1e-12)).all()


@pytest.mark.parametrize("costs", MODELS, ids=repr)
@given(unknown=st.sampled_from([np.nan, 0.0, -1.0]))
def test_what_is_not_traded_is_free_whatever_is_unknown(costs, unknown):
    blank = np.full(3, unknown)
    names = three(price=blank, dollar_volume=blank, volatility=blank)
    np.testing.assert_array_equal(costs.charge(np.zeros(3), names), np.zeros(3))


@given(traded=values, scale=st.floats(0.01, 100.0))
def test_how_charges_scale(traded, scale):
    impact, spread = SquareRootImpact(0.7), SpreadCosts(3, tick=0.01)
    before, after = impact.charge(traded, three()), impact.charge(scale * traded, three())
    np.testing.assert_allclose(after, scale**1.5 * before, rtol=1e-12)  # the root of the size on top of the size
    # the same share of a market that is as much larger
    larger = three(dollar_volume=scale * three().dollar_volume)
    np.testing.assert_allclose(impact.charge(scale * traded, larger), scale * before, rtol=1e-12)
    np.testing.assert_allclose(
        spread.charge(scale * traded, three()), scale * spread.charge(traded, three()), rtol=1e-12
    )


@pytest.mark.parametrize("unknown", [np.nan, 0.0, -1.0])
def test_an_unknown_cost_is_not_free(unknown):
    traded = np.array([10.0, 10.0, 10.0])
    thin = three(dollar_volume=np.array([unknown, 1e6, 1e6]))
    np.testing.assert_array_equal(np.isnan(SquareRootImpact().charge(traded, thin)), [True, False, False])
    unpriced = three(price=np.array([unknown, 50.0, 50.0]))
    np.testing.assert_array_equal(np.isnan(SpreadCosts(1, 0.01).charge(traded, unpriced)), [True, False, False])
    assert np.isnan(SumOfCosts((ProportionalCosts(), SquareRootImpact())).charge(traded, thin)[0])


def test_borrowing_costs_what_is_short_and_whether_or_not_it_trades():
    charged = BorrowCosts(0.0252).charge(np.zeros(3), three())
    np.testing.assert_allclose(charged, [1.0, 0.0, 0.0], rtol=1e-14)


def test_days_and_names_at_once():
    traded = np.arange(6.0).reshape(2, 3)
    names = TradedNames(dollar_volume=np.full((2, 3), 1e4), volatility=np.full((2, 3), 0.01))
    rows = [
        SquareRootImpact().charge(traded[t], TradedNames(dollar_volume=np.full(3, 1e4), volatility=np.full(3, 0.01)))
        for t in range(2)
    ]
    np.testing.assert_array_equal(SquareRootImpact().charge(traded, names), rows)


def test_the_cap_says_what_may_be_traded():
    np.testing.assert_allclose(SquareRootImpact(cap=0.1).largest(three()), [1e4, 1e5, 1e7], rtol=1e-14)
    with pytest.raises(DataInvalid, match="needs dollar_volume"):
        SquareRootImpact().largest(TradedNames())


@pytest.mark.parametrize(
    ("costs", "missing"),
    [
        (SquareRootImpact(), "volatility"),
        (SpreadCosts(2, tick=0.01), "price"),
        (BorrowCosts(), "held"),
        (MinimumFee(1, SquareRootImpact()), "volatility"),
    ],
    ids=repr,
)
def test_a_model_says_what_it_needs(costs, missing):
    with pytest.raises(DataInvalid, match=rf"needs {missing} of the names, \(3,\) .* got none"):
        costs.charge(np.ones(3), TradedNames())
    with pytest.raises(DataInvalid, match=r"got shape \(2,\)"):
        costs.charge(np.ones(3), three(**{missing: np.ones(2)}))


@pytest.mark.parametrize(
    ("make", "figure"),
    [
        (lambda: SpreadCosts(-1), "bp"),
        (lambda: SpreadCosts(1, tick=math.nan), "tick"),
        (lambda: SquareRootImpact(-0.1), "coefficient"),
        (lambda: SquareRootImpact(cap=0.0), "cap"),
        (lambda: SquareRootImpact(cap=1.5), "cap"),
        (lambda: BorrowCosts(math.inf), "rate"),
        (lambda: BorrowCosts(0.01, 0), "periods"),
        (lambda: MinimumFee(-1), "fee"),
    ],
)
def test_impossible_figures_are_refused(make, figure):
    with pytest.raises(SpecInvalid, match=f"{figure} must be"):
        make()


def test_models_are_values():
    assert SumOfCosts((SpreadCosts(2), MinimumFee(1))) == SumOfCosts((SpreadCosts(2.0), MinimumFee(1.0)))
    assert len({SquareRootImpact(), SquareRootImpact(1, 0.05), SquareRootImpact(2)}) == 2
