"""The control."""

from __future__ import annotations

import asyncio
from typing import Any

from alphaswarm.agents import ProposalRequest
from alphaswarm.agents.proposers.random import RandomProposer
from alphaswarm.dsl import parse


def request(**more: Any) -> ProposalRequest:
    basis = {"seed": 1, "round": 0, "count": 5, "fields": ("close", "volume"), "groups": (), "rows": 500, "horizon": 5}
    return ProposalRequest(**(basis | more))


def test_it_draws_by_seed_and_round_only() -> None:
    proposer = RandomProposer()
    first = asyncio.run(proposer.propose(request()))
    assert first == asyncio.run(RandomProposer().propose(request()))
    assert first != asyncio.run(proposer.propose(request(round=1)))
    assert first != asyncio.run(proposer.propose(request(seed=2)))
    assert len({parse(proposal.expression).digest for proposal in first}) == 5


def test_what_the_run_had_is_not_drawn_again() -> None:
    first = asyncio.run(RandomProposer().propose(request()))
    had = ({"digest": parse(first[0].expression).digest},)
    assert first[0].expression not in {
        p.expression for p in asyncio.run(RandomProposer().propose(request(history=had)))
    }
