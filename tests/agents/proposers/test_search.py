"""The genetic search: typed, seeded, novel, and better than chance."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from alphaswarm.agents import Proposal, ProposalRequest
from alphaswarm.agents.proposers.search import (
    BREEDING,
    LOOKING_ROUND,
    MAX_DEPTH,
    MAX_NODES,
    SearchProposer,
    fittest,
    oriented,
    same_ranking,
)
from alphaswarm.agents.proposers.surrogate import SAME_IDEA, promising
from alphaswarm.dsl import parse
from alphaswarm.dsl.behaviour import behaviour

FIELDS = ("close", "dollar_volume", "returns", "sigma")


def propose(round_: int, history: list[dict[str, Any]], seed: int = 1, **more: Any) -> list[Proposal]:
    basis = {"count": 5, "fields": FIELDS, "groups": ("sector",), "rows": 2000, "horizon": 5}
    request = ProposalRequest(**(basis | {"seed": seed, "round": round_, "history": tuple(history)} | more))
    return list(asyncio.run(SearchProposer().propose(request)))


def judge(proposal: Proposal, t: float) -> dict[str, Any]:
    parsed = parse(proposal.expression)
    return {
        "text": proposal.expression,
        "expression": str(parsed),
        "digest": parsed.digest,
        "source": proposal.source,
        "metrics": {"rank_ic_t": t},
    }


def evolve(rounds: int, seed: int = 1, truth: str = "", **more: Any) -> list[dict[str, Any]]:
    """A run whose evidence is nine times the likeness to `truth`, and a little of the formula's own."""
    history: list[dict[str, Any]] = []
    for round_ in range(rounds):
        for proposal in propose(round_, history, seed, **more):
            formula = parse(proposal.expression)
            own = int(formula.digest[:6], 16) / 2**23 - 1
            likeness = behaviour([parse(truth), formula], FIELDS, ("sector",)) if truth else None
            history.append(judge(proposal, own if likeness is None else own + 9 * float(likeness[0] @ likeness[1])))
    return history


def test_the_first_population_is_published() -> None:
    history = evolve(3)
    assert [candidate["source"].split(":")[0] for candidate in history] == ["known"] * 10 + ["search"] * 5
    first = propose(0, [])[0]
    assert first.source == "known:reversal_5"
    assert "Lehmann 1990" in first.rationale


def test_the_same_request_gives_the_same_answer() -> None:
    history = evolve(5, truth="ts_mean(sigma, 20)")
    assert evolve(5, truth="ts_mean(sigma, 20)") == history
    assert evolve(5, seed=2, truth="ts_mean(sigma, 20)") != history
    assert propose(5, history) == propose(5, history)
    assert propose(5, history) != propose(6, history)


def test_children_are_short_valid_and_new() -> None:
    history = evolve(12, truth="ts_mean(sigma, 20)")
    keys = [same_ranking(parse(candidate["expression"])) for candidate in history]
    assert len(keys) == len(set(keys)) == 60
    bred = [candidate for candidate in history if candidate["source"].startswith("search:")]
    assert {candidate["source"].split(":")[1] for candidate in bred} <= {*BREEDING, "survey"}
    for candidate in bred:
        parsed = parse(candidate["expression"])
        assert parsed.nodes <= MAX_NODES
        assert parsed.depth <= MAX_DEPTH
        assert parsed.warmup <= 500
        assert set(parsed.fields) <= set(FIELDS)


def test_children_behave_in_a_new_way() -> None:
    history = evolve(12, truth="ts_mean(sigma, 20)")
    vectors = behaviour([parse(candidate["expression"]) for candidate in history], FIELDS, ("sector",))
    likeness = np.abs(vectors @ vectors.T)[10:]
    likeness[np.arange(len(likeness)), np.arange(10, len(history))] = 0.0
    assert likeness.max() < SAME_IDEA
    assert (np.linalg.norm(vectors[10:], axis=1) > 0.99).all()


def test_where_nothing_shows_evidence_it_looks_round() -> None:
    history = evolve(10)
    looked = [candidate["source"] == "search:survey" for candidate in history[10:]]
    assert all(looked)
    seen = {operator for candidate in history[10:] for operator in [parse(candidate["expression"]).op]}
    assert len(seen) >= 15
    assert propose(4, history)[0].rationale == LOOKING_ROUND


@pytest.mark.parametrize("truth", ["ts_corr(returns, sigma, 30)", "-ts_kurt(ts_mean(sigma, 3), 50)"])
def test_what_shows_evidence_is_followed_to_the_truth(truth: str) -> None:
    history = evolve(30, truth=truth, seed=3)
    found = [abs(candidate["metrics"]["rank_ic_t"]) for candidate in history]
    assert max(found[:10]) < promising(10)
    assert max(found) > 6.5


def test_parents_are_named() -> None:
    history = evolve(10, truth="ts_mean(sigma, 20)")
    known = {candidate["digest"] for candidate in history}
    children = propose(10, history, count=25)
    assert any(child.parents for child in children)
    for child in children:
        assert set(child.parents) <= known
        kind = child.source.split(":")[1]
        assert len(child.parents) == {"mutate": 1, "combine": 1, "crossover": 2}.get(kind, 0)


def test_residual_evidence_counts_before_rank_ic() -> None:
    history = evolve(2)
    weak = [candidate | {"metrics": {"rank_ic_t": 9.0, "evidence_z": 0.1}} for candidate in history]
    strong = [candidate | {"metrics": {"rank_ic_t": 0.1, "evidence_z": 9.0}} for candidate in history]
    alone = [candidate | {"metrics": {"rank_ic_t": 9.0}} for candidate in history]
    assert propose(3, strong) == propose(3, alone)
    assert propose(3, weak) != propose(3, alone)


def test_one_family_does_not_fill_the_pool() -> None:
    family = [judge(Proposal(f"-ts_sum(returns, {d})"), 4.0 + d / 1000) for d in range(5, 25)]
    stranger = judge(Proposal("ts_mean(close, 3)"), 3.0)
    pool = fittest([*family, stranger])
    assert stranger in pool
    assert len(pool) <= 3


def test_a_negative_parent_is_turned_round() -> None:
    assert str(oriented(judge(Proposal("ts_std(returns, 40)"), -6.0))) == "-ts_std(returns, 40)"
    assert str(oriented(judge(Proposal("-ts_std(returns, 40)"), -6.0))) == "ts_std(returns, 40)"
    assert str(oriented(judge(Proposal("ts_std(returns, 40)"), 6.0))) == "ts_std(returns, 40)"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("returns", "-returns"),
        ("cs_rank(returns)", "returns"),
        ("-cs_zscore(2 * returns)", "returns"),
        ("cs_rank(1 - cs_rank(returns / 3 + 4))", "returns"),
        ("ts_mean(returns, 5) * -1", "ts_mean(returns, 5)"),
        ("cs_rank(1 - cs_rank(returns) + 1 - cs_rank(close))", "cs_rank(close) + cs_rank(returns) - 5"),
        ("close - returns", "2 * (returns - close + 1)"),
    ],
)
def test_what_ranks_alike_is_known(one: str, other: str) -> None:
    assert same_ranking(parse(one)) == same_ranking(parse(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("abs(returns)", "returns"),
        ("1 / returns", "returns"),
        ("returns + close", "returns"),
        ("returns + close", "returns - close"),
        ("cs_rank(returns) + close", "returns + close"),
        ("ts_rank(returns, 5)", "returns"),
        ("returns * 0", "returns"),
    ],
)
def test_what_ranks_otherwise_is_not(one: str, other: str) -> None:
    assert same_ranking(parse(one)) != same_ranking(parse(other))


def lesson(expression: str, z: float, kind: str = "works") -> dict[str, Any]:
    return {"kind": kind, "expression": expression, "digest": "of another run", "text": "", "evidence_z": z}


def test_what_worked_in_earlier_runs_comes_after_the_published() -> None:
    lessons = (
        lesson("ts_mean(sigma, 15)", 4.0),
        lesson("cs_rank(ts_corr(returns, sigma, 25))", -6.0),
        lesson("ts_mean(sigma, 15) * 2", 3.5),
        lesson("ts_std(sigma, 15)", 0.3, "fails"),
        lesson("-ts_sum(returns, 5)", 5.0),
        lesson("ts_mean(market_cap, 5)", 5.0),
        lesson("ts_mean(sigma, 500)", 5.0),
        lesson("not a formula", 9.0),
        {"kind": "works"},
    )
    history = evolve(2, lessons=lessons)
    assert all(one["source"].startswith("known:") for one in history)
    third = propose(2, history, lessons=lessons)
    assert [(one.expression, one.source) for one in third[:2]] == [
        ("cs_rank(ts_corr(returns, sigma, 25))", "memory"),
        ("ts_mean(sigma, 15)", "memory"),
    ]
    assert {one.source.split(":")[0] for one in third[2:]} == {"search"}
    assert len(third) == 5


def test_lessons_are_proposed_once_and_then_bred_from() -> None:
    """The truth was found by an earlier run: this one begins with it."""
    lessons = (lesson("ts_corr(returns, sigma, 25)", 6.0),)
    history = evolve(12, truth="ts_corr(returns, sigma, 30)", lessons=lessons)
    assert [one["source"] for one in history].count("memory") == 1
    found = next(place for place, one in enumerate(history) if abs(one["metrics"]["rank_ic_t"]) > 6.5)
    assert history[found]["source"] == "memory"
    seed = history[found]["digest"]
    assert any(
        seed in child.parents
        for round_ in range(12, 16)
        for child in propose(round_, history, lessons=lessons, count=25)
    )


def test_it_stops_where_nothing_is_left() -> None:
    """On one row only what needs no history is left: today's return, and little besides."""
    history: list[dict[str, Any]] = []
    while children := propose(len(history), history, fields=("returns",), groups=(), rows=1):
        history += [judge(child, 0.1) for child in children]
        assert len(history) < 60
    assert len(history) > 0
