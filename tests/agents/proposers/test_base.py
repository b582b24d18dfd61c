"""The register, and the values that cross the border of a proposer."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from alphaswarm.agents import Proposal, ProposalRequest
from alphaswarm.agents.proposers import PROPOSERS
from alphaswarm.core import UnknownName


def test_the_register() -> None:
    assert list(PROPOSERS) == ["hybrid", "llm", "random", "search"]
    with pytest.raises(UnknownName, match="hybrid, llm, random, search"):
        PROPOSERS["none"]
    with pytest.raises(ValueError, match="already"):
        PROPOSERS.register("random")(PROPOSERS["random"])


def test_values_are_frozen() -> None:
    request = ProposalRequest(seed=1, round=0, count=1, fields=("close",), groups=(), rows=9, horizon=5)
    with pytest.raises(FrozenInstanceError):
        request.seed = 2  # type: ignore[misc]
    with pytest.raises(TypeError):
        Proposal("close").spent["calls"] = 1  # type: ignore[index]
