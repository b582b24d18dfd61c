"""The default without a key: a seeded, typed genetic search over the grammar.

It begins with published formulas, and with what worked in earlier runs where there were any. Then it looks round on a
survey of every operator and field, each time where the least like it was tried, and, once something shows evidence,
breeds from what is strongest: mutation, crossover, a partner combined in a typical form, or a fresh idea. Of what is
bred it proposes what all trials so far say most for; longer formulas pay for their length, and only formulas that
behave in a new way are proposed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.agents.proposers.base import PROPOSERS, Proposal, ProposalRequest
from alphaswarm.agents.proposers.ideas import combined, fresh_idea
from alphaswarm.agents.proposers.known import known_formulas
from alphaswarm.agents.proposers.surrogate import Map, choose
from alphaswarm.agents.proposers.survey import survey, useful
from alphaswarm.agents.state import strength
from alphaswarm.core.errors import ExpressionError
from alphaswarm.core.runtime import make_rng
from alphaswarm.dsl import Expr, call, crossover, mutate, parse, random_expr
from alphaswarm.dsl.behaviour import LONGEST, WIDTH, behaviour

__all__ = ["SearchProposer", "behaviours_of", "fittest", "oriented", "rankings", "same_ranking"]

# What the next generation is bred by, and how often.
BREEDING = {"mutate": 0.35, "crossover": 0.15, "combine": 0.2, "idea": 0.2, "random": 0.1}
POOL = 20
TOURNAMENT = 2
# t-value that a formula must bring more for each node: short formulas repeat better.
PARSIMONY = 0.02
# Two candidates nearer than this in strength and (relative) turnover count as one behaviour.
ALIKE_T, ALIKE_TURNOVER = 0.05, 0.02
MAX_NODES, MAX_DEPTH = 30, 8
LOOKBACK_SHARE = 4
LITTER = 40
BEHAVIOURS_KEPT = 8192
IDEAS, IDEA_DEPTH = 300, 4
LOOKING_ROUND = "one operator, where nothing like it was tried"
# Operators that leave the order within a day as it is, or turn it round.
MONOTONE = frozenset({"cs_rank", "cs_rank01", "cs_zscore", "cs_demean", "cs_scale", "cs_quantile_transform"})

Breeder = Callable[[np.random.Generator], tuple[Expr, tuple[str, ...], str] | None]


class SearchProposer:
    """Genetic search; a pure function of the seed, the round and the run's history."""

    name = "search"
    notice = "no LLM: seeded genetic search, begun with published formulas"
    batch = 5
    uses_memory = False

    async def start(self) -> None:
        """Nothing is needed."""

    async def close(self) -> None:
        """Nothing is held."""

    async def propose(self, request: ProposalRequest) -> Sequence[Proposal]:
        """Known formulas and lessons while there are any, then the most promising of children, ideas and the survey."""
        tried = {str(candidate.get("source", "")) for candidate in request.history}
        proposals = [
            Proposal(formula.expression, f"{formula.idea} ({formula.citation})", f"known:{formula.name}")
            for formula in known_formulas(request.fields, request.rows)
            if f"known:{formula.name}" not in tried
        ][: request.count]
        had = rankings(request.history)
        had |= {same_ranking(parse(proposal.expression)) for proposal in proposals}
        proposals += _remembered(request, had)[: request.count - len(proposals)]
        if len(proposals) < request.count:
            proposals += _Generation(request).children(had, request.count - len(proposals))
        return proposals


@dataclass(frozen=True, slots=True)
class _Child:
    expression: Expr
    source: str
    why: str
    parents: tuple[str, ...] = ()


class _Generation:
    """Breeds one generation from the pool of the best, and chooses from it and from the survey."""

    def __init__(self, request: ProposalRequest) -> None:
        self._request = request
        self._pool = fittest(request.history)
        self._longest = min(request.rows // LOOKBACK_SHARE, LONGEST)
        self._breeders: dict[str, Breeder] = {
            "mutate": self._mutate,
            "crossover": self._crossover,
            "combine": self._combine,
            "idea": self._idea,
            "random": self._random,
        }

    def children(self, had: set[str], count: int) -> list[Proposal]:
        """At most `count` formulas that rank unlike all in `had` and unlike each other."""
        request = self._request
        names = tuple(request.fields), tuple(request.groups)
        mapped, keys, known = _mapped(*names, self._longest, request.seed)
        offered = [*(_Child(formula, "survey", LOOKING_ROUND) for formula in mapped), *self._bred(had)]
        judged = [c for c in request.history if strength(c.get("metrics")) is not None]
        cost = PARSIMONY * np.array([child.expression.nodes for child in offered], np.float64)
        cost[: len(mapped)][[key in had for key in keys]] = np.inf
        chosen = choose(
            known,
            behaviours_of([child.expression for child in offered[len(mapped) :]], *names),
            cost,
            behaviours_of([_parsed(candidate["expression"]) for candidate in judged], *names),
            np.array([strength(candidate["metrics"]) for candidate in judged], np.float64),
            count,
        )
        return [
            Proposal(str(c.expression), c.why, f"search:{c.source}", c.parents)
            for c in map(offered.__getitem__, chosen)
        ]

    def _bred(self, had: set[str]) -> list[_Child]:
        rng = make_rng(self._request.seed, "propose", self._request.round)
        names, seen, bred = list(BREEDING), set(had), []
        for _ in range(LITTER):
            name = names[int(rng.choice(len(names), p=list(BREEDING.values())))]
            try:
                child = self._breeders[name](rng)
                if child is None:
                    continue
                expression = parse(str(child[0]))
                key = same_ranking(expression)
            except ExpressionError:  # beyond the caps of the language
                continue
            if key not in seen and self._fits(expression):
                seen.add(key)
                bred.append(_Child(expression, name, child[2], child[1]))
        return bred

    def _fits(self, expression: Expr) -> bool:
        return (
            bool(expression.fields)
            and expression.nodes <= MAX_NODES
            and expression.depth <= MAX_DEPTH
            and expression.warmup <= self._longest
        )

    def _mutate(self, rng: np.random.Generator) -> tuple[Expr, tuple[str, ...], str] | None:
        parent = self._parent(rng)
        if parent is None:
            return None
        request = self._request
        child = mutate(oriented(parent), rng, request.fields, request.groups, operators=useful())
        return child, (parent["digest"],), f"a variation of {parent['digest'][:12]}"

    def _crossover(self, rng: np.random.Generator) -> tuple[Expr, tuple[str, ...], str] | None:
        first, second = self._parent(rng), self._parent(rng)
        if first is None or second is None or first is second:
            return None
        child = crossover(oriented(first), oriented(second), rng)
        return (
            child,
            (first["digest"], second["digest"]),
            f"{first['digest'][:12]} with a part of {second['digest'][:12]}",
        )

    def _combine(self, rng: np.random.Generator) -> tuple[Expr, tuple[str, ...], str] | None:
        parent = self._parent(rng)
        if parent is None:
            return None
        text, how = combined(str(oriented(parent)), rng, self._request.fields, self._request.groups)
        return parse(text), (parent["digest"],), f"{parent['digest'][:12]} {how}"

    def _idea(self, rng: np.random.Generator) -> tuple[Expr, tuple[str, ...], str] | None:
        return parse(fresh_idea(rng, self._request.fields)), (), "a fresh idea in a typical form"

    def _random(self, rng: np.random.Generator) -> tuple[Expr, tuple[str, ...], str] | None:
        request = self._request
        return random_expr(rng, request.fields, request.groups, operators=useful()), (), "drawn at random"

    def _parent(self, rng: np.random.Generator) -> Mapping[str, Any] | None:
        """The fittest of a few drawn from the pool; the pool is sorted, so that is the smallest place."""
        if not self._pool:
            return None
        return self._pool[int(rng.integers(len(self._pool), size=TOURNAMENT).min())]


def same_ranking(expression: Expr) -> str:
    """A key that formulas share where they order a day alike, or the other way round, by simple rules.

    Taken off: what keeps or turns the order (ranks, scores, signs, scaling by a constant), and what
    adds the same to every name.
    """
    node = expression
    while True:
        terms = [(sign, term) for sign, term in _terms(node) if term.kind != "number"]
        if len(terms) != 1:
            break
        inner = _inner(terms[0][1])
        if inner is terms[0][1]:
            return inner.digest
        node = inner
    signed = [sorted((sign * turn, term.digest) for sign, term in terms) for turn in (1, -1)]
    return str(min(signed))


def _terms(node: Expr) -> list[tuple[int, Expr]]:
    """The parts of a sum with their signs; of anything else itself."""
    found: list[tuple[int, Expr]] = []
    waiting = [(1, node)]
    while waiting:
        sign, part = waiting.pop()
        if part.op == "neg":
            waiting.append((-sign, part.args[0]))
        elif part.op in {"add", "sub"}:
            waiting += [(sign, part.args[0]), (-sign if part.op == "sub" else sign, part.args[1])]
        else:
            found.append((sign, part))
    return found


def _inner(node: Expr) -> Expr:
    """What `node` orders like, one level down; itself where that is all."""
    if node.op in MONOTONE:
        return node.args[0]
    if node.op in {"mul", "div"} and node.args[1].kind == "number" and node.args[1].value:
        return node.args[0]
    if node.op == "mul" and node.args[0].kind == "number" and node.args[0].value:
        return node.args[1]
    return node


@lru_cache(maxsize=4)
def _mapped(
    fields: tuple[str, ...], groups: tuple[str, ...], longest: int, seed: int
) -> tuple[tuple[Expr, ...], tuple[str, ...], Map]:
    """The survey, its ranking keys, and the map that it makes with ideas: short formulas of every kind, drawn."""
    formulas, keys, behaviours = _surveyed(fields, groups, longest)
    rng = make_rng(seed, "ideas")
    drawn = [random_expr(rng, fields, groups, max_depth=IDEA_DEPTH, operators=useful()) for _ in range(IDEAS)]
    return formulas, keys, Map.of(behaviours, behaviour(drawn, fields, groups))


@lru_cache(maxsize=4)
def _surveyed(
    fields: tuple[str, ...], groups: tuple[str, ...], longest: int
) -> tuple[tuple[Expr, ...], tuple[str, ...], NDArray[np.float32]]:
    """What of the survey ranks at all, with ranking keys and behaviours; it takes a second or two."""
    formulas = [formula for formula in survey(fields, groups) if formula.warmup <= longest]
    behaviours = behaviour(formulas, fields, groups)
    live = np.flatnonzero(behaviours.any(axis=1))
    kept = tuple(formulas[place] for place in live)
    return kept, tuple(map(same_ranking, kept)), behaviours[live]


def behaviours_of(expressions: Sequence[Expr], fields: tuple[str, ...], groups: tuple[str, ...]) -> NDArray[np.float32]:
    """[n, D], kept since every round looks at the whole history."""
    kept = _kept(fields, groups)
    if len(kept) + len(expressions) > BEHAVIOURS_KEPT:
        kept.clear()
    missing = [one for one in dict.fromkeys(expressions) if one not in kept]
    kept.update(zip(missing, behaviour(missing, fields, groups), strict=True))
    return np.stack([kept[one] for one in expressions]) if expressions else np.zeros((0, WIDTH), np.float32)


@lru_cache(maxsize=4)
def _kept(fields: tuple[str, ...], groups: tuple[str, ...]) -> dict[Expr, NDArray[np.float32]]:  # noqa: ARG001 - the key
    return {}


@lru_cache(maxsize=8192)
def _parsed(text: str) -> Expr:
    return parse(text)


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[str, int]:
    """Ranking key and size of an expression; kept, since every round looks at the whole history."""
    try:
        expression = parse(text)
    except ExpressionError:
        return "", 0
    return same_ranking(expression), expression.nodes


def rankings(history: Sequence[Mapping[str, Any]]) -> set[str]:
    """The ranking keys of all candidates of a run."""
    return {_read(candidate.get("expression") or candidate["text"])[0] for candidate in history}


def _fitness(candidate: Mapping[str, Any]) -> float:
    return abs(strength(candidate["metrics"]) or 0.0) - PARSIMONY * _read(candidate["expression"])[1]


def fittest(history: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The fittest first; of candidates that behave alike only the fittest, so that no family crowds out the rest."""
    judged = [c for c in history if strength(c.get("metrics")) is not None]
    judged.sort(key=lambda c: (-_fitness(c), c["digest"]))
    pool: list[Mapping[str, Any]] = []
    for candidate in judged:
        if len(pool) < POOL and not any(_alike(candidate["metrics"], other["metrics"]) for other in pool):
            pool.append(candidate)
    return pool


def _alike(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    fast, slow = sorted((one.get("turnover") or 0.0, other.get("turnover") or 0.0), reverse=True)
    return (
        abs(abs(strength(one) or 0.0) - abs(strength(other) or 0.0)) <= ALIKE_T and fast - slow <= ALIKE_TURNOVER * fast
    )


def _remembered(request: ProposalRequest, had: set[str]) -> list[Proposal]:
    """What worked in earlier runs, the strongest first, as far as it fits this panel and ranks unlike all in `had`.

    What the ledger knows of these data is recalled free; on others it is a trial like any other. `had` is added to.
    """
    longest = min(request.rows // LOOKBACK_SHARE, LONGEST)
    seeds = []
    for lesson in sorted(request.lessons, key=lambda one: -abs(one.get("evidence_z") or 0.0)):
        try:
            expression = parse(str(lesson.get("expression", "")))
        except ExpressionError:
            continue
        offered = set(expression.fields) <= set(request.fields) and set(expression.groups) <= set(request.groups)
        key = same_ranking(expression)
        if lesson.get("kind") == "works" and offered and expression.warmup <= longest and key not in had:
            had.add(key)
            seeds.append(Proposal(str(expression), "worked in an earlier run", "memory"))
    return seeds


def oriented(candidate: Mapping[str, Any]) -> Expr:
    """The candidate's formula, turned so that high values were followed by high returns."""
    expression = _parsed(candidate["expression"])
    if (strength(candidate["metrics"]) or 0.0) >= 0:
        return expression
    return expression.args[0] if expression.op == "neg" else call("neg", expression)


@PROPOSERS.register("search")
def _make(environ: Mapping[str, str], directory: Path) -> SearchProposer:  # noqa: ARG001 - needs nothing
    return SearchProposer()
