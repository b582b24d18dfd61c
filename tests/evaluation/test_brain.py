import dataclasses

import pytest

from alphaswarm.evaluation import Evaluator, Window
from alphaswarm.evaluation.brain import SubUniverse, brain_labels


@pytest.fixture(scope="module")
def evidence(market, factor):
    return Evaluator(market, Window("search", market.dates[0], market.dates[-1])).evidence(factor)


def test_the_bound_of_a_thousand_among_three():
    found = SubUniverse.of(1000.0, 3000.0, 0.6, 1.5)
    assert found.bound == pytest.approx(0.6495, abs=1e-4)
    assert found.to_dict() == {"names": 1000.0, "of_names": 3000.0, "sharpe": 0.6, "bound": found.bound, "reason": ""}


def test_an_undefined_half_has_a_reason():
    found = SubUniverse.of(10.0, 20.0, None, 1.5)
    assert "never ranked" in found.reason
    assert SubUniverse.of(10.0, 20.0, 0.5, None).bound is None


@pytest.mark.parametrize(
    ("figures", "weight", "sub", "failed"),
    [
        ({}, 0.05, 0.9, set()),
        ({"sharpe": 1.25}, 0.05, 0.9, {"sharpe"}),  # above, not at
        ({"fitness": 1.0}, 0.05, 0.9, {"fitness"}),
        ({"turnover": 0.009}, 0.05, 0.9, {"turnover"}),
        ({"turnover": 0.7}, 0.05, 0.9, set()),
        ({"turnover": 0.71}, 0.05, 0.9, {"turnover"}),
        ({}, 0.1, 0.9, {"max_weight"}),
        ({}, 0.05, 0.5, {"sub_universe"}),
        ({"sharpe": -2.0, "fitness": -1.5}, 0.05, 0.9, {"sharpe", "fitness"}),
    ],
)
def test_thresholds(evidence, figures, weight, sub, failed):
    given = dataclasses.replace(evidence, **({"sharpe": 1.5, "fitness": 1.2, "turnover": 0.3} | figures))
    labels = brain_labels(given, weight, SubUniverse.of(500.0, 1000.0, sub, 1.5))
    assert {label.name for label in labels if not label.passed} == failed
    assert [label.name for label in labels] == ["sharpe", "fitness", "turnover", "max_weight", "sub_universe"]
    assert labels[4].asked == "at least 0.80"
    assert labels[2].to_dict()["asked"] == "1% to 70% a day"


def test_what_is_undefined_neither_passes_nor_fails(evidence):
    nothing = dataclasses.replace(evidence, sharpe=None, fitness=None, turnover=None)
    assert {label.passed for label in brain_labels(nothing, None, SubUniverse())} == {None}
