"""Every row of the truth table, small: few seeds, short searches, markets that fit a test."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from alphaswarm.core import Panel, make_rng
from alphaswarm.data import synthetic_market
from alphaswarm.data.nulls import dates_permuted, sign_flipped
from alphaswarm.evaluation import hurdle
from alphaswarm.evaluation.overfitting import pbo
from benchmarks.truth.markets import white_noise
from benchmarks.truth.research import one_search
from benchmarks.truth.rows import HURDLE_TRIALS, KNOWN, LIKE, ROWS, SAME_BET, TRUE_SHARPE, Scale, residual_evidence

# Search needs 504 rows, and cross-sections of 60 names.
SMALL = Scale(days=900, names=100, budget=15, wide=60, ic=0.06)
SIZE = {"days": SMALL.days, "names": SMALL.names}


@cache
def reversal_market() -> Panel:
    return synthetic_market("planted", seed=8, ic=0.09, **SIZE)


def test_white_noise_is_not_accepted() -> None:
    for seed in (1, 2):
        found = one_search(white_noise(seed, **SIZE), seed=seed, budget=SMALL.budget)
        assert found["accepted"] == []
        assert found["proposed"] == SMALL.budget
    assert ROWS["noise"].verdict([found] * 100)[1] is True
    assert ROWS["noise"].verdict([found | {"accepted": [{}]}] * 3)[1] is False


@pytest.mark.parametrize("make", [sign_flipped, dates_permuted])
def test_what_was_real_is_not_accepted_once_it_is_taken_out(make) -> None:
    given = ("-ts_sum(returns, 5)",)
    real = one_search(reversal_market(), seed=1, budget=SMALL.budget, inject=given)
    assert any("returns" in one["expression"] for one in real["accepted"])
    assert one_search(make(reversal_market(), 3), seed=1, budget=SMALL.budget)["accepted"] == []


def test_residual_evidence_of_known_factors_on_null_markets() -> None:
    records = [
        {"z": residual_evidence(make(reversal_market(), seed))}
        for seed in range(3)
        for make in (sign_flipped, dates_permuted)
    ]
    values = np.array([t for one in records for t in one["z"].values()])
    assert values.size == 6 * len(KNOWN) == 90
    assert (np.abs(values) >= hurdle(HURDLE_TRIALS)).sum() <= 1
    assert 0.7 < values.std() < 1.4
    assert abs(residual_evidence(reversal_market())["reversal_5"] or 0.0) > 2.5  # of a few hundred days
    text, met = ROWS["known-flipped"].verdict(records)
    assert "of 90 beyond 3.34" in text
    assert met is bool((np.abs(values) >= hurdle(HURDLE_TRIALS)).mean() <= 0.005)


def test_a_truth_among_the_candidates_is_accepted() -> None:
    records = [ROWS["injected"].one(seed, SMALL) for seed in (0, 1)]
    for record in records:
        assert max(abs(one["likeness"]) for one in record["accepted"]) >= SAME_BET
    assert ROWS["injected"].verdict(records * 10)[1] is True


def test_a_truth_is_found_unaided() -> None:
    record = ROWS["unaided"].one(5, SMALL)
    assert record["proposed"] == SMALL.wide
    assert max(abs(one["likeness"]) for one in record["accepted"]) >= LIKE


def test_what_died_before_selection_is_not_accepted() -> None:
    for seed in (0, 1):
        record = ROWS["dies"].one(seed, SMALL)
        assert record["bets"] > 0
        assert record["accepted"] == []


def test_what_costs_more_than_it_earns_is_real_but_not_tradable() -> None:
    record = ROWS["costly"].one(0, SMALL)
    assert record["status"] == "confirmed"
    assert record["tradable"] is False
    assert record["reported"]
    assert f"not tradable at {record['cost_bp']:.3f}".rstrip("0") in record["words"]
    assert ROWS["costly"].verdict([record])[1] is True


def test_pbo_of_noise_and_of_one_true_strategy() -> None:
    found = []
    for seed in range(12):
        returns = make_rng(seed, "pbo").standard_normal((1000, 100))
        found.append(float(pbo(returns)))
        returns[:, 0] += TRUE_SHARPE / np.sqrt(252)
        assert pbo(returns) < 0.3
    assert abs(np.mean(found) - 0.5) < 0.16  # sd 0.17 each
    assert ROWS["pbo-noise"].verdict([{"pbo": 0.45}, {"pbo": 0.5}])[1] is True
    assert ROWS["pbo-true"].verdict([{"pbo": 0.2}, {"pbo": 0.2}])[1] is False
