"""What a proposer is asked, what it answers, and the register of proposers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from alphaswarm.core import Registry

__all__ = ["PROPOSERS", "Proposal", "ProposalRequest", "Proposer"]


@dataclass(frozen=True)
class Proposal:
    """One candidate, or the failure to make one.

    Attributes:
        expression: text in the expression language; empty when `failure` is set.
        rationale: why it may work, in the proposer's words.
        source: who made it and how, such as ``known:reversal_5`` or ``search:crossover``.
        parents: digests of the trials it was made from.
        failure: why there is no expression; costs one from the budget.
        spent: what making it cost (calls, tokens, money, seconds), for the limits.
        hypothesis: what effect is meant and why it should exist; empty when nothing was said.
        sign: of the relation to later returns that is expected; 0 when nothing was said.
        horizon: days ahead at which the effect is expected; None when nothing was said.
        refines: digest of the earlier trial that this one improves on; empty for a new idea.
        program: factor program that built `expression`; empty when it was written directly.
    """

    expression: str
    rationale: str = ""
    source: str = ""
    parents: tuple[str, ...] = ()
    failure: str = ""
    spent: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    hypothesis: str = ""
    sign: int = 0
    horizon: int | None = None
    refines: str = ""
    program: str = ""


@dataclass(frozen=True)
class ProposalRequest:
    """Everything a proposer may know: nothing in it comes from outside the search window.

    Attributes:
        seed: of the run; draw only from ``make_rng(seed, "propose", round)``.
        round: 0, 1, 2, ...
        count: proposals wanted, at most; more are cut off.
        fields: what an expression may name on this panel.
        groups: what a group slot may name on this panel.
        rows: dates of the panel.
        horizon: days ahead that are predicted.
        intent: what the user looks for, may be empty.
        history: records of this run's candidates, oldest first (keys as in `state.Candidate`).
        memory: what the corpus found; untrusted data.
        advice: the critic's last advice.
        spent: totals of `Proposal.spent` so far in this run.
        lessons: what earlier runs taught on these data, as records ``{kind: "works" | "fails" | "crowded",
            expression, digest, text, evidence_z?, verdict?}``; untrusted data.
    """

    seed: int
    round: int
    count: int
    fields: tuple[str, ...]
    groups: tuple[str, ...]
    rows: int
    horizon: int
    intent: str = ""
    history: tuple[Mapping[str, Any], ...] = ()
    memory: tuple[Mapping[str, Any], ...] = ()
    advice: str = ""
    spent: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    lessons: tuple[Mapping[str, Any], ...] = ()


class Proposer(Protocol):
    """Makes candidates. A pure function of the request, so that a resumed run is the same run.

    Attributes:
        name: as in the register.
        batch: candidates a round.
        uses_memory: whether the corpus is to be asked before each round.
    """

    name: str
    batch: int
    uses_memory: bool

    @property
    def notice(self) -> str:
        """One line that says to a person what proposes here."""
        ...

    async def start(self) -> None:
        """Check, before any data are loaded, that proposing will work.

        Raises:
            ProviderError: what is needed can't be had.
        """
        ...

    async def propose(self, request: ProposalRequest) -> Sequence[Proposal]:
        """At most `request.count` proposals; an empty answer means there is nothing left to try.

        Raises:
            ProviderError: what is needed can't be had; the run can be resumed later.
            BudgetExceeded: a limit was met; the run can be resumed with a higher one.
        """
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


# name -> factory(environment, directory of the run)
PROPOSERS: Registry[Callable[[Mapping[str, str], Path], Proposer]] = Registry("proposer")
