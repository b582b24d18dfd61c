"""A plan cut into stages: what the engine is asked for at once in each bar, and in which order.

Values of a bar have levels. A field has level 0; an operator that looks beyond its own cell stands one level above
its arguments; an operator on cells stands on the level of its arguments and is computed at the end of it, together
with all others there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.plan import Plan
from alphaswarm.dsl.signature import Family, SlotKind
from alphaswarm.dsl.stepper.memory import MEMORIES

__all__ = ["Reach", "Stage", "reach_of", "stages"]


class Reach(NamedTuple):
    """Which rows an operator reads.

    Attributes:
        block: the engine cuts windows into blocks of so many rows, counted from the first row that it is given; 1
            where there is no window.
        back: rows before the block of today that it may read, a multiple of `block`.
        market: whether it looks across the symbols, so that membership counts.
    """

    block: int
    back: int
    market: bool


class Stage(NamedTuple):
    """Calls that are computed together.

    Attributes:
        inside: all of them, arguments first.
        kept: those that anything outside reads.
        reach: the rows that they read; None for an operator with a memory, which stands alone.
    """

    inside: tuple[Expr, ...]
    kept: tuple[Expr, ...]
    reach: Reach | None


def reach_of(node: Expr) -> Reach:
    """The rows that a call reads."""
    operator = OPERATORS[node.op]
    block, lag = 1, 0
    windowed = False
    for index, argument in enumerate(node.args):
        kind = operator.slot(index).kind
        if kind is SlotKind.WINDOW:
            block, windowed = int(argument.value), True
        elif kind is SlotKind.LAG:
            lag = int(argument.value)
    # a window of today's block may reach into the one before it, and a lag beyond that
    back = (-(-lag // block) + windowed) * block
    return Reach(block, back, operator.family in (Family.CROSS, Family.GROUP))


def stages(plan: Plan) -> list[Stage]:
    """The stages of `plan`, in an order in which each finds what it reads."""
    level: dict[Expr, int] = {}
    found: dict[tuple[int, bool, Reach | str], list[Expr]] = {}
    for node in plan.steps:
        level[node] = max((level[argument] for argument in node.args), default=0)
        if node.kind != "call" or node.constant is not None:
            continue
        cells = OPERATORS[node.op].elementwise
        level[node] += not cells
        alone = f"{node.op} {len(level)}"
        found.setdefault((level[node], cells, alone if node.op in MEMORIES else reach_of(node)), []).append(node)
    readers = _readers(plan)
    made = []
    for (_level, _cells, reach), inside in sorted(found.items(), key=lambda item: item[0][:2]):
        within = set(inside)
        kept = tuple(node for node in inside if node in plan.outputs or not readers.get(node, within) <= within)
        made.append(Stage(tuple(inside), kept, reach if isinstance(reach, Reach) else None))
    return made


def _readers(plan: Plan) -> Mapping[Expr, set[Expr]]:
    readers: dict[Expr, set[Expr]] = {}
    for node in plan.steps:
        for argument in node.args:
            readers.setdefault(argument, set()).add(node)
    return readers
