"""Random expressions and small changes to them, drawn from a generator that is passed in.

A tree is a set of typed holes: a slot of an operator says what may fill it (numbers, a condition, a group, a window,
a number within bounds), an option likewise, and a variadic operator has as many holes as it is given. Draws fill
holes, so most of what comes out is sound at once; all of it is checked. Draws run over sequences in a fixed order, so
the same generator state gives the same expression in every process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from alphaswarm.core.errors import ExpressionError, UnknownName
from alphaswarm.dsl.check import check
from alphaswarm.dsl.expr import Expr, call, field, group, number
from alphaswarm.dsl.limits import MAX_DEPTH
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Operator, Option, Result, Slot, SlotKind

__all__ = ["crossover", "mutate", "random_expr"]

T = TypeVar("T")

_WINDOWS = (2, 3, 5, 10, 20, 40, 60, 120, 250)
_LAGS = (1, 2, 3, 5, 10, 20, 60)
_NUMBERS = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 2.0, 3.0, 5.0)
_TRIES = 64
_STOP = 0.2  # chance of a bare field where a call could stand
_CONSTANT = 0.15  # chance of a number in a cell-by-cell slot after the first
_OPTION = 0.1  # chance that an option is set
_STAY = 0.5  # chance that an option that is set gets another value, that one argument of many goes


def random_expr(
    rng: np.random.Generator,
    fields: Iterable[str],
    groups: Iterable[str] = (),
    *,
    max_depth: int = 5,
    operators: Iterable[str] | None = None,
) -> Expr:
    """Draw a checked expression.

    Args:
        rng: the source of randomness.
        fields: names it may use, at least one; their order does not matter.
        groups: group names; without any there are no group operators.
        max_depth: levels at most, a leaf being 1.
        operators: names it may call; all of the table when absent.

    Raises:
        ExpressionError: a field or group name that no expression may use.
        UnknownName: an operator that does not exist.
    """
    source = _Source(rng, fields, groups, operators)
    for _ in range(_TRIES):
        drawn = source.draw(min(max_depth, MAX_DEPTH), root=True)
        checked = _checked(drawn)
        if checked is not None:
            return checked
    return check(source.leaf())


def mutate(
    expr: Expr,
    rng: np.random.Generator,
    fields: Iterable[str],
    groups: Iterable[str] = (),
    *,
    max_depth: int = 8,
    operators: Iterable[str] | None = None,
) -> Expr:
    """Change one thing: a subtree, an operator, a literal, a name, an option; or drop or add a level or an argument.

    Args:
        expr: what to change; it is left as it is.
        rng: the source of randomness.
        fields: names that new parts may use.
        groups: group names that new parts may use.
        max_depth: levels at most, unless `expr` has more already.
        operators: names that new parts may call.

    Returns:
        A checked expression other than `expr`; a fresh draw where no change was found.
    """
    source = _Source(rng, fields, groups, operators)
    limit = min(MAX_DEPTH, max(max_depth, expr.depth))
    moves = (_new_part, _other_operator, _other_leaf, _other_leaf, _drop_level, _add_level, _other_option, _other_count)
    for _ in range(_TRIES):
        site = source.pick(list(_sites(expr)))
        part = source.pick(moves)(source, site, limit)
        changed = _checked(_with_part(expr, site.path, part)) if part is not None else None
        if changed is not None and changed is not expr and changed.depth <= limit:
            return changed
    return random_expr(rng, source.fields, source.groups, max_depth=limit, operators=operators)


def crossover(a: Expr, b: Expr, rng: np.random.Generator, *, max_depth: int = 8) -> Expr:
    """Put a part of `b` in the place of a part of `a`.

    Args:
        a: what receives.
        b: what gives.
        rng: the source of randomness.
        max_depth: levels at most, unless a parent has more already.

    Returns:
        A checked child; `a` where no part of `b` fits.
    """
    limit = min(MAX_DEPTH, max(max_depth, a.depth, b.depth))
    places = [site for site in _sites(a) if site.grows and site.path]
    parts = [site.node for site in _sites(b) if site.grows and site.node.fields]
    for _ in range(_TRIES if places and parts else 0):
        place = places[int(rng.integers(len(places)))]
        fitting = [part for part in parts if part.condition] if place.condition else parts
        if not fitting:
            continue
        part = fitting[int(rng.integers(len(fitting)))]
        child = _checked(_with_part(a, place.path, part))
        if child is not None and child is not a and child.depth <= limit:
            return child
    return a


class _Site(NamedTuple):
    """A place in a tree: the way down to it, what stands there, and the slot that it fills."""

    path: tuple[int, ...]
    node: Expr
    slot: Slot

    @property
    def grows(self) -> bool:
        """Whether a subtree may stand here."""
        return self.slot.kind in (SlotKind.SERIES, SlotKind.CONDITION)

    @property
    def condition(self) -> bool:
        """Whether only a condition may stand here."""
        return self.slot.kind is SlotKind.CONDITION


_ROOT = Slot("root", SlotKind.SERIES)


def _sites(expr: Expr) -> Iterator[_Site]:
    """Every place of the tree, from the root down, left to right."""
    stack = [_Site((), expr, _ROOT)]
    while stack:
        site = stack.pop()
        yield site
        if site.node.kind == "call":
            operator = OPERATORS[site.node.op]
            below = [
                _Site((*site.path, index), part, operator.slot(index)) for index, part in enumerate(site.node.args)
            ]
            stack.extend(reversed(below))


def _with_part(expr: Expr, path: Sequence[int], part: Expr) -> Expr | None:
    """`expr` with `part` at the end of `path`, or None where the caps forbid it."""
    above = [expr]
    for index in path[:-1]:
        above.append(above[-1].args[index])
    for node, index in zip(reversed(above), reversed(path), strict=False):
        args = (*node.args[:index], part, *node.args[index + 1 :])
        rebuilt = _called(node.op, args, dict(node.options))
        if rebuilt is None:
            return None
        part = rebuilt
    return part


def _called(op: str, args: Sequence[Expr], options: dict[str, float]) -> Expr | None:
    try:
        return call(op, *args, **options)
    except ExpressionError:  # beyond the caps
        return None


def _checked(expr: Expr | None) -> Expr | None:
    try:
        return check(expr) if expr is not None else None
    except ExpressionError:  # e.g. a window that is too short, or no field left
        return None


class _Source:
    """Draws of names, operators, literals and subtrees."""

    def __init__(
        self,
        rng: np.random.Generator,
        fields: Iterable[str],
        groups: Iterable[str],
        operators: Iterable[str] | None,
    ) -> None:
        self.rng = rng
        self.fields = tuple(sorted(set(fields)))
        self.groups = tuple(sorted(set(groups)))
        if not self.fields:
            raise ValueError("an expression names at least one field, got none to draw from")
        names = None if operators is None else set(operators)
        unknown = sorted((names or set()) - set(OPERATORS))
        if unknown:
            raise UnknownName.of("operator", unknown[0], OPERATORS)
        rows = [row for row in OPERATORS.values() if not row.expands and (names is None or row.name in names)]
        self.rows = [row for row in rows if self.groups or all(slot.kind is not SlotKind.GROUP for slot in row.slots)]

    def pick(self, options: Sequence[T]) -> T:
        """One of `options`."""
        return options[int(self.rng.integers(len(options)))]

    def leaf(self) -> Expr:
        """A field."""
        return field(self.pick(self.fields))

    def draw(self, depth: int, *, condition: bool = False, root: bool = False) -> Expr | None:
        """A tree of at most `depth` levels (so this calls itself at most that often), None where none was found."""
        if not condition and (depth < 2 or (not root and self.rng.random() < _STOP)):
            return self.leaf()
        rows = [row for row in self.rows if _levels(row) <= depth and (_may_give_condition(row) or not condition)]
        return self.call(self.pick(rows), depth, condition=condition) if rows else None if condition else self.leaf()

    def call(
        self, operator: Operator, depth: int, first: Expr | None = None, *, condition: bool = False
    ) -> Expr | None:
        """A call of `operator`, on `first` where that is given, and of conditions where the result shall be one."""
        passed_on = condition and operator.result is Result.SAME
        args: list[Expr] = [] if first is None else [first]
        count = len(operator.slots) + (operator.variadic and self.rng.random() < _STOP)
        for index in range(len(args), count):
            slot = operator.slot(index)
            if slot.kind.literal:
                part: Expr | None = number(self.literal(slot, operator))
            elif slot.kind is SlotKind.GROUP:
                part = group(self.pick(self.groups))
            elif slot.kind is SlotKind.CONDITION or passed_on:
                part = self.draw(depth - 1, condition=True)
            elif args and operator.elementwise and self.rng.random() < _CONSTANT:
                part = number(self.pick(_NUMBERS))
            else:
                part = self.draw(depth - 1)
            if part is None:
                return None
            args.append(part)
        return _called(operator.name, args, self.options(operator, args))

    def literal(self, slot: Slot, operator: Operator) -> float:
        """A number that the slot takes."""
        if slot.kind is SlotKind.WINDOW:
            return self.pick([rows for rows in _WINDOWS if rows >= operator.minimum])
        if slot.kind is SlotKind.LAG:
            return self.pick(_LAGS)
        if slot.kind is SlotKind.INTEGER:
            return int(slot.low) + int(self.rng.integers(min(10, int(slot.high - slot.low) + 1)))
        value = self.pick([value for value in _NUMBERS if slot.low < value < slot.high])
        return -value if slot.name == "low" else value

    def options(self, operator: Operator, args: Sequence[Expr]) -> dict[str, float]:
        """Mostly none."""
        drawn: dict[str, float] = {}
        for option in operator.options:
            if self.rng.random() < _OPTION:
                drawn[option.name] = self.option(option, operator, args)
        return drawn

    def option(self, option: Option, operator: Operator, args: Sequence[Expr]) -> float:
        """A number that the option takes."""
        if option.default is None and operator.window is not None:
            most = int(args[operator.window].value)
            return int(self.rng.integers(min(operator.minimum, most), most, endpoint=True))
        return self.pick(_NUMBERS)


def _may_give_condition(operator: Operator) -> bool:
    return operator.result is not Result.NUMBER


def _levels(operator: Operator) -> int:
    """Levels that a call needs at least: a condition stands on two of its own."""
    return 3 if any(slot.kind is SlotKind.CONDITION for slot in operator.slots) else 2


def _new_part(source: _Source, site: _Site, limit: int) -> Expr | None:
    if not site.grows:
        return None
    room = min(4, limit - len(site.path))
    return source.draw(room, condition=site.condition)


def _other_operator(source: _Source, site: _Site, _limit: int) -> Expr | None:
    if site.node.kind != "call":
        return None
    kinds = _shape(OPERATORS[site.node.op])
    rows = [row for row in source.rows if _shape(row) == kinds and row.name != site.node.op]
    if not rows:
        return None
    row = source.pick(rows)
    options = {name: value for name, value in site.node.options if row.option(name)}
    args = site.node.args if row.variadic else site.node.args[: len(row.slots)]
    return _called(row.name, args, options)


def _shape(operator: Operator) -> tuple[SlotKind, ...]:
    return tuple(slot.kind for slot in operator.slots)


def _other_leaf(source: _Source, site: _Site, _limit: int) -> Expr | None:
    node = site.node
    if node.kind == "field":
        return source.leaf()
    if node.kind == "group":
        return group(source.pick(source.groups)) if source.groups else None
    if node.kind == "call":
        return None
    if site.slot.kind in (SlotKind.WINDOW, SlotKind.LAG):
        pool = _WINDOWS if site.slot.kind is SlotKind.WINDOW else _LAGS
        below, above = [rows for rows in pool if rows < node.value], [rows for rows in pool if rows > node.value]
        return number(source.pick([*below[-2:], *above[:2]]))
    if site.slot.kind is SlotKind.INTEGER:
        return number(node.value + source.pick((-1, 1)))
    return number(node.value * source.pick((0.5, 2.0)))


def _drop_level(source: _Source, site: _Site, _limit: int) -> Expr | None:
    parts = [part for part in _parts(site.node) if part.fields and (part.condition or not site.condition)]
    return source.pick(parts) if site.grows and parts else None


def _parts(node: Expr) -> list[Expr]:
    """The arguments of `node` that are trees of their own."""
    operator = OPERATORS.get(node.op)
    if operator is None:
        return []
    growing = (SlotKind.SERIES, SlotKind.CONDITION)
    return [part for index, part in enumerate(node.args) if operator.slot(index).kind in growing]


def _add_level(source: _Source, site: _Site, limit: int) -> Expr | None:
    kinds = (SlotKind.SERIES, SlotKind.CONDITION) if site.node.condition else (SlotKind.SERIES,)
    rows = [
        row for row in source.rows if row.slots[0].kind in kinds and (_may_give_condition(row) or not site.condition)
    ]
    if not rows or not site.grows:
        return None
    return source.call(source.pick(rows), limit - len(site.path), site.node, condition=site.condition)


def _other_option(source: _Source, site: _Site, _limit: int) -> Expr | None:
    """Another value for an option, or its default."""
    operator = OPERATORS.get(site.node.op)
    if operator is None or not operator.options:
        return None
    options = dict(site.node.options)
    option = source.pick(operator.options)
    if options.pop(option.name, None) is None or source.rng.random() < _STAY:
        options[option.name] = source.option(option, operator, site.node.args)
    return _called(operator.name, site.node.args, options)


def _other_count(source: _Source, site: _Site, limit: int) -> Expr | None:
    """One argument more, or one less, for an operator that takes any number."""
    operator = OPERATORS.get(site.node.op)
    if operator is None or not operator.variadic:
        return None
    args = list(site.node.args)
    if len(args) > len(operator.slots) and source.rng.random() < _STAY:
        del args[int(source.rng.integers(len(args)))]
    else:
        part = source.draw(min(3, limit - len(site.path) - 1))
        if part is None:
            return None
        args.append(part)
    return _called(operator.name, args, dict(site.node.options))
