from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.data import synthetic_market
from alphaswarm.dsl import evaluate, library
from alphaswarm.evaluation.known import EVERY, RECENT_ROWS, KnownFormula, KnownFormulas


@pytest.fixture(scope="module")
def panel() -> Panel:
    """Prices and returns only, so that most formulas don't fit."""
    market = synthetic_market("null", seed=2, days=420, names=45)
    fields = {name: market[name] for name in ("close", "returns")}
    return Panel.from_arrays(fields, market.dates, market.symbols, meta=dict(market.meta))


@pytest.fixture(scope="module")
def known(panel: Panel) -> KnownFormulas:
    return KnownFormulas(panel)


@pytest.mark.parametrize("name", ["reversal_5", "low_volatility_20"])
def test_a_formula_finds_itself_and_its_mirror(panel: Panel, known: KnownFormulas, name: str) -> None:
    values = evaluate(library()[name].expr, panel)
    found = known.nearest(values)
    assert found is not None
    assert (found.name, found.label) == (name, f"known: {name}")
    assert found.correlation == pytest.approx(1.0)
    mirrored = known.nearest(-values)
    assert mirrored is not None
    assert (mirrored.label, mirrored.correlation) == (f"known: {name}, sign turned", pytest.approx(-1.0))


def test_the_correlation_is_that_of_the_last_year(panel: Panel, known: KnownFormulas) -> None:
    factor = evaluate("-ts_sum(returns, 6)", panel)
    found = known.nearest(factor)
    assert found is not None
    theirs = evaluate(library()[found.name].expr, panel)
    days = range(panel.shape[0] - 1, panel.shape[0] - RECENT_ROWS - 1, -EVERY)
    mean = np.mean([spearmanr(factor[day], theirs[day]).statistic for day in days])
    assert found.correlation == pytest.approx(mean, abs=1e-6)
    elsewhere = factor.copy()
    elsewhere[: panel.shape[0] - RECENT_ROWS] = 7.0
    assert known.nearest(elsewhere) == found


def test_noise_is_nothing_known(panel: Panel, known: KnownFormulas) -> None:
    noise = np.random.default_rng(1).standard_normal(panel.shape)
    found = known.nearest(noise)
    assert found is not None
    assert found.label is None
    assert found.to_dict()["label"] is None
    assert known.nearest(np.full(panel.shape, np.nan)) is None


def test_the_label_begins_at_seven_tenths() -> None:
    assert KnownFormula("f", "somebody", 0.7).label == "known: f"
    assert KnownFormula("f", "somebody", 0.699).label is None


def test_what_no_formula_can_be_made_of(panel: Panel, known: KnownFormulas) -> None:
    bare = Panel.from_arrays({"mood": panel["close"]}, panel.dates, panel.symbols)
    assert KnownFormulas(bare).nearest(panel["close"]) is None
    with pytest.raises(EvidenceInvalid, match="must have the panel's shape"):
        known.nearest(panel["close"][:-1])
