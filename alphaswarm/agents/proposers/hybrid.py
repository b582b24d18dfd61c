"""A language model and a genetic search, and a bandit between them.

The model begins, and brings ideas; the search breeds from whatever is strongest, the model's formulas included; and
the strongest are refined in their windows and constants. Which of the three is used for a round is decided by what
each has brought so far, and that is read from the run's history: nothing else is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alphaswarm.agents.proposers.bandit import thompson
from alphaswarm.agents.proposers.base import PROPOSERS, Proposal, ProposalRequest, Proposer
from alphaswarm.agents.proposers.refine import refine
from alphaswarm.agents.proposers.search import SearchProposer
from alphaswarm.agents.reviewer import Review, Reviewer
from alphaswarm.agents.state import strength
from alphaswarm.core.runtime import make_rng

if TYPE_CHECKING:
    from alphaswarm.agents.critic import Critique

__all__ = ["ARMS", "HybridProposer", "gains"]

MODEL, SEARCH, REFINE = ARMS = ("llm", "search", "refine")
# |t| that chance gives one formula in twenty: reaching less than that is no gain.
CHANCE_T = 2.0
REFINED = 3


class HybridProposer:
    """Thompson sampling over a model, a genetic search and refinement; a pure function of the request.

    Args:
        model: asks a language model, one proposal at a time.
        search: what breeds.
    """

    name = "hybrid"
    batch = 5
    uses_memory = True

    def __init__(self, model: Proposer, search: Proposer) -> None:
        self._model = model
        self._search = search

    @property
    def notice(self) -> str:
        """Which model, and what else."""
        return f"{self._model.notice}; with a seeded genetic search, by what each brings"

    @property
    def reviewer(self) -> Reviewer | None:
        """Who reads the model's own candidates after the fixed rules; None for nobody."""
        reader: Reviewer | None = getattr(self._model, "reviewer", None)
        return reader and _ModelsOnly(reader)

    async def start(self) -> None:
        """Probe the endpoint."""
        await self._model.start()
        await self._search.start()

    async def close(self) -> None:
        """Give back the connections."""
        await self._model.close()
        await self._search.close()

    async def propose(self, request: ProposalRequest) -> Sequence[Proposal]:
        """The batch of the arm that is drawn; of the next one where an arm has nothing to offer."""
        for arm in _order(request):
            made = await self._of(arm, request)
            if made:
                return [_signed(proposal, request.history) for proposal in made]
        return []

    async def _of(self, arm: str, request: ProposalRequest) -> Sequence[Proposal]:
        if arm == MODEL:
            return await self._model.propose(replace(request, count=1))
        if arm == SEARCH:
            return await self._search.propose(request)
        return refine(request, min(request.count, REFINED))


class _ModelsOnly:
    """Passes by what the search made: it reads no advice, and each reading is a call."""

    def __init__(self, reader: Reviewer) -> None:
        self._reader = reader

    async def review(self, candidate: Mapping[str, Any], critique: Critique, spent: Mapping[str, float]) -> Review:
        """As the model's reviewer does, or nothing."""
        if candidate.get("source") != MODEL:
            return Review("", "")
        return await self._reader.review(candidate, critique, spent)


def gains(request: ProposalRequest) -> dict[str, list[float]]:
    """What each trial of each arm brought: by how much its |t| is above all before it, and above what chance gives.

    A failure brought nothing, nor did a round of which nothing is left because the run had it all. Published formulas
    and those of memory are no arm's merit, but what comes later is held against them too.
    """
    found: dict[str, list[float]] = {arm: [] for arm in ARMS}
    rounds: dict[int, list[Mapping[str, Any]]] = {}
    for candidate in request.history:
        rounds.setdefault(int(candidate.get("round", 0)), []).append(candidate)
    best = CHANCE_T
    for place in range(request.round):
        if place not in rounds:
            found[_drawn(found, request.seed, place)[0]].append(0.0)
        for candidate in rounds.get(place, ()):
            reached = abs(strength(candidate.get("metrics")) or 0.0)
            arm = _arm(str(candidate.get("source", "")))
            if arm:
                found[arm].append(max(reached - best, 0.0))
            best = max(best, reached)
    return found


def _order(request: ProposalRequest) -> tuple[str, ...]:
    return _drawn(gains(request), request.seed, request.round)


def _drawn(gained: Mapping[str, Sequence[float]], seed: int, round_: int) -> tuple[str, ...]:
    """The model begins, since nothing is there to breed from."""
    return ARMS if round_ == 0 else thompson(gained, make_rng(seed, "propose", round_, "arm"))


def _arm(source: str) -> str:
    """Which arm a candidate came from; empty where it was none."""
    made = [part for part in source.split(":")[:2] if part in ARMS]
    return made[-1] if made else ""


def _signed(proposal: Proposal, history: Sequence[Mapping[str, Any]]) -> Proposal:
    """What descends from the model's formulas says so: its verdicts must be guarded as the model's own are."""
    models = {c.get("digest") for c in history if str(c.get("source", "")).startswith(MODEL)}
    if proposal.source.startswith(MODEL) or models.isdisjoint(proposal.parents):
        return proposal
    return replace(proposal, source=f"{MODEL}:{proposal.source}")


@PROPOSERS.register("hybrid")
def _make(environ: Mapping[str, str], directory: Path) -> HybridProposer:
    return HybridProposer(PROPOSERS["llm"](environ, directory), SearchProposer())
