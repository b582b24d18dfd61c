"""One call of an expression, bar by bar: the rows that it still needs, or the memory that it carries."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.panel import Panel
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.expr import Expr, call, field
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family, SlotKind
from alphaswarm.dsl.stepper.memory import MEMORIES

__all__ = ["Bar", "Carried", "Recent"]

Row = NDArray[np.float64]
# What the market itself looked like, kept beside the rows of the arguments.
_UNIVERSE, _LABELS = "universe", "group"


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
        self.memory = MEMORIES[node.op](symbols, *literals)
        self.series = [argument for argument, kind in _slots(node) if not kind.literal]
        self.symbols = symbols

    def step(self, values: Mapping[Expr, Any], _bar: Bar) -> Row:
        """The value of this bar."""
        return self.memory.step(*(np.broadcast_to(values[one], self.symbols) for one in self.series))

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """All that it carries."""
        return dict(self.memory.state)

    @state.setter
    def state(self, state: dict[str, NDArray[Any]]) -> None:
        self.memory.state = dict(state)


class Recent:
    """A call of any other operator: the engine runs on the rows that the value of this bar reads.

    The engine cuts windows of d rows into blocks of d rows, counted from the first row that it is given. So what
    it is given starts at a multiple of d, and then it does what it would do on all rows.
    """

    def __init__(self, node: Expr, symbols: int) -> None:
        operator = OPERATORS[node.op]
        literal = {kind: int(argument.value) for argument, kind in _slots(node) if kind.whole}
        self.block = literal.get(SlotKind.WINDOW, 1)
        lag = literal.get(SlotKind.LAG, 0)
        blocks_back = -(-lag // self.block) + (SlotKind.WINDOW in literal)
        self.back = blocks_back * self.block
        self.sees_market = operator.family in (Family.CROSS, Family.GROUP)
        self.symbols = tuple(map(str, range(symbols)))
        self.inputs: dict[str, Expr] = {}
        self.group = next((argument.name for argument, kind in _slots(node) if kind is SlotKind.GROUP), "")
        self.alone = call(node.op, *self._placeholders(node), **dict(node.options))
        kept = [*self.inputs, *([_UNIVERSE] if self.sees_market else []), *([_LABELS] if self.group else [])]
        self.rows: dict[str, deque[NDArray[Any]]] = {name: deque(maxlen=self.back + self.block) for name in kept}

    def _placeholders(self, node: Expr) -> list[Expr]:
        """The arguments, each series a field of its own."""
        made = []
        for place, (argument, kind) in enumerate(_slots(node)):
            if kind.literal or kind is SlotKind.GROUP or argument.constant is not None:
                made.append(argument)
                continue
            name = f"x{place}"
            self.inputs[name] = argument
            # a condition is 0, 1 or NaN already, but in its slot it must look like one
            made.append(call("ne", field(name), 0) if kind is SlotKind.CONDITION else field(name))
        return made

    def step(self, values: Mapping[Expr, Any], bar: Bar) -> Row:
        """The value of this bar."""
        for name, argument in self.inputs.items():
            self.rows[name].append(values[argument])
        if self.sees_market:
            self.rows[_UNIVERSE].append(bar.universe)
        if self.group:
            self.rows[_LABELS].append(bar.groups[self.group])
        count = min(bar.number, bar.number % self.block + self.back) + 1
        recent = {name: np.stack(list(rows)[-count:]) for name, rows in self.rows.items()}
        panel = Panel.from_arrays(
            {name: recent[name] for name in self.inputs},
            np.arange(count).astype("datetime64[D]"),
            self.symbols,
            recent.get(_UNIVERSE),
            {self.group: recent[_LABELS]} if self.group else None,
        )
        value: Row = evaluate(self.alone, panel)[-1]
        return value

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The rows that it keeps, [rows, N] each."""
        return {name: np.stack(rows) for name, rows in self.rows.items() if rows}

    @state.setter
    def state(self, state: dict[str, NDArray[Any]]) -> None:
        for name, rows in self.rows.items():
            rows.clear()
            rows.extend(state.get(name, ()))


def _slots(node: Expr) -> list[tuple[Expr, SlotKind]]:
    operator = OPERATORS[node.op]
    return [(argument, operator.slot(index).kind) for index, argument in enumerate(node.args)]
