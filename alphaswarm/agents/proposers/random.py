"""The control: expressions drawn at random, which learn from nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from alphaswarm.agents.proposers.base import PROPOSERS, Proposal, ProposalRequest
from alphaswarm.core.runtime import make_rng
from alphaswarm.dsl import random_expr

__all__ = ["RandomProposer"]

TRIES = 200


class RandomProposer:
    """Draws from the grammar; any other proposer should beat it at equal budget."""

    name = "random"
    notice = "no LLM: random expressions"
    batch = 5
    uses_memory = False

    async def start(self) -> None:
        """Nothing is needed."""

    async def close(self) -> None:
        """Nothing is held."""

    async def propose(self, request: ProposalRequest) -> Sequence[Proposal]:
        """`request.count` expressions that this run has not had."""
        rng = make_rng(request.seed, "propose", request.round)
        had = {candidate.get("digest") for candidate in request.history}
        proposals: list[Proposal] = []
        for _ in range(TRIES):
            if len(proposals) == request.count:
                break
            drawn = random_expr(rng, request.fields, request.groups)
            if drawn.digest not in had:
                had.add(drawn.digest)
                proposals.append(Proposal(str(drawn), "drawn at random", "random"))
        return proposals


@PROPOSERS.register("random")
def _make(environ: Mapping[str, str], directory: Path) -> RandomProposer:  # noqa: ARG001 - needs nothing
    return RandomProposer()
