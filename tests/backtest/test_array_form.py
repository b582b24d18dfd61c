import array_api_strict
import numpy as np
import pytest
import torch

from alphaswarm.backtest import VectorEngine
from alphaswarm.backtest.array_form import trade_arrays
from alphaswarm.core import WeightsInvalid, make_rng
from alphaswarm.trading import ProportionalCosts

LIBRARIES = {"numpy": np, "array-api-strict": array_api_strict, "torch": torch}
FIGURES = ("equity", "turnover", "costs", "gross", "net")


def market(seed, strategies=4, days=80, names=25, gaps=0.0):
    """Returns [T, N], and long-short weights [S, T, N] whose rows hold now and then."""
    rng = make_rng(seed, "array form")
    returns = rng.normal(0.0003, 0.02, (days, names))
    returns[0] = np.nan
    returns[rng.random(returns.shape) < gaps] = np.nan
    weights = rng.normal(0, 0.05, (strategies, days, names))
    weights[rng.random((strategies, days)) < 0.2] = np.nan
    return returns, weights


def traded(library, weights, returns, dtype="float64", **settings):
    """`trade_arrays` on that library, as numpy arrays by name."""
    xp = LIBRARIES[library]
    given = [xp.asarray(np.array(array, dtype)) for array in (weights, returns)]
    found = trade_arrays(xp, *given, **settings)
    return {name: np.asarray(array) for name, array in found._asdict().items()}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_it_is_the_vector_engine(library, dtype, tolerance, gaps):
    returns, weights = market(1, gaps=gaps)
    costs = ProportionalCosts(10)
    right = VectorEngine(costs, dtype=dtype, capital=5.0).run(returns=returns, weights=weights, positions=True)
    found = traded(library, weights, returns, dtype, costs=costs, capital=5.0)
    for name in FIGURES:
        assert found[name].dtype == np.float64
        np.testing.assert_allclose(found[name], getattr(right, name), rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found["positions"], right.positions[:, -1], rtol=tolerance, atol=tolerance)
    assert found["positions"].dtype == dtype
    assert found["missing_returns"].tolist() == right.missing_returns.tolist()
    assert found["untraded"].tolist() == right.untraded.tolist()
    assert bool(right.untraded.any()) == (gaps > 0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_name_that_cannot_be_traded_is_kept(library):
    returns = np.array([[np.nan, np.nan], [0.0, 0.0], [0.1, 0.0], [0.1, 0.0]])
    weights = np.array([[[0.5, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0]]])
    can = np.array([[True, True], [True, True], [False, True], [True, False]])
    xp = LIBRARIES[library]
    found = traded(library, weights, returns, tradable=xp.asarray(can), costs=ProportionalCosts(0))
    np.testing.assert_allclose(found["equity"], [[1.0, 1.0, 1.05, 1.105]])
    np.testing.assert_allclose(found["turnover"], [[0.0, 0.5, 1.0, 0.605 / 1.105]])
    assert found["untraded"].tolist() == [2.0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_lost_account_stays_as_it_is_beside_one_that_goes_on(library):
    returns = np.array([[np.nan], [0.0], [1.5], [-0.5], [0.2]])
    weights = np.stack([np.full((5, 1), -1.0), np.full((5, 1), 0.5)])
    found = traded(library, weights, returns)
    right = VectorEngine().run(returns=returns, weights=weights)
    for name in FIGURES:
        np.testing.assert_allclose(found[name], getattr(right, name), rtol=1e-14, atol=1e-14)
    assert found["equity"][0, -1] < 0
    assert found["positions"][0].tolist() == [0.0]


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_are_no_weights_is_refused(library):
    returns, weights = market(2, days=6, names=3)
    for place, value in (((1, 2, 0), np.inf), ((1, 2, 0), np.nan)):
        bad = np.nan_to_num(weights)
        bad[place] = value
        with pytest.raises(WeightsInvalid, match="finite"):
            traded(library, bad, returns)
    for shape in (weights[0], weights[:, 1:]):
        with pytest.raises(WeightsInvalid, match="beside returns"):
            traded(library, shape, returns)


def test_batches_are_their_strategies():
    returns, weights = market(3, gaps=0.05)
    whole = traded("numpy", weights, returns)
    for s in range(len(weights)):
        alone = traded("numpy", weights[s : s + 1], returns)
        np.testing.assert_array_equal(alone["equity"][0], whole["equity"][s])
