"""What values are measured in, and warnings where an expression mixes measures.

A unit is a power of price times a power of shares: volume is in shares, traded value is price x shares (money), a
return, a rank and a count are plain numbers. Each row of the table says what it makes of its arguments' units
(`UnitRule`). A number written out fits every unit; a field whose unit nobody states is never warned about. A mixture
is a warning and no error: it has a value, which changes when a price is quoted in cents or a stock splits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from alphaswarm.core.panel import Panel
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Operator, SlotKind, UnitRule

__all__ = ["FIELD_UNITS", "UNITS", "ExprWarning", "Unit", "unit_of", "warnings_of"]

_SHOWN = 80  # characters of the faulty part that a warning repeats


@dataclass(frozen=True, slots=True)
class Unit:
    """price ** `price` * shares ** `shares`."""

    price: float = 0.0
    shares: float = 0.0

    def times(self, other: Unit, power: float = 1.0) -> Unit:
        """This unit times `other` to a power."""
        return Unit(round(self.price + power * other.price, 6), round(self.shares + power * other.shares, 6))

    def __str__(self) -> str:
        if self.price == self.shares:
            parts = [("money", self.price)]
        else:
            parts = [("price", self.price), ("shares", self.shares)]
        above = " x ".join(_power(name, power) for name, power in parts if power > 0)
        below = " x ".join(_power(name, -power) for name, power in parts if power < 0)
        if not below:
            return above or "a plain number"
        return f"{above or 1} / {below}" if " x " not in below else f"{above or 1} / ({below})"


def _power(name: str, power: float) -> str:
    return name if power == 1 else f"{name} ** {power:g}"


_NONE, _PRICE, _SHARES, _MONEY = Unit(), Unit(price=1), Unit(shares=1), Unit(1, 1)

UNITS: Mapping[str, Unit] = MappingProxyType(
    {"price": _PRICE, "shares": _SHARES, "volume": _SHARES, "money": _MONEY, "return": _NONE, "none": _NONE}
)
"""The units that a panel may state for its own fields in ``meta["units"]``, e.g. ``{"eps": "price"}``."""

FIELD_UNITS: Mapping[str, Unit] = MappingProxyType(
    {
        **dict.fromkeys(("open", "high", "low", "close", "vwap"), _PRICE),
        "volume": _SHARES,
        **dict.fromkeys(("dollar_volume", "amount", "cap"), _MONEY),
        **dict.fromkeys(("returns", "sigma"), _NONE),
    }
)
"""What the fields of these names are in, where the panel says nothing else."""


@dataclass(frozen=True, slots=True)
class ExprWarning:
    """Something sound that is probably not meant.

    Attributes:
        rule: what should hold.
        text: the part of the expression where it does not.
        units: the two that meet there.
    """

    rule: str
    text: str
    units: tuple[str, str]

    def __str__(self) -> str:
        return f"{self.rule}, got {self.units[0]} and {self.units[1]} in {self.text}"


def warnings_of(expr: Expr, panel: Panel | None = None) -> tuple[ExprWarning, ...]:
    """Where `expr` adds or compares what is measured differently, each place once, inner ones first.

    Args:
        expr: a checked expression.
        panel: whose ``meta["units"]`` states the units of its own fields.
    """
    return _walk(expr, _stated(panel))[1]


def unit_of(expr: Expr, panel: Panel | None = None) -> Unit | None:
    """What the values of `expr` are in; None where a field's unit is not known."""
    return _walk(expr, _stated(panel))[0]


def _stated(panel: Panel | None) -> Mapping[str, object]:
    units = panel.meta.get("units") if panel is not None else None
    return units if isinstance(units, Mapping) else {}


def _walk(expr: Expr, stated: Mapping[str, object]) -> tuple[Unit | None, tuple[ExprWarning, ...]]:
    units: dict[Expr, Unit | None] = {}
    found: list[ExprWarning] = []
    for node in expr.walk():
        if node.kind == "call":
            units[node] = _of_call(node, units, found)
        elif node.kind == "field":
            units[node] = _of_field(node.name, stated, found)
        else:
            units[node] = _NONE
    return units[expr], tuple(found)


def _of_field(name: str, stated: Mapping[str, object], found: list[ExprWarning]) -> Unit | None:
    if name not in stated:
        return FIELD_UNITS.get(name)
    given = str(stated[name])
    if given not in UNITS:
        rule = f"a panel states the unit of a field as {', '.join(UNITS)}"
        found.append(ExprWarning(rule, name, (repr(given)[:_SHOWN], "no other")))
    return UNITS.get(given)


def _of_call(node: Expr, units: Mapping[Expr, Unit | None], found: list[ExprWarning]) -> Unit | None:
    operator = OPERATORS[node.op]
    series = [part for index, part in enumerate(node.args) if operator.slot(index).kind is SlotKind.SERIES]
    match operator.units:
        case UnitRule.PLAIN:
            return _NONE
        case UnitRule.SAME:
            return units[series[0]]
        case UnitRule.ALIKE | UnitRule.COMPARED:
            shared = _shared(node, operator, series, units, found)
            return _NONE if operator.units is UnitRule.COMPARED else shared
        case UnitRule.BARE:
            unit = units[series[0]] if series[0].fields else None
            if unit not in (None, _NONE):
                rule = f"{operator.name} takes a plain number"
                found.append(ExprWarning(rule, _text(node), (str(unit), str(_NONE))))
            return _NONE
    return _combined(node, operator.units, [units[part] for part in series])


def _shared(
    node: Expr,
    operator: Operator,
    series: list[Expr],
    units: Mapping[Expr, Unit | None],
    found: list[ExprWarning],
) -> Unit | None:
    """The unit that all of `series` have; the first one, with a warning, where they differ."""
    known = [unit for part in series if part.fields and (unit := units[part]) is not None]
    if not known:
        return None if any(part.fields for part in series) else _NONE
    other = next((unit for unit in known if unit != known[0]), None)
    if other is not None:
        rule = f"{operator.symbol or operator.name} needs one unit"
        found.append(ExprWarning(rule, _text(node), (str(known[0]), str(other))))
    return known[0]


def _combined(node: Expr, rule: UnitRule, parts: list[Unit | None]) -> Unit | None:
    known = [unit for unit in parts if unit is not None]
    if len(known) < len(parts):
        return None
    first = known[0]
    if rule is UnitRule.PRODUCT:
        return first.times(known[1])
    if rule is UnitRule.RATIO:
        return first.times(known[1], -1) if len(known) > 1 else _NONE.times(first, -1)
    if rule is not UnitRule.POWER:
        return _NONE.times(first, 2 if rule is UnitRule.SQUARE else 0.5)
    exponent = node.args[-1].constant
    if first == _NONE:
        return _NONE
    return None if exponent is None else _NONE.times(first, exponent)


def _text(node: Expr) -> str:
    text = str(node)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."
