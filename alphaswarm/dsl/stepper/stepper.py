"""`Stepper`: the values of expressions, one bar after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core.errors import DataInvalid, FieldNotFound, near
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.check import bind, check
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.parser import parse
from alphaswarm.dsl.plan import Plan
from alphaswarm.dsl.stepper.nodes import Bar, Carried, Recent, keeper
from alphaswarm.dsl.stepper.stages import stages

__all__ = ["Stepper"]


@dataclass(frozen=True)
class _Bound:
    """What is settled by the first bar: the plan, the fields that it reads, and what each stage keeps."""

    plan: Plan
    fields: tuple[str, ...]
    stages: list[Carried | Recent]


class Stepper:
    """Takes one bar at a time and gives, to the last bit, the last row of `evaluate` on all bars so far.

    It keeps the rows that windows still reach back to and a few numbers for operators with a memory, so a bar
    costs the sum of the windows, however long the history.

    Args:
        exprs: expressions or their texts.
        symbols: names of the N symbols, the same in every bar.

    Raises:
        ExpressionError: text or tree that is no valid expression.
        DataInvalid: no symbols, or a name twice.
    """

    def __init__(self, exprs: Sequence[Expr | str], symbols: Sequence[str]) -> None:
        self._roots = [check(parse(one) if isinstance(one, str) else one) for one in exprs]
        self.symbols = tuple(map(str, symbols))
        if not self.symbols or len(set(self.symbols)) != len(self.symbols):
            raise DataInvalid(f"symbols must be at least one and distinct, got {len(self.symbols)}")
        self._bars = 0
        self._bound: _Bound | None = None
        self._groups: dict[str, NDArray[np.str_]] = {}

    def step(
        self,
        bar: Mapping[str, ArrayLike],
        universe: ArrayLike | None = None,
        groups: Mapping[str, ArrayLike] | None = None,
    ) -> NDArray[np.float64]:
        """The values of all expressions for this bar.

        Args:
            bar: field to numbers [N]; NaN is missing. The first bar decides whether ``returns`` is a field or
                stands for ``pct_change(close, 1)``.
            universe: membership [N]; everything is a member when absent.
            groups: group to labels [N], "" is missing; a group that is not given keeps the labels it had.

        Returns:
            [len(exprs), N], NaN where undefined or outside the universe.

        Raises:
            FieldNotFound: a field or group that an expression names and that was not given. Nothing has changed.
            DataInvalid: a wrong shape, or an infinite number. Nothing has changed.
        """
        members = (
            np.ones(len(self.symbols), np.bool_) if universe is None else self._row("universe", universe, np.bool_)
        )
        labels = {**self._groups, **{name: self._row(name, one, np.str_) for name, one in (groups or {}).items()}}
        bound = self._bound or self._bind(tuple(bar), tuple(labels))
        rows = {name: self._numbers(name, bar) for name in bound.fields}
        self._bound, self._groups = bound, labels
        now = Bar(self._bars, members, labels)
        values: dict[Expr, Any] = {}
        for node in bound.plan.steps:
            if node.constant is not None:
                values[node] = node.constant
            elif node.kind == "field":
                values[node] = rows[node.name]
        for stage in bound.stages:
            values.update(stage.step(values, now))
        self._bars += 1
        out = np.full((len(self._roots), len(self.symbols)), np.nan)
        for root, places in bound.plan.outputs.items():
            out[list(places)] = np.where(members, values[root], np.nan)
        return out

    @property
    def bars(self) -> int:
        """How many bars it has taken."""
        return self._bars

    def state(self) -> dict[str, NDArray[Any]]:
        """All that it has kept, as plain arrays: what `restore` takes, and what ``numpy.savez`` stores."""
        arrays: dict[str, NDArray[Any]] = {
            "bars": np.array(self._bars),
            "expressions": np.array([str(root) for root in self._roots], dtype=np.str_),
            "symbols": np.array(self.symbols, dtype=np.str_),
            "fields": np.array(self._bound.fields if self._bound else (), dtype=np.str_),
        }
        arrays |= {f"labels/{name}": labels for name, labels in self._groups.items()}
        for place, one in enumerate(self._bound.stages if self._bound else ()):
            arrays |= {f"stage/{place}/{name}": rows for name, rows in one.state.items()}
        return arrays

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from where a stepper of the same expressions and symbols was.

        Raises:
            DataInvalid: the state is of other expressions or symbols.
        """
        for name, own in (("expressions", [str(root) for root in self._roots]), ("symbols", list(self.symbols))):
            if name not in state or state[name].tolist() != own:
                raise DataInvalid(f"a state must be of the same {name}, got {state.get(name, 'none')!s:.200}")
        self._groups = {name[7:]: labels for name, labels in state.items() if name.startswith("labels/")}
        self._bars = int(state["bars"])
        self._bound = None
        if self._bars == 0:
            return
        self._bound = self._bind(tuple(state["fields"].tolist()), tuple(self._groups))
        for place, one in enumerate(self._bound.stages):
            start = f"stage/{place}/"
            one.state = {name[len(start) :]: rows for name, rows in state.items() if name.startswith(start)}

    def _bind(self, fields: tuple[str, ...], groups: tuple[str, ...]) -> _Bound:
        """Settle what the expressions mean for bars of these `fields` and `groups`."""
        one = np.zeros((1, 1))
        day = np.array(["2000-01-01"], "datetime64[D]")
        panel = Panel.from_arrays(dict.fromkeys(fields, one), day, ["a"], None, {name: ["a"] for name in groups})
        plan = Plan.of([bind(check(root, panel), panel) for root in self._roots])
        fields_read = tuple(sorted({node.name for node in plan.steps if node.kind == "field"}))
        return _Bound(plan, fields_read, [keeper(stage, len(self.symbols)) for stage in stages(plan)])

    def _row(self, name: str, values: ArrayLike, kind: type[np.generic]) -> NDArray[Any]:
        row = np.array(values, kind)
        if row.shape != (len(self.symbols),):
            raise DataInvalid(f"{name} must have shape {(len(self.symbols),)}, got {row.shape}")
        return row

    def _numbers(self, name: str, bar: Mapping[str, ArrayLike]) -> NDArray[np.float64]:
        if name not in bar:
            hint = near(name, bar)
            raise FieldNotFound(
                f"this bar has no field {name!r}; it offers {', '.join(bar)}{'; ' + hint if hint else ''}"
            )
        row = self._row(name, bar[name], np.float64)
        if np.isinf(row).any():
            raise DataInvalid(
                f"field {name!r} must be finite or NaN, got infinity at {self.symbols[int(np.isinf(row).argmax())]}"
            )
        return row
