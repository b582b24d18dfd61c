from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl import parse
from alphaswarm.research.cautions import LEAK_IC, MIN_COVERAGE, SHORT_WINDOW, cautions, too_few_names

CLEAN = {"ic": 0.02, "rank_ic": 0.02, "sharpe": 1.0, "coverage": 0.9}


def panel(**meta) -> Panel:
    return Panel.from_arrays({"close": np.ones((2, 2))}, ["2020-01-01", "2020-01-02"], ["a", "b"], meta=meta)


def said(evidence=CLEAN, days: int = SHORT_WINDOW, unsealed: bool = False, relatives=(), **meta) -> str:
    return " | ".join(cautions(panel(**meta), days, evidence, unsealed=unsealed, relatives=relatives))


def test_nothing_to_say() -> None:
    assert said(survivorship_biased=False, adjusted=True) == ""
    assert said({"ic": None, "rank_ic": None, "sharpe": None, "coverage": None}) == ""


def test_units_that_are_mixed_are_said() -> None:
    mixed = cautions(panel(), SHORT_WINDOW, CLEAN, unsealed=False, expression=parse("close + volume"))
    assert mixed == ["+ needs one unit, got price and shares in close + volume"]
    stated = panel(units={"volume": "price"})
    assert cautions(stated, SHORT_WINDOW, CLEAN, unsealed=False, expression=parse("close + volume")) == []


@pytest.mark.parametrize(
    ("how", "word"),
    [
        ({"survivorship_biased": True}, "survivors only"),
        ({"adjusted": False}, "not adjusted"),
        ({"days": SHORT_WINDOW - 1}, "too short"),
        ({"unsealed": True}, "unsealed"),
        ({"relatives": ["other"]}, "counted together with panel other"),
        ({"evidence": {**CLEAN, "rank_ic": -LEAK_IC - 0.001, "sharpe": -1.0}}, "leak"),
        ({"evidence": {**CLEAN, "ic": LEAK_IC + 0.001}}, "leak"),
        ({"evidence": {**CLEAN, "sharpe": -0.1}}, "opposite signs"),
        ({"evidence": {**CLEAN, "coverage": 0.49}}, "49%"),
    ],
)
def test_each_caution_alone(how, word: str) -> None:
    assert word in said(**how)
    assert "|" not in said(**how)


def test_the_gravest_comes_first() -> None:
    text = said({**CLEAN, "rank_ic": 0.2}, days=10, unsealed=True, survivorship_biased=True)
    assert [word for word in text.split(" | ") if "leak" in word] == [text.split(" | ")[0]]


def test_the_floor_of_coverage() -> None:
    assert too_few_names(MIN_COVERAGE) is None
    assert "at least 20%" in str(too_few_names(MIN_COVERAGE - 1e-6))
    assert "0.0%" in str(too_few_names(None))
