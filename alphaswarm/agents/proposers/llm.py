"""The proposer that asks a language model, and believes nothing it says before it is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from alphaswarm.agents.gbnf import reply_grammar
from alphaswarm.agents.llm import LlmClient, LlmConfig, LlmReply, add_spent
from alphaswarm.agents.proposers.base import PROPOSERS, Proposal, ProposalRequest
from alphaswarm.agents.proposers.prompt import REPLY_SCHEMA, first_messages, repair_message
from alphaswarm.core.errors import ExpressionError
from alphaswarm.core.runtime import make_rng
from alphaswarm.dsl import operators, parse

__all__ = ["LlmProposer"]

REPAIRS = 2
OPENINGS = 10
TEMPERATURE, WARMER = 0.8, 0.15
MAX_RATIONALE = 500
# Longer than any expression may be, so that what is cut off stays refused.
MAX_EXPRESSION = 5000
ECHOED = 600


class LlmProposer:
    """One proposal a round, so that each may learn from the last one's critique.

    A reply that can't be read, parsed or is no new idea is sent back with what was wrong, twice at
    most. What still has no expression then is a failure, which costs one from the budget.

    Args:
        client: the model.
    """

    name = "llm"
    batch = 1
    uses_memory = True

    def __init__(self, client: LlmClient) -> None:
        self._client = client

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
        fault, made = "", Proposal("")
        for attempt in range(1 + REPAIRS):
            reply = await self._client.ask(
                messages,
                schema=REPLY_SCHEMA,
                grammar=reply_grammar(request.fields, request.groups, first=_openings(rng)),
                temperature=round(TEMPERATURE + WARMER * attempt, 2),
                seed=int(rng.integers(2**31)),
                spent=add_spent(request.spent, spent),
            )
            spent = add_spent(spent, reply.spent)
            fault, answer = _answer(reply)
            if not fault:
                made = Proposal(answer["expression"], answer["rationale"], "llm")
                fault = _fault(made.expression, request)
            if not fault:
                break
            messages = [*messages, {"role": "assistant", "content": reply.text[:ECHOED]}, repair_message(fault)]
        if not made.expression:
            return [Proposal("", source="llm", failure=f"the model gave no expression: {fault}", spent=spent)]
        return [Proposal(made.expression, made.rationale, made.source, spent=spent)]


def _openings(rng: np.random.Generator) -> list[str]:
    """Operators that a reply under a grammar may begin with: weak models repeat themselves where they can."""
    return [str(name) for name in rng.choice(sorted(operators()), OPENINGS, replace=False)]


def _answer(reply: LlmReply) -> tuple[str, dict[str, str]]:
    """What is wrong with the reply (empty when nothing), and its two texts."""
    if reply.finish == "refusal":
        return "You declined; this is research on public market data.", {}
    if reply.finish == "length":
        return "The reply was cut off; answer in fewer words.", {}
    found = _first_object(reply.text)
    if found is None:
        return "The reply holds no JSON object.", {}
    expression, rationale = found.get("expression"), found.get("rationale", "")
    if not isinstance(expression, str) or not expression.strip():
        return 'The JSON object must have the text "expression".', {}
    said = rationale if isinstance(rationale, str) else ""
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())
    return "", {"expression": expression.strip()[:MAX_EXPRESSION], "rationale": plain[:MAX_RATIONALE]}


def _first_object(text: str) -> Mapping[str, Any] | None:
    """The first JSON object in `text` that has an expression, whatever stands around it."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    tries = 0
    first: Mapping[str, Any] | None = None
    while place >= 0 and tries < 20:
        tries += 1
        try:
            value, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            if "expression" in value:
                return value
            first = first or value
        place = text.find("{", place + 1)
    return first


def _fault(expression: str, request: ProposalRequest) -> str:
    """Why the expression is of no use, in words the model can act on; empty when it is fine."""
    try:
        parsed = parse(expression)
    except ExpressionError as error:
        return error.pointed()
    unknown = sorted(set(parsed.fields) - set(request.fields)) + sorted(set(parsed.groups) - set(request.groups))
    if unknown:
        return f"The panel has no {', '.join(unknown)}; its fields are {', '.join(request.fields)}."
    if any(parsed.digest == candidate.get("digest") for candidate in request.history):
        return "That was tried already; propose another idea."
    return ""


@PROPOSERS.register("llm")
def _make(environ: Mapping[str, str], directory: Path) -> LlmProposer:
    return LlmProposer(LlmClient(LlmConfig.from_environment(environ), cache=directory / "llm"))
