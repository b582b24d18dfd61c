"""Whether an expression means something: kinds, windows, caps, causality, and the fields of a panel.

The rules, beyond the count of arguments:

- A comparison, ``and or not`` and ``is_nan`` give a condition: 0, 1 or NaN. ``delay``, ``ts_backfill``,
  ``fill``, ``if_else`` and ``trade_when`` of conditions give one too. A condition may stand wherever numbers
  may; a slot that asks for a condition takes nothing else, but for the literals 0 (false) and 1 (true).
- A group name stands in a group slot and nowhere else.
- Windows and lags are integer literals 1..504; a statistic that needs more rows says how many.
- A lag of 0 or less, and a field named like a label, would read the future: `Reason.LOOKAHEAD`.
- On a panel, the estimated cost (cells x window, see `cost`) keeps to a budget.
- What ranges over time, the day or a group needs a field in each series; only cell-by-cell operators and
  ``trade_when`` take constants. A constant part must have a finite value, and the whole must name a field.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from alphaswarm.core.errors import ExpressionError, Reason, UnknownField, near
from alphaswarm.core.panel import LABEL_NAME, Panel
from alphaswarm.dsl.cost import budget, cost
from alphaswarm.dsl.expr import Expr, call, count_of, field, is_truth, number_text, plain_call, render
from alphaswarm.dsl.limits import MAX_BYTES, MAX_DEPTH, MAX_LOOKBACK, MAX_NODES, MAX_WINDOW
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Operator, Slot, SlotKind

__all__ = ["Fault", "Source", "bind", "call_fault", "check", "label_fault", "whole_fault"]

_SMALLER = "use a smaller formula"
_LISTED = 40  # names that a message lists; a panel may hold thousands


@dataclass(frozen=True, slots=True)
class Fault:
    """A rule that is broken, what would be valid instead (`hint`), and where.

    `index` is the argument that breaks it (-1: the call as a whole), `option` the keyword.
    """

    message: str
    reason: Reason
    hint: str
    index: int = -1
    option: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """The text that a tree was read from, in whatever dialect; `columns` says where each node first begins in it."""

    text: str
    columns: Mapping[Expr, int]


def check(expr: Expr, panel: Panel | None = None, source: Source | None = None) -> Expr:
    """Hold `expr` to every rule, and to the fields and groups of `panel` where one is given.

    Args:
        expr: any tree; one that came from `parse` keeps the rules that need no panel already.
        panel: the panel it shall be evaluated on. A missing ``returns`` passes where there is a ``close``.
        source: what it was read from, for errors to point into.

    Returns:
        `expr` itself.

    Raises:
        ExpressionError: the first broken rule, with the column in the source, or in ``str(expr)`` without one.
        UnknownField: the panel lacks a field or group (an `ExpressionError` and a `FieldNotFound`).

    What is sound but mixes units is no error: `warnings_of` names it.
    """
    fault = _size_fault(expr)
    if fault:  # before anything walks or prints the tree
        raise ExpressionError(fault.message, text="", column=1, reason=fault.reason, hint=fault.hint)
    for node in expr.walk():
        if node.kind == "call":
            fault = call_fault(OPERATORS[node.op], node.args, dict(node.options))
        else:
            fault = label_fault(node.name)
        if fault:
            _refuse(expr, node, fault, source)
    fault = whole_fault(expr)
    if fault:
        _refuse(expr, expr, fault, source)
    if panel is not None:
        _check_names(expr, panel, source)
        fault = _cost_fault(bind(expr, panel), panel.shape)
        if fault:
            _refuse(expr, expr, fault, source)
    return expr


def bind(expr: Expr, panel: Panel) -> Expr:
    """`expr` in the panel's own fields: ``returns`` becomes ``pct_change(close, 1)`` where the panel has none."""
    if "returns" not in expr.fields or "returns" in panel.fields:
        return expr
    made: dict[Expr, Expr] = {field("returns"): call("pct_change", field("close"), 1)}
    for node in expr.walk():
        if node not in made:
            arguments = tuple(made[argument] for argument in node.args)
            made[node] = plain_call(node.op, arguments, node.options) if node.args else node
    return made[expr]


def call_fault(operator: Operator, args: Sequence[Expr], options: Mapping[str, float]) -> Fault | None:
    """The first rule that this one call breaks, its arguments being sound; None where it breaks none."""
    fault = _name_fault(operator, options)
    if fault:
        return fault
    least = len(operator.slots)
    if len(args) < least or (len(args) > least and not operator.variadic):
        message = f"{operator.name} takes {count_of(operator)}, got {len(args)}"
        return Fault(message, Reason.DSL_ARITY, f"write {operator.signature}")
    for index, argument in enumerate(args):
        fault = _slot_fault(operator, index, argument)
        if fault:
            return fault
    return _option_fault(operator, args, options) or _joint_fault(operator, args) or _constant_fault(operator, args)


def label_fault(name: str) -> Fault | None:
    """The fault of a field or group that is named like a label, or None."""
    if not LABEL_NAME.fullmatch(name):
        return None
    message = f"{name!r} is named like a label (fwd_*, future_*, label*, target*), which holds the future"
    return Fault(message, Reason.LOOKAHEAD, "use what was known on the day")


def whole_fault(expr: Expr) -> Fault | None:
    """The rule that the tree breaks as a whole, its calls being sound; None where it breaks none."""
    if expr.kind == "group":
        hint = f"use it in a group slot, as in group_neutralize(close, {expr.name})"
        return Fault(f"{expr.name!r} is a group, not a number", Reason.DSL_KIND, hint)
    if not expr.fields:
        return Fault("an expression names at least one field, got none", Reason.DSL_CONSTANT, "use one, as in close")
    fault = _size_fault(expr)
    if fault is None and len(str(expr)) > MAX_BYTES:
        message = f"an expression has at most {MAX_BYTES} bytes when written out, got {len(str(expr))}"
        fault = Fault(message, Reason.DSL_TOO_LARGE, _SMALLER)
    return fault


def _size_fault(expr: Expr) -> Fault | None:
    for what, got, limit in (
        ("levels", expr.depth, MAX_DEPTH),
        ("nodes", expr.nodes, MAX_NODES),
        ("rows of lookback", expr.warmup, MAX_LOOKBACK),
    ):
        if got > limit:
            return Fault(f"an expression has at most {limit} {what}, got {got}", Reason.DSL_TOO_LARGE, _SMALLER)
    return None


def _cost_fault(expr: Expr, shape: tuple[int, int]) -> Fault | None:
    """Sound, but more work on this panel than one expression may ask for."""
    needed, allowed = cost(expr, shape), budget(shape)
    if needed <= allowed:
        return None
    message = (
        f"an expression may take at most {allowed:.2g} operations on {shape[0]} x {shape[1]} cells, "
        f"this one is estimated at {needed:.2g} (cells x window)"
    )
    return Fault(message, Reason.DSL_TOO_LARGE, "use shorter windows, or fewer of them")


def _slot_fault(operator: Operator, index: int, argument: Expr) -> Fault | None:
    slot = operator.slot(index)
    if slot.kind.literal:
        return _literal_fault(operator, slot, index, argument)
    what = f"{slot.name} of {operator.name}"
    if slot.kind is SlotKind.GROUP:
        if argument.kind == "group":
            return None
        return Fault(f"{what} must be the bare name of a group", Reason.DSL_KIND, "as in sector", index)
    if argument.kind == "group":
        message = f"{what} must be numbers, got the group {argument.name!r}"
        return Fault(message, Reason.DSL_KIND, f"write {operator.signature}", index)
    if slot.kind is SlotKind.CONDITION and not (argument.condition or is_truth(argument)):
        return Fault(f"{what} must be a condition", Reason.DSL_KIND, "compare, as in x > 0", index)
    if not argument.fields and not operator.elementwise and operator.name != "trade_when":
        hint = f"write {operator.signature}"
        return Fault(f"{what} must name a field, got a constant", Reason.DSL_CONSTANT, hint, index)
    return None


def _literal_fault(operator: Operator, slot: Slot, index: int, argument: Expr) -> Fault | None:
    what = f"{slot.name} of {operator.name}"
    rows = slot.kind in (SlotKind.WINDOW, SlotKind.LAG)
    kind = "an integer literal" if slot.kind.whole else "a number literal"
    if argument.kind != "number":
        reason = Reason.DSL_WINDOW if rows else Reason.DSL_KIND
        return Fault(f"{what} must be {kind}", reason, _bounds(operator, slot), index)
    value = argument.value
    got = number_text(value)
    if slot.kind is SlotKind.LAG and value <= 0:
        message = f"{what} must look back at least 1 row, got {got}"
        return Fault(message, Reason.LOOKAHEAD, _bounds(operator, slot), index)
    reason = Reason.DSL_WINDOW if rows else Reason.DSL_CONSTANT
    if slot.kind.whole and value != math.floor(value):
        return Fault(f"{what} must be {kind}, got {got}", reason, _bounds(operator, slot), index)
    below = value < slot.low or (slot.open_low and value == slot.low)
    above = value > slot.high or (slot.open_high and value == slot.high)
    if below or above:
        return Fault(f"{what} is out of range, got {got}", reason, _bounds(operator, slot), index)
    if slot.kind is SlotKind.WINDOW and value < operator.minimum:
        message = f"{operator.name} needs at least {operator.minimum} rows, got {got}"
        return Fault(message, reason, _bounds(operator, slot), index)
    return None


def _bounds(operator: Operator, slot: Slot) -> str:
    if slot.kind in (SlotKind.WINDOW, SlotKind.LAG):
        return f"an integer from {operator.minimum if slot.kind is SlotKind.WINDOW else 1} to {MAX_WINDOW}"
    parts = []
    if slot.low > -math.inf:
        parts.append(f"{'above' if slot.open_low else 'at least'} {slot.low:g}")
    if slot.high < math.inf:
        parts.append(f"{'below' if slot.open_high else 'at most'} {slot.high:g}")
    return " and ".join(parts) or f"write {operator.signature} with a number"


def _name_fault(operator: Operator, options: Iterable[str]) -> Fault | None:
    names = [option.name for option in operator.options]
    for name in options:
        if name not in names:
            message = f"{operator.name} has no option {name!r}, it has {_listed(names)}"
            hint = near(name, names) or f"write {operator.signature}"
            return Fault(message, Reason.DSL_NAME, hint, option=name)
    return None


def _option_fault(operator: Operator, args: Sequence[Expr], options: Mapping[str, float]) -> Fault | None:
    for option in operator.options:
        if option.name not in options:
            continue
        value = options[option.name]
        high = option.high if option.default is not None or operator.window is None else args[operator.window].value
        reason = Reason.DSL_WINDOW if option.whole else Reason.DSL_CONSTANT
        what, got = f"{option.name} of {operator.name}", number_text(value)
        if option.whole and value != math.floor(value):
            hint = f"an integer from {option.low:g} to {high:g}"
            return Fault(f"{what} must be an integer, got {got}", reason, hint, option=option.name)
        if value < option.low or value > high or (option.open_low and value == option.low):
            hint = f"from {option.low:g} to {high:g}" if high < math.inf else f"above {option.low:g}"
            return Fault(f"{what} is out of range, got {got}", reason, hint, option=option.name)
    return None


def _joint_fault(operator: Operator, args: Sequence[Expr]) -> Fault | None:
    if operator.name == "clip" and args[1].value > args[2].value:
        return Fault("clip needs low <= high", Reason.DSL_CONSTANT, f"write {operator.signature}", 1)
    if operator.name == "sma_cn" and args[2].value > args[1].value:
        return Fault("sma_cn needs m <= n", Reason.DSL_CONSTANT, f"write {operator.signature}", 2)
    return None


def _constant_fault(operator: Operator, args: Sequence[Expr]) -> Fault | None:
    if operator.elementwise and not any(argument.fields for argument in args):
        value = plain_call(operator.name, tuple(args)).constant
        if value is not None and math.isnan(value):
            hint = "no division by 0, no root or logarithm of a negative, at most 1.8e308"
            return Fault("a constant must have a finite value, this one has none", Reason.DSL_CONSTANT, hint)
    return None


def _check_names(expr: Expr, panel: Panel, source: Source | None) -> None:
    """Refuse the first name that the panel lacks, in the order of the text."""
    offered = list(panel.fields)
    if "close" in panel.fields and "returns" not in panel.fields:
        offered.append("returns")
    lacking = {
        node: _lacking(node.name, node.kind, offered, panel)
        for node in expr.walk()
        if (node.kind == "field" and node.name not in offered)
        or (node.kind == "group" and node.name not in panel.groups)
    }
    if lacking:
        columns = source.columns if source else {node: at for (node, index), at in render(expr)[1].items() if index < 0}
        first = min(lacking, key=lambda node: (columns.get(node, 1), node.name))
        _refuse(expr, first, lacking[first], source, missing=True)


def _lacking(name: str, kind: str, offered: list[str], panel: Panel) -> Fault:
    names = offered if kind == "field" else list(panel.groups)
    message = f"the panel has no {kind} {name!r}; it offers {_listed(names)}"
    if kind == "group":
        hint = near(name, names) or "use a group that it offers, or cs_* over the whole day"
    elif name in OPERATORS:
        hint = f"it is an operator: write {OPERATORS[name].signature}"
    elif name in panel.groups:
        hint = "it is a group and stands in a group slot only"
    else:
        hint = near(name, names) or "use a field that it offers"
    return Fault(message, Reason.DSL_FIELD, hint)


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return (", ".join(listed[:_LISTED]) or "none") + more


def _refuse(expr: Expr, node: Expr, fault: Fault, source: Source | None, *, missing: bool = False) -> NoReturn:
    if source is None:
        text, places = render(expr)
        column = places[node, fault.index]
    else:
        at = node.args[fault.index] if fault.index >= 0 else node
        text, column = source.text, source.columns.get(at, 1)
    error = UnknownField if missing else ExpressionError
    raise error(fault.message, text=text, column=column, reason=fault.reason, hint=fault.hint)
