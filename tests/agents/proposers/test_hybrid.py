"""A model, a search, and the bandit between them. No model is behind any of it: the endpoint is scripted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alphaswarm.agents import Proposal, ProposalRequest, make_proposer
from alphaswarm.agents.critic import Critique
from alphaswarm.agents.proposers.hybrid import ARMS, HybridProposer, gains
from alphaswarm.agents.proposers.search import SearchProposer
from alphaswarm.agents.reviewer import Review
from alphaswarm.core import ProviderError
from alphaswarm.core.runtime import make_rng
from alphaswarm.dsl import parse, random_expr

FIELDS = ("close", "returns", "sigma", "volume")


class Model:
    """Stands for the model's proposer: says what `idea` gives for the round."""

    name, notice, batch, uses_memory = "llm", "LLM none", 1, True

    def __init__(self, idea: Callable[[int], Proposal]) -> None:
        self._idea = idea
        self.requests: list[ProposalRequest] = []

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def propose(self, request: ProposalRequest) -> list[Proposal]:
        self.requests.append(request)
        return [self._idea(request.round)]


class Silent(SearchProposer):
    """A search that has nothing left."""

    async def propose(self, request: ProposalRequest) -> Sequence[Proposal]:
        return []


def drawn(round_: int) -> Proposal:
    return Proposal(str(random_expr(make_rng(9, "model", round_), FIELDS)), source="llm")


def failing(_round: int) -> Proposal:
    return Proposal("", source="llm", failure="no expression")


def request(round_: int, history: Sequence[dict[str, Any]], seed: int = 1, **more: Any) -> ProposalRequest:
    basis = {"count": 5, "fields": FIELDS, "groups": ("sector",), "rows": 2000, "horizon": 5}
    return ProposalRequest(**(basis | {"seed": seed, "round": round_, "history": tuple(history)} | more))


def record(proposal: Proposal, round_: int, t: float | None) -> dict[str, Any]:
    found: dict[str, Any] = {"round": round_, "text": proposal.expression, "source": proposal.source}
    if proposal.failure:
        return found | {"status": "failed"}
    parsed = parse(proposal.expression)
    return found | {"expression": str(parsed), "digest": parsed.digest, "metrics": {"evidence_z": t}}


def evolve(idea: Callable[[int], Proposal], worth: Callable[[str, int], float], rounds: int) -> list[dict[str, Any]]:
    """A run in which a candidate of an arm shows what `worth` says of the arm and the round."""
    hybrid = HybridProposer(Model(idea), SearchProposer())
    history: list[dict[str, Any]] = []
    for round_ in range(rounds):
        for made in asyncio.run(hybrid.propose(request(round_, history))):
            arm = next((part for part in reversed(made.source.split(":")) if part in ARMS), "known")
            history.append(record(made, round_, worth(arm, len(history))))
    return history


def rounds_by(history: list[dict[str, Any]], first: int = 0) -> Counter[str]:
    found = {one["round"]: one["source"] for one in history if one["round"] >= first}
    return Counter("llm" if source == "llm" else "other" for source in found.values())


def test_the_model_begins_and_is_asked_for_one() -> None:
    model = Model(drawn)
    made = asyncio.run(HybridProposer(model, SearchProposer()).propose(request(0, [])))
    assert [one.source for one in made] == ["llm"]
    assert [asked.count for asked in model.requests] == [1]


def test_gains_are_what_was_reached_beyond_all_before() -> None:
    history = [
        {"round": 0, "source": "llm", "metrics": {"evidence_z": -3.0}},
        {"round": 1, "source": "known:reversal_5", "metrics": {"evidence_z": 3.5}},
        {"round": 1, "source": "search:mutate", "metrics": {"evidence_z": 5.0}},
        {"round": 1, "source": "llm:search:crossover", "metrics": {"evidence_z": 4.0}},
        {"round": 2, "source": "llm:refine", "metrics": {"evidence_z": -5.5}},
        {"round": 2, "source": "refine", "metrics": {"rank_ic_t": None}},
        {"round": 3, "source": "llm", "status": "failed"},
        {"round": 3, "source": "memory", "metrics": {"evidence_z": 7.0}},
    ]
    found = gains(request(4, history))
    assert found == {"llm": [1.0, 0.0], "search": [1.5, 0.0], "refine": [0.5, 0.0]}
    assert gains(request(0, [])) == {"llm": [], "search": [], "refine": []}
    weak = [{"round": 0, "source": "llm", "metrics": {"evidence_z": 1.9}}]
    assert gains(request(1, weak))["llm"] == [0.0]


def test_a_round_that_left_nothing_brought_nothing() -> None:
    """Whose it was is drawn again: the same history gives the same arm."""
    history = [{"round": 0, "source": "llm", "metrics": {"evidence_z": 3.0}}]
    before, after = gains(request(5, history)), gains(request(6, history))
    assert sum(map(len, before.values())) == 5
    grown = [arm for arm in ARMS if len(after[arm]) > len(before[arm])]
    assert len(grown) == 1
    assert after[grown[0]][-1] == 0.0
    assert gains(request(6, history)) == after


def test_the_same_request_gives_the_same_answer() -> None:
    history = evolve(drawn, lambda arm, n: 2.0 + 0.1 * (n % 7), 8)
    assert history == evolve(drawn, lambda arm, n: 2.0 + 0.1 * (n % 7), 8)
    hybrid = HybridProposer(Model(drawn), SearchProposer())
    one, other = (asyncio.run(hybrid.propose(request(8, history, seed))) for seed in (1, 1))
    assert one == other


def test_a_useless_model_is_asked_less_and_a_good_one_more() -> None:
    useless = evolve(failing, lambda arm, n: 2.0 + 0.2 * n, 24)
    good = evolve(drawn, lambda arm, n: 2.0 + 0.4 * n if arm == "llm" else 1.0, 24)
    assert rounds_by(useless, 8)["llm"] <= 4
    assert rounds_by(good, 8)["llm"] >= 12


def test_what_descends_from_the_model_says_so() -> None:
    history = evolve(drawn, lambda arm, n: 4.0 + 0.01 * n if arm == "llm" else 3.5, 24)
    models = {one["digest"] for one in history if one["source"].startswith("llm")}
    sources = {one["source"] for one in history}
    assert any(source.startswith(("llm:search:", "llm:refine")) for source in sources)
    hybrid = HybridProposer(Model(drawn), SearchProposer())
    for round_ in range(24, 34):
        for made in asyncio.run(hybrid.propose(request(round_, history))):
            if made.source != "llm":
                assert made.source.startswith("llm:") == bool(models & set(made.parents))


class Reader:
    """Stands for the model's reviewer."""

    async def review(self, candidate: Any, critique: Critique, spent: Any) -> Review:
        return Review("doubtful", "less of it", {"calls": 1})


def test_only_the_models_own_candidates_are_reviewed() -> None:
    model = Model(drawn)
    assert HybridProposer(model, SearchProposer()).reviewer is None
    model.reviewer = Reader()  # type: ignore[attr-defined]
    reviewer = HybridProposer(model, SearchProposer()).reviewer
    assert reviewer is not None
    said = {
        source: asyncio.run(reviewer.review({"source": source}, Critique("", ""), {})).text
        for source in ("llm", "llm:search:mutate", "refine", "known:reversal_5")
    }
    assert said == {"llm": "doubtful", "llm:search:mutate": "", "refine": "", "known:reversal_5": ""}


def test_an_arm_without_anything_to_offer_is_passed_over() -> None:
    hybrid = HybridProposer(Model(drawn), Silent())
    history = [record(Proposal("cs_rank(close)", source="llm"), 0, 4.0)]  # nothing in it can be refined
    for round_ in range(1, 12):
        assert [one.source for one in asyncio.run(hybrid.propose(request(round_, history)))] == ["llm"]


def test_without_an_endpoint_it_fails_as_the_model_does(tmp_path: Path) -> None:
    said = []
    for name in ("llm", "hybrid"):
        proposer = make_proposer(name, {}, tmp_path / name)
        with pytest.raises(ProviderError) as caught:
            asyncio.run(proposer.start())
        asyncio.run(proposer.close())
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_a_whole_run(new_study: Any, scripted: Any) -> None:
    """The scripted endpoint draws formulas; every trial is measured, and the same run again is the same."""
    formulas = [str(random_expr(np.random.default_rng(n), ("close", "returns", "volume"))) for n in range(40)]

    def results() -> list[tuple[str, str]]:
        study = new_study()
        model = scripted(*(scripted.propose(one, "drawn") for one in formulas))
        environ = {"ALPHASWARM_LLM_BASE_URL": model.url, "ALPHASWARM_LLM_MODEL": "scripted"}
        run = study.start("hybrid", budget=15)
        proposer = make_proposer("hybrid", environ, study.workspace.path / "runs" / run)
        assert proposer.notice == "LLM scripted; with a seeded genetic search, by what each brings"
        found = study.research(run, proposer)
        assert found["outcome"] == "complete"
        assert found["spent"]["calls"] >= 2
        return [(one["source"], one["text"]) for one in found["candidates"]]

    first = results()
    assert first[0] == ("llm", formulas[0])
    assert {source.split(":")[0] for source, _ in first} >= {"llm", "known"}
    assert results() == first
