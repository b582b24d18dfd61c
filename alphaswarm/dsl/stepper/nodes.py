"""The stages of a plan, bar by bar: the rows that they still need, or the memory that they carry."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.panel import Panel
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.expr import Expr, call, field
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import SlotKind
from alphaswarm.dsl.stepper.memory import MEMORIES
from alphaswarm.dsl.stepper.stages import Reach, Stage

__all__ = ["Bar", "Carried", "Recent", "keeper"]

Row = NDArray[np.float64]
# What the market itself looked like, kept beside the rows of the arguments; no field is called so.
_UNIVERSE, _GROUP = "universe", "group/"


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its number from 0 on, the membership [N], and the labels [N] of each group."""

    number: int
    universe: NDArray[np.bool_]
    groups: Mapping[str, NDArray[np.str_]]


class Carried:
    """A call of an operator with a memory."""

    def __init__(self, node: Expr, symbols: int) -> None:
        literals = [
            int(argument.value) if kind.whole else argument.value for argument, kind in _slots(node) if kind.literal
        ]
        self.node = node
        self.memory = MEMORIES[node.op](symbols, *literals)
        self.series = [argument for argument, kind in _slots(node) if not kind.literal]
        self.symbols = symbols

    def step(self, values: Mapping[Expr, Any], _bar: Bar) -> dict[Expr, Row]:
        """The value of this bar."""
        today = (np.broadcast_to(values[one], self.symbols) for one in self.series)
        return {self.node: self.memory.step(*today)}

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """All that it carries."""
        return dict(self.memory.state)

    @state.setter
    def state(self, state: dict[str, NDArray[Any]]) -> None:
        self.memory.state = dict(state)


class Recent:
    """Calls of other operators: the engine runs on the rows that their values of this bar read.

    What it is given starts at a multiple of the blocks that it cuts windows into, and then it does what it would do
    on all rows.
    """

    def __init__(self, stage: Stage, reach: Reach, symbols: int) -> None:
        self.kept, self.reach = stage.kept, reach
        self.symbols = tuple(map(str, range(symbols)))
        self.everyone = np.ones((reach.back + reach.block, symbols), np.bool_)
        self.inputs: dict[str, Expr] = {}
        made: dict[Expr, Expr] = {}
        for node in stage.inside:
            made[node] = call(node.op, *self._arguments(node, made), **dict(node.options))
        self.alone = [made[node] for node in stage.kept]
        self.groups = sorted({name for one in self.alone for name in one.groups})
        kept = [*self.inputs, *([_UNIVERSE] if reach.market else []), *(_GROUP + name for name in self.groups)]
        self.rows: dict[str, deque[NDArray[Any]]] = {name: deque(maxlen=reach.back + reach.block) for name in kept}

    def _arguments(self, node: Expr, made: dict[Expr, Expr]) -> list[Expr]:
        """The arguments of `node`; a series that comes from outside the stage is a field."""
        names = {argument: name for name, argument in self.inputs.items()}
        arguments = []
        for argument, kind in _slots(node):
            if argument in made or kind.literal or kind is SlotKind.GROUP or argument.constant is not None:
                arguments.append(made.get(argument, argument))
                continue
            name = names.setdefault(argument, f"x{len(names)}")
            self.inputs[name] = argument
            # a condition is 0, 1 or NaN already, but it must still look like one
            arguments.append(call("ne", field(name), 0) if argument.condition else field(name))
        return arguments

    def step(self, values: Mapping[Expr, Any], bar: Bar) -> dict[Expr, Row]:
        """The values of this bar."""
        for name, argument in self.inputs.items():
            self.rows[name].append(values[argument])
        if self.reach.market:
            self.rows[_UNIVERSE].append(bar.universe)
        for name in self.groups:
            self.rows[_GROUP + name].append(bar.groups[name])
        count = min(bar.number, bar.number % self.reach.block + self.reach.back) + 1
        recent = {name: np.stack(list(rows)[-count:]) for name, rows in self.rows.items()}
        panel = Panel(  # the rows were checked when they came in
            MappingProxyType({name: recent[name] for name in self.inputs}),
            np.arange(count).astype("datetime64[ns]"),
            self.symbols,
            recent.get(_UNIVERSE, self.everyone[:count]),
            MappingProxyType({name: recent[_GROUP + name] for name in self.groups}),
            {},
        )
        found = evaluate(self.alone, panel)
        return {node: rows[-1] for node, rows in zip(self.kept, found, strict=True)}

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The rows that it keeps, [rows, N] each."""
        return {name: np.stack(rows) for name, rows in self.rows.items() if rows}

    @state.setter
    def state(self, state: dict[str, NDArray[Any]]) -> None:
        for name, rows in self.rows.items():
            rows.clear()
            rows.extend(state.get(name, ()))


def keeper(stage: Stage, symbols: int) -> Carried | Recent:
    """What computes a stage and keeps what it needs."""
    return Carried(stage.inside[0], symbols) if stage.reach is None else Recent(stage, stage.reach, symbols)


def _slots(node: Expr) -> list[tuple[Expr, SlotKind]]:
    operator = OPERATORS[node.op]
    return [(argument, operator.slot(index).kind) for index, argument in enumerate(node.args)]
