"""Daily rank correlation against scipy, with ties and missing values on either side."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from alphaswarm.core import BudgetExceeded, DataInvalid, Panel
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.rank_ic import daily_rank_ic

RNG = np.random.default_rng(0)
SHAPE = (20, 45)
X = RNG.normal(size=SHAPE)
X[RNG.random(SHAPE) < 0.1] = np.nan
X[3] = np.nan
X[4] = 1.0
LABELS = np.round(RNG.normal(size=SHAPE), 1)
LABELS[RNG.random(SHAPE) < 0.1] = np.nan
DATES = np.datetime64("2020-01-01") + np.arange(SHAPE[0])
PANEL = Panel.from_arrays({"x": X}, DATES, [f"s{n}" for n in range(SHAPE[1])], RNG.random(SHAPE) < 0.9)


@pytest.mark.parametrize("text", ["x", "cs_rank(x)", "round(x * 2)", "ts_mean(x, 2) * -1"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("threads", [1, 3])
def test_against_scipy(text, dtype, threads):
    (got,) = daily_rank_ic([text], PANEL, LABELS, dtype=dtype, threads=threads)
    factor = evaluate(text, PANEL, dtype=dtype)
    for t in range(SHAPE[0]):
        there = ~np.isnan(factor[t]) & ~np.isnan(LABELS[t])
        if there.sum() < 2 or np.ptp(factor[t, there]) == 0:
            assert np.isnan(got[t])
        else:
            assert got[t] == pytest.approx(spearmanr(factor[t, there], LABELS[t, there])[0], abs=1e-14)


def test_several_share_their_parts():
    one, two, three = daily_rank_ic(["x", "ts_mean(x, 2)", "x"], PANEL, LABELS)
    np.testing.assert_array_equal(one, three)
    assert not np.array_equal(one, two, equal_nan=True)


def test_what_is_refused():
    with pytest.raises(DataInvalid, match="shape"):
        daily_rank_ic(["x"], PANEL, LABELS[:5])
    with pytest.raises(BudgetExceeded):
        daily_rank_ic(["x"], PANEL, LABELS, memory_limit=100)
