"""The genetic search: typed, seeded, novel, and better than chance."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from alphaswarm.agents import Proposal, ProposalRequest
from alphaswarm.agents.proposers.search import BREEDING, DULL, MAX_DEPTH, MAX_NODES, SearchProposer, same_ranking
from alphaswarm.dsl import operators, parse

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


def evolve(rounds: int, seed: int = 1, **more: Any) -> list[dict[str, Any]]:
    """A run whose evidence rewards formulas by how many `sigma` they hold, which is easy to see."""
    history: list[dict[str, Any]] = []
    for round_ in range(rounds):
        for proposal in propose(round_, history, seed, **more):
            leaves = proposal.expression.count("sigma")
            history.append(judge(proposal, leaves + len(proposal.expression) / 1000))
    return history


def test_the_first_population_is_published() -> None:
    history = evolve(3)
    assert [candidate["source"].split(":")[0] for candidate in history] == ["known"] * 10 + ["search"] * 5
    first = propose(0, [])[0]
    assert first.source == "known:reversal_5"
    assert "Lehmann 1990" in first.rationale


def test_the_same_request_gives_the_same_answer() -> None:
    history = evolve(4)
    assert evolve(4) == history
    assert evolve(4, seed=2) != history
    assert propose(5, history) == propose(5, history)
    assert propose(5, history) != propose(6, history)


def test_children_are_short_valid_and_new() -> None:
    history = evolve(24)
    keys = [same_ranking(parse(candidate["expression"])) for candidate in history]
    assert len(keys) == len(set(keys)) == 120
    bred = [candidate for candidate in history if candidate["source"].startswith("search:")]
    assert {candidate["source"].split(":")[1] for candidate in bred} == set(BREEDING)
    for candidate in bred:
        parsed = parse(candidate["expression"])
        assert parsed.nodes <= MAX_NODES
        assert parsed.depth <= MAX_DEPTH
        assert parsed.warmup <= 500
        assert set(parsed.fields) <= set(FIELDS)


def test_parents_are_named() -> None:
    history = evolve(12)
    known = {candidate["digest"] for candidate in history}
    children = propose(12, history, count=20)
    assert any(child.parents for child in children)
    for child in children:
        assert set(child.parents) <= known
        kind = child.source.split(":")[1]
        assert len(child.parents) == {"mutate": 1, "combine": 1, "crossover": 2}.get(kind, 0)


def test_selection_works() -> None:
    history = evolve(20)
    early = [c["metrics"]["rank_ic_t"] for c in history[10:35]]
    late = [c["metrics"]["rank_ic_t"] for c in history[-25:]]
    assert sum(late) > 1.5 * sum(early)


def test_one_family_does_not_fill_the_pool() -> None:
    family = [judge(Proposal(f"-ts_sum(returns, {d})"), 4.0 + d / 1000) for d in range(5, 25)]
    stranger = judge(Proposal("ts_mean(close, 3)"), 3.0)
    children = propose(0, [*family, stranger], count=60, rows=400, fields=("close", "returns"))
    bred = [child for child in children if child.source == "search:mutate"]
    assert sum(stranger["digest"] in child.parents for child in bred) >= 2


def test_a_negative_parent_is_turned_round() -> None:
    history = [judge(Proposal("ts_std(returns, 40)", source="known:reversal_5"), -6.0)]
    children = propose(0, history, count=40, fields=("returns",), rows=400)
    texts = [child.expression for child in children if child.source == "search:combine"]
    assert texts
    assert all("-ts_std(returns, 40)" in text for text in texts)


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


def test_it_stops_where_nothing_is_left() -> None:
    assert propose(0, [], fields=("returns",), rows=1) == []


def test_the_list_of_dull_operators_is_of_the_table() -> None:
    assert set(operators()) >= DULL
