"""Planted alphas: as large as asked, at the right rows, and dead when they should be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import rankdata

from alphaswarm.core import DataInvalid, EvidenceInvalid, ExpressionError, Panel
from alphaswarm.data import synthetic_market
from alphaswarm.dsl import evaluate

SIZE = {"days": 500, "names": 120}
REVERSAL = "cs_rank(-ts_sum(returns, 5))"
VOLUME = "-ts_corr(close, volume, 10)"


def rank_ics(factor: np.ndarray, close: np.ndarray, lead: int = 1) -> np.ndarray:
    """Daily rank IC [T] of a factor at t with the return that ends at t+1+lead; the plain way."""
    ics = np.full(len(close), np.nan)
    for row in range(len(close) - 1 - lead):
        label = close[row + 1 + lead] / close[row + lead] - 1
        both = np.isfinite(factor[row]) & np.isfinite(label)
        if both.sum() >= 30:
            one, two = (rankdata(np.round(values[both], 12)) for values in (factor[row], label))
            ics[row] = np.corrcoef(one, two)[0, 1]
    return ics


def lift(panel: Panel, null: Panel, expression: str) -> np.ndarray:
    """How much larger the IC of the expression's values is than with the returns nobody touched."""
    factor = evaluate(expression, panel)
    return rank_ics(factor, panel["close"]) - rank_ics(factor, null["close"])


@pytest.mark.parametrize(
    ("expression", "ic"), [(REVERSAL, 0.03), (REVERSAL, -0.05), (VOLUME, 0.02), ("cs_rank(close)", 0.1)]
)
def test_the_ic_is_what_was_asked(expression: str, ic: float) -> None:
    panel = synthetic_market("planted", seed=4, expression=expression, ic=ic, **SIZE)
    null = synthetic_market("null", seed=4, **SIZE)
    assert np.nanmean(lift(panel, null, expression)) == pytest.approx(ic, abs=1e-3)


def test_measured_ic_of_the_default(markets: Callable[[str], Panel]) -> None:
    panel = markets("planted")
    ics = rank_ics(evaluate(panel.meta["planted"]["expression"], panel), panel["close"])
    ics = ics[np.isfinite(ics)]
    assert 0.12 < ics.std() < 0.16
    assert ics.mean() == pytest.approx(0.03, abs=2 * ics.std() / np.sqrt(ics.size))


def test_only_the_return_after_the_fill_is_planted() -> None:
    """The alpha moves close[t+2] / close[t+1]; the return into the fill and the one after stay as they were."""
    expression = "-ts_corr(close, volume, 10)"
    panel = synthetic_market("planted", seed=4, expression=expression, ic=0.1, **SIZE)
    null = synthetic_market("null", seed=4, **SIZE)
    change = np.nan_to_num(panel["returns"] - null["returns"])
    factor = evaluate(expression, panel)
    assert not change[: 2 + 9].any()
    for row in (30, 200, 497):
        known = np.isfinite(factor[row])
        assert np.corrcoef(rankdata(factor[row][known]), change[row + 2][known])[0, 1] > 0.999


def test_nothing_later_than_t_is_used() -> None:
    """Cut the market at any row: what came before is what it was."""
    whole = synthetic_market("planted", seed=4, expression=VOLUME, ic=0.05, **SIZE)
    factor = evaluate(VOLUME, whole)
    np.testing.assert_array_equal(evaluate(VOLUME, whole.head(300)), factor[:300])


def test_it_dies() -> None:
    day = "2011-02-01"
    panel = synthetic_market("planted", seed=4, expression=VOLUME, ic=0.05, dies=day, **SIZE)
    null = synthetic_market("null", seed=4, **SIZE)
    gain = lift(panel, null, VOLUME)
    alive = panel.dates < np.datetime64(day)
    assert np.nanmean(gain[alive]) == pytest.approx(0.05, abs=2e-3)
    # the label's ranks can only differ where something was added
    dead_rows = np.flatnonzero(~alive)
    assert np.nanmax(np.abs(gain[dead_rows])) < 1e-9
    assert panel.meta["planted"]["dies"] == day


@pytest.mark.parametrize(
    ("options", "error", "rule"),
    [
        ({"ic": 0.0}, DataInvalid, "ic must lie within"),
        ({"ic": 0.5}, DataInvalid, "ic must lie within"),
        ({"ic": float("nan")}, DataInvalid, "ic must lie within"),
        ({"dies": "soon"}, DataInvalid, "must be a date"),
        ({"dies": "1999-01-01"}, DataInvalid, "must lie after 2010-01-04"),
        ({"dies": "2030-01-01"}, DataInvalid, "must lie after 2010-01-04"),
        ({"expression": "cs_rank("}, ExpressionError, "column"),
        ({"expression": "cs_rank(vwap)"}, (ExpressionError, KeyError), "vwap"),
        ({"expression": "close * 0"}, EvidenceInvalid, "must rank 30 names"),
        ({"expression": "ts_sum(returns, 100)"}, EvidenceInvalid, "must rank 30 names"),
    ],
)
def test_bad_arguments(options: dict, error: type[Exception], rule: str) -> None:
    with pytest.raises(error, match=rule):
        synthetic_market("planted", days=60, names=30, **options)
