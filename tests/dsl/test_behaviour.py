"""Behaviours: vectors whose scalar products are rank correlations, near those of another market."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import spearmanr

from alphaswarm.data import synthetic_market
from alphaswarm.dsl import evaluate, parse
from alphaswarm.dsl.behaviour import LONGEST, WIDTH, behaviour

FIELDS = ("close", "dollar_volume", "high", "low", "open", "returns", "volume")
FORMULAS = (
    "-ts_sum(returns, 5)",
    "ts_mean(returns, 10)",
    "close / ts_max(close, 60)",
    "ts_std(returns, 20)",
    "high / low",
    "ts_std(close, 20)",
    "-ts_corr(close, volume, 10)",
    "volume / ts_mean(volume, 20)",
    "log_return(volume, 1)",
    "dollar_volume",
)


def vectors(*texts: str) -> np.ndarray:
    return behaviour([parse(text) for text in texts], FIELDS, ("sector",))


def test_they_have_length_one_and_a_sign() -> None:
    found = vectors(*FORMULAS, "-log_return(volume, 1)", "cs_rank(2 * log_return(volume, 1) + 3)")
    assert found.shape == (len(FORMULAS) + 2, WIDTH)
    assert found.dtype == np.float32
    np.testing.assert_allclose((found**2).sum(axis=1), 1.0, atol=1e-5)
    assert found[8] @ found[-2] == pytest.approx(-1.0, abs=1e-5)
    assert found[8] @ found[-1] == pytest.approx(1.0, abs=1e-5)


def test_products_are_near_the_rank_correlations_of_another_market() -> None:
    market = synthetic_market("null", seed=9, days=400, names=200)
    values = [evaluate(text, market)[100::10] for text in FORMULAS]
    found = vectors(*FORMULAS)
    pairs = list(combinations(range(len(FORMULAS)), 2))
    real = [np.mean([spearmanr(a, b).statistic for a, b in zip(values[i], values[j], strict=True)]) for i, j in pairs]
    guess = [float(found[i] @ found[j]) for i, j in pairs]
    assert np.corrcoef(real, guess)[0, 1] > 0.95
    assert np.abs(np.subtract(real, guess)).max() < 0.2


def test_nothing_is_known_of_what_does_not_rank() -> None:
    found = vectors("returns * 0", f"ts_sum(returns, {LONGEST + 5})", "ts_count(returns > -1, 5)")
    assert not found.any()
    assert not behaviour([], FIELDS).size


def test_unknown_fields_and_groups() -> None:
    found = behaviour([parse("group_neutralize(sentiment, region)"), parse("sentiment")], ("sentiment",), ("region",))
    assert 0.5 < found[0] @ found[1] < 1
    again = behaviour([parse("sentiment")], ("sentiment", "close"))
    np.testing.assert_array_equal(again[0], found[1])


def test_values_beyond_rounding_are_no_warning() -> None:
    assert np.isfinite(vectors("dollar_volume ** 30", "exp(close * 100)")).all()
