"""The strongest formulas of a run with other windows and constants: what a search leaves out as the same idea again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from alphaswarm.agents.proposers.base import Proposal, ProposalRequest
from alphaswarm.agents.proposers.search import (
    LOOKBACK_SHARE,
    MAX_DEPTH,
    MAX_NODES,
    PARSIMONY,
    behaviours_of,
    fittest,
    oriented,
    rankings,
    same_ranking,
)
from alphaswarm.agents.proposers.surrogate import Map, choose, promising
from alphaswarm.agents.state import strength
from alphaswarm.core.errors import ExpressionError
from alphaswarm.dsl import Expr, call, number, operators, parse
from alphaswarm.dsl.behaviour import LONGEST
from alphaswarm.dsl.signature import SlotKind

__all__ = ["neighbours", "refine"]

PARENTS = 3
# A window or lag becomes so many times as long, another constant so many times as large.
STRETCHED = (0.5, 0.7, 1.4, 2.0)
SCALED = (0.5, 2.0)


def refine(request: ProposalRequest, count: int) -> list[Proposal]:
    """At most `count` variations of the run's strongest, those that all trials so far say most for.

    None while nothing shows more evidence than chance gives the best of so many trials: noise refines well. And
    nothing that ranks like what was tried, by rule or by behaviour, so it may be that nothing is left.
    """
    judged: list[Mapping[str, Any]] = [c for c in request.history if strength(c.get("metrics")) is not None]
    evidence = np.array([strength(candidate["metrics"]) for candidate in judged], np.float64)
    if np.abs(evidence).max(initial=0.0) < promising(len(judged)):
        return []
    names = tuple(request.fields), tuple(request.groups)
    longest = min(request.rows // LOOKBACK_SHARE, LONGEST)
    seen = rankings(request.history)
    offered: list[tuple[Expr, str]] = []
    for parent in fittest(request.history)[:PARENTS]:
        for child in neighbours(oriented(parent)):
            key = same_ranking(child)
            fits = child.nodes <= MAX_NODES and child.depth <= MAX_DEPTH and child.warmup <= longest
            if fits and key not in seen:
                seen.add(key)
                offered.append((child, str(parent["digest"])))
    chosen = choose(
        Map.empty(),
        behaviours_of([child for child, _ in offered], *names),
        PARSIMONY * np.array([child.nodes for child, _ in offered], np.float64),
        behaviours_of([parse(candidate["expression"]) for candidate in judged], *names),
        evidence,
        count,
        look=False,
    )
    return [
        Proposal(str(child), f"{parent[:12]} with another constant", "refine", (parent,), refines=parent)
        for child, parent in map(offered.__getitem__, chosen)
    ]


def neighbours(expression: Expr) -> list[Expr]:
    """Every formula that differs from this one in a single window, lag or constant, each once, in a fixed order."""
    found: dict[str, Expr] = {}
    for changed in _changed(expression):
        try:
            checked = parse(str(changed))
        except ExpressionError:  # the window is too short for what is asked of it
            continue
        if checked.digest != expression.digest and checked.fields:
            found.setdefault(checked.digest, checked)
    return list(found.values())


def _changed(node: Expr) -> Iterator[Expr]:
    """Recursion is as deep as a formula may be."""
    if node.kind != "call":
        return
    operator = operators()[node.op]
    for place, part in enumerate(node.args):
        slot = operator.slot(place)
        parts = _changed(part) if part.kind != "number" else map(number, _values(part.value, slot.kind))
        for other in parts:
            args: Sequence[Expr] = (*node.args[:place], other, *node.args[place + 1 :])
            try:
                yield call(node.op, *args, **dict(node.options))
            except ExpressionError:
                continue


def _values(value: float, kind: SlotKind) -> list[float]:
    if kind in (SlotKind.WINDOW, SlotKind.LAG):
        rows = [max(1, round(value * by)) for by in STRETCHED]
        return [*dict.fromkeys(one for one in rows if one != value)]
    if kind is SlotKind.INTEGER:
        return [value - 1, value + 1]
    return [value * by for by in SCALED]
