"""The proposer that asks a language model, and believes nothing it says before it is checked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from alphaswarm.agents.gbnf import reply_grammar
from alphaswarm.agents.hypothesis import mismatches
from alphaswarm.agents.llm import LlmClient, LlmReply, add_spent
from alphaswarm.agents.proposers.base import PROPOSERS, Proposal, ProposalRequest
from alphaswarm.agents.proposers.prompt import REPLY_SCHEMA, first_messages, known_ids, repair_message
from alphaswarm.agents.replies import first_object, plain
from alphaswarm.agents.reviewer import LlmReviewer, Reviewer
from alphaswarm.core.errors import ExpressionError, ProviderError
from alphaswarm.core.runtime import make_rng
from alphaswarm.dsl import Expr, build, operators, parse

__all__ = ["LlmProposer"]

REPAIRS = 2
OPENINGS = 10
TEMPERATURE, WARMER = 0.8, 0.15
MAX_RATIONALE = 500
# Longer than any expression or program may be, so that what is cut off stays refused.
MAX_EXPRESSION, MAX_PROGRAM = 5000, 20_000
ECHOED = 600
LONGEST_HORIZON = 252
SIGNS = {"1": 1, "+1": 1, "-1": -1}


class LlmProposer:
    """One proposal a round, so that each may learn from the last one's critique.

    A reply that can't be read, parsed or is no new idea is sent back with what was wrong, twice at
    most. What still has no expression then is a failure, which costs one from the budget. A
    hypothesis that its expression does not bear out is sent back once, and noted where it stays so.

    Args:
        client: the model.

    Attributes:
        reviewer: reads measured candidates; None for nobody.
    """

    name = "llm"
    batch = 1
    uses_memory = True

    def __init__(self, client: LlmClient) -> None:
        self._client = client
        self.reviewer: Reviewer | None = LlmReviewer(client)

    @property
    def notice(self) -> str:
        """Which model, and once it was asked, how its replies are constrained."""
        if not self._client.started:
            return f"LLM {self._client.model}".rstrip()
        return f"LLM {self._client.model}, replies constrained by {self._client.rung}"

    async def start(self) -> None:
        """Probe the endpoint."""
        await self._client.start()

    async def close(self) -> None:
        """Give back the connections."""
        await self._client.close()

    async def propose(self, request: ProposalRequest) -> Sequence[Proposal]:
        """Ask, check, ask again; see the class."""
        messages = first_messages(request)
        rng = make_rng(request.seed, "propose", request.round)
        # The probe was paid for by the first round.
        spent = dict(self._client.start_spent) if request.round == 0 else {}
        fault, made, sound = "", Proposal(""), None
        for attempt in range(1 + REPAIRS):
            reply = await self._client.ask(
                messages,
                schema=REPLY_SCHEMA,
                grammar=reply_grammar(
                    request.fields, request.groups, first=_openings(rng), refines=sorted(known_ids(request))
                ),
                temperature=round(TEMPERATURE + WARMER * attempt, 2),
                seed=int(rng.integers(2**31)),
                spent=add_spent(request.spent, spent),
            )
            spent = add_spent(spent, reply.spent)
            fault, answer = _answer(reply)
            if not fault:
                # Once more: what is written in escapes is read only now.
                plainly = {name: self._client.scrub(said) for name, said in answer.items() if isinstance(said, str)}
                fault, made = await _proposal({**answer, **plainly}, request)
            if not fault:
                fault = " ".join(mismatches(made.hypothesis, parse(made.expression), made.sign, request.fields))
                if not fault or sound is not None:
                    sound = _noted(made, fault)
                    break
                sound = _noted(made, fault)
            elif sound is not None:  # asked only for its hypothesis, and became worse
                break
            messages = [*messages, {"role": "assistant", "content": reply.text[:ECHOED]}, repair_message(fault)]
        made = sound or made
        if not made.expression:
            return [Proposal("", source="llm", failure=f"the model gave no expression: {fault}", spent=spent)]
        return [replace(made, spent=spent)]


def _openings(rng: np.random.Generator) -> list[str]:
    """Operators that a reply under a grammar may begin with: weak models repeat themselves where they can."""
    return [str(name) for name in rng.choice(sorted(operators()), OPENINGS, replace=False)]


def _answer(reply: LlmReply) -> tuple[str, Mapping[str, Any]]:
    """What is wrong with the reply (empty when nothing), and the object in it."""
    if reply.finish == "refusal":
        return "You declined; this is research on public market data.", {}
    if reply.finish == "length":
        return "The reply was cut off; answer in fewer words.", {}
    found = first_object(reply.text, "expression")
    if found is None:
        return "The reply holds no JSON object.", {}
    if not (_text(found, "expression") or _text(found, "program")):
        return 'The JSON object must have the text "expression", or a "program" instead.', {}
    return "", found


async def _proposal(answer: Mapping[str, Any], request: ProposalRequest) -> tuple[str, Proposal]:
    """What is wrong with what was proposed (empty when nothing), and the proposal as far as there is one."""
    said = answer.get("hypothesis") or answer.get("rationale")
    hypothesis = plain(said, MAX_RATIONALE)
    sign, horizon = answer.get("sign"), answer.get("horizon")
    earlier = known_ids(request).get(_text(answer, "refines"), "")
    made = Proposal(
        _text(answer, "expression")[:MAX_EXPRESSION],
        hypothesis,
        "llm",
        parents=(earlier,) if earlier else (),
        hypothesis=hypothesis,
        sign=SIGNS.get(str(sign).strip(), 0),
        horizon=horizon if type(horizon) is int and 1 <= horizon <= LONGEST_HORIZON else None,
        refines=earlier,
    )
    try:
        if not made.expression:
            program = _text(answer, "program")[:MAX_PROGRAM]
            # In a thread, since a program may take its full seconds and the server lives in this loop.
            built = await asyncio.to_thread(build, program)
            made = replace(made, expression=str(built), program=program)
        return _fault(parse(made.expression), request), made
    except ExpressionError as error:
        return error.pointed(), made
    except ProviderError as error:
        return f"{error}; give an expression instead of a program.", made


def _text(answer: Mapping[str, Any], name: str) -> str:
    value = answer.get(name)
    return value.strip() if isinstance(value, str) else ""


def _fault(parsed: Expr, request: ProposalRequest) -> str:
    """Why the expression is of no use, in words the model can act on; empty when it is fine."""
    unknown = sorted(set(parsed.fields) - set(request.fields)) + sorted(set(parsed.groups) - set(request.groups))
    if unknown:
        return f"The panel has no {', '.join(unknown)}; its fields are {', '.join(request.fields)}."
    if any(parsed.digest == candidate.get("digest") for candidate in request.history):
        return "That was tried already; propose another idea."
    return ""


def _noted(made: Proposal, doubts: str) -> Proposal:
    """The proposal, with what its hypothesis is not borne out in said beside it."""
    return replace(made, rationale=f"{made.rationale} [note: {doubts}]") if doubts else made


@PROPOSERS.register("llm")
def _make(environ: Mapping[str, str], directory: Path) -> LlmProposer:
    return LlmProposer(LlmClient.from_environment(environ, directory))
