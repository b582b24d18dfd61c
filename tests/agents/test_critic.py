"""Rules of the critic."""

from __future__ import annotations

from typing import Any

import pytest

from alphaswarm.agents.critic import criticise

FINE: dict[str, Any] = {
    "rank_ic": 0.02,
    "rank_ic_t": 4.0,
    "turnover": 0.2,
    "breakeven_bp": 12.0,
    "coverage": 0.99,
    "sharpe": 1.2,
    "decay": {"1": {"rank_ic": 0.02, "t": 3.0}, "20": {"rank_ic": 0.01, "t": 2.0}},
}


def test_nothing_to_say() -> None:
    assert criticise(FINE).text == "no fault found by the rules"


@pytest.mark.parametrize(
    ("change", "text", "advice"),
    [
        ({"rank_ic_t": 1.5}, "weak: RankIC t 1.50", "leave this idea"),
        ({"rank_ic_t": -2.5, "sharpe": None}, "under 3", "vary the window"),
        ({"evidence_z": 1.5}, "weak: evidence z 1.50", "leave this idea"),
        ({"evidence_z": -4.0, "breakeven_bp": 12.0}, "earns nothing before costs", "direction"),
        ({"evidence_z": 4.0, "evidence": -0.01}, "RankIC 0.0200, evidence -0.0100, Sharpe 1.20", "volatility"),
        ({"rank_ic_t": None, "missing": {"rank_ic_t": "all ties"}}, "no evidence: all ties", "shorter windows"),
        ({"turnover": 1.3, "breakeven_bp": 1.2}, "pays for 1.2 bp only", "slow it down"),
        ({"turnover": 0.1, "breakeven_bp": 1.2}, "pays for 1.2 bp only", "slow already"),
        ({"breakeven_bp": -3.0}, "earns nothing before costs", "direction"),
        ({"coverage": 0.4}, "covers 40 % of the names", "min_obs"),
        ({"sharpe": -0.45}, "ranks and money disagree", "volatility"),
        (
            {"decay": {"1": {"rank_ic": 0.01, "t": 2.5}, "20": {"rank_ic": -0.012, "t": -3}}},
            "turns its sign",
            "split them",
        ),
    ],
)
def test_each_rule(change: dict[str, Any], text: str, advice: str) -> None:
    found = criticise(FINE | change)
    assert text in found.text
    assert advice in found.advice
    assert found == criticise(FINE | change)


def test_a_negation_is_recognised() -> None:
    earlier = [{"digest": "abcdef0123456789", "metrics": FINE | {"rank_ic": -0.02}}]
    assert criticise(FINE, earlier).text.startswith("it ranks like candidate abcdef012345")
    other = [{"digest": "abcdef0123456789", "metrics": FINE | {"turnover": 0.3}}, {"digest": "x", "status": "failed"}]
    assert "ranks like" not in criticise(FINE, other).text


def test_missing_figures_are_no_fault() -> None:
    assert criticise({"rank_ic": 0.02, "rank_ic_t": 3.4}).text == "no fault found by the rules"


def test_a_negative_factor_is_judged_as_its_negation() -> None:
    turned = FINE | {"rank_ic": -0.02, "rank_ic_t": -4.0, "breakeven_bp": -12.0, "sharpe": -1.2}
    assert criticise(turned) == criticise(FINE)


def test_a_change_of_sign_that_may_be_chance_is_no_fault() -> None:
    assert criticise(FINE | {"decay": {"1": {"t": 2.5}, "20": {"t": -1.0}}}) == criticise(FINE)


@pytest.mark.parametrize(
    ("change", "candidate", "text", "advice"),
    [
        ({"rank_ic": 0.13, "ic": 0.11}, {}, "too good: a mean daily IC of 0.130", "before the data are checked"),
        ({"turnover": 0.0002}, {}, "constant output: turnover 0.0002", "a change or a deviation"),
        ({"turnover": 1.3}, {}, "turns over 1.30 of the book", "slow it down"),
        (
            {},
            {"nearest": {"of": "behaviour", "digest": "ab" * 32, "likeness": 0.83}},
            "crowded: it behaves like",
            "new",
        ),
        ({}, {"warnings": ["+ needs one unit, got price and shares"]}, "doubtful units: + needs", "like with like"),
        ({}, {"sign": -1}, "other sign: high values earn higher returns", "say why"),
        ({"rank_ic_t": -4.0}, {"sign": 1}, "other sign: high values earn lower returns", "say why"),
        (
            {},
            {"expression": "ts_mean(close, 1) / ts_sum(volume, 1)"},
            "dead window: ts_mean, ts_sum over one day",
            "two",
        ),
        ({}, {"expression": "ts_mean(delay(close, 100), 50)"}, "needs 149 earlier rows of the panel's 400", "shorter"),
    ],
)
def test_who_reads_advice_is_told_more(
    change: dict[str, Any], candidate: dict[str, Any], text: str, advice: str
) -> None:
    metrics = FINE | change
    found = criticise(metrics, candidate={"expression": "close"} | candidate, rows=400)
    assert text in found.text
    assert advice in found.advice.replace("is not in the memory yet", "new")
    assert text not in criticise(metrics).text


def test_a_sound_candidate_is_told_nothing_more() -> None:
    sound = {
        "expression": "-ts_sum(returns, 5)",
        "warnings": [],
        "sign": 1,
        "nearest": {"of": "structure", "digest": "ab", "likeness": 1.0},
    }
    assert criticise(FINE, candidate=sound, rows=400) == criticise(FINE)
    assert criticise(FINE, candidate={"expression": "no expression ("}, rows=400) == criticise(FINE)
    assert criticise(FINE | {"rank_ic_t": 1.0}, candidate=sound | {"sign": -1}).text.startswith("weak")
