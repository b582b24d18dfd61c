"""The table of operators and the dialects for readers: facts for programs, and generated pages of ``docs/``."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

from alphaswarm.dsl.dialects import Dialect
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.signature import Family, Operator, Scale, Slot, SlotKind, UnitRule, Work

__all__ = ["dialect_markdown", "operator_facts", "operators_markdown"]

_FAMILIES = {
    Family.ELEMENT: ("Cell by cell", "each cell of the result reads that cell of the arguments only"),
    Family.COMPARISON: ("Comparisons", "1, 0, or NaN where either side is NaN; they do not chain"),
    Family.LOGIC: ("Logic", "three-valued: NaN unless the other side decides"),
    Family.LAG: ("Lags", "one earlier row"),
    Family.WINDOW: ("Windows", "the last d rows of one name, today included"),
    Family.STATE: ("State", "from the first valid value on; no finite history is exact, a window counts as warm-up"),
    Family.CROSS: ("Day", "the members of one day"),
    Family.GROUP: ("Groups", "the members of one day with the same label"),
}
_UNITS = {
    UnitRule.SAME: "that of the first series",
    UnitRule.ALIKE: "one for all",
    UnitRule.COMPARED: "one for all; gives a plain number",
    UnitRule.PLAIN: "gives a plain number",
    UnitRule.BARE: "plain numbers only",
    UnitRule.PRODUCT: "the product",
    UnitRule.RATIO: "the ratio",
    UnitRule.POWER: "the power",
    UnitRule.SQUARE: "the square",
    UnitRule.ROOT: "the root",
}
_SCALES = {
    Scale.INVARIANT: "the same",
    Scale.LINEAR: "times c",
    Scale.JOINT: "times c if all",
    Scale.COMPARED: "the same if all",
    Scale.PRODUCT: "times c for each",
    Scale.RATIO: "times c for the first, over c for the second",
    Scale.POWER: "times c to that power",
    Scale.SQUARE: "times c squared",
    Scale.ROOT: "times root c",
    Scale.NONE: "",
}
_WORK = {
    Work.CELL: "1",
    Work.DAY: "log2 N",
    Work.ROWS: "d",
    Work.MOMENTS: "4 d",
    Work.PAIRS: "8 d",
    Work.SORTS: "d log2 d",
}
_HEAD = """\
# Operators

Written by `alphaswarm alpha operators --markdown` from the one table that the parser, the checker and the engines
read; a test holds this page to it. The grammar and the rules of the whole language are in [language.md](language.md).

These rules hold for every operator:

- Values are float64 [T, N]. NaN means "undefined" and spreads; an infinity becomes NaN at the operator that made it.
- A window of d rows includes today. With the default `min_obs` (= d) it needs d valid rows: the first d - 1 rows are
  NaN, and any NaN inside gives NaN. With `min_obs=k` the statistic uses the valid rows only and needs k of them.
- What speaks about today's value (rank, zscore, scale, differences) is NaN where today is NaN.
- A cross-section is the day's members of the universe with a value. Ties take the average rank.
- **Units** says what the result is measured in and what is asked of the arguments; a mixture is a warning.
- **Cost** is operations a cell, for the check against the budget: d is the window, N the names of a day.
- **Times c > 0** says what a positive factor on a series does to the result. "the same": nothing. "times c": it is
  multiplied too, by a factor on the first series only. "if all": where every series has the same factor. "over c": it
  is divided. Empty: there is no such law.
- **Kernel** is the compiled code that makes the values, in `alphaswarm/dsl/kernels`; windows in which rows may be
  missing (`min_obs`) go to `rolling` and `pair_windows`.
- **Same when negated** lists arguments whose minus sign passes to the result (odd) or is lost (even).
"""


def operator_facts(operator: Operator) -> dict[str, Any]:
    """All that its row says, as plain JSON."""
    return {
        "name": operator.name,
        "signature": operator.signature,
        "doc": operator.doc,
        "example": operator.example,
        "family": operator.family.value,
        "arity": len(operator.slots),
        "variadic": operator.variadic,
        "slots": [_slot_facts(slot) for slot in operator.slots],
        "options": [
            {"name": option.name, "default": option.default, "low": option.low, "high": _finite(option.high)}
            for option in operator.options
        ],
        "result": operator.result.value,
        "symbol": operator.symbol or None,
        "minimum_window": operator.minimum if operator.window is not None else None,
        "lookback": _lookback(operator),
        "units": operator.units.value,
        "scale": operator.scale.value,
        "kernel": operator.kernel,
        "cost": _WORK[operator.work],
        "commutative": operator.commutative,
        "idempotent": operator.idempotent,
        "order_only": operator.order_only,
        "odd": [operator.slots[index].name for index in operator.odd],
        "even": [operator.slots[index].name for index in operator.even],
        "stands_for": " of ".join(operator.expands) if operator.expands else None,
    }


def operators_markdown() -> str:
    """The page ``docs/operators.md``."""
    parts = [_HEAD]
    shorthands = [row for row in operators().values() if row.expands]
    rows = sorted(
        (row for row in operators().values() if not row.expands), key=lambda row: list(_FAMILIES).index(row.family)
    )
    for family, members in groupby(rows, key=lambda row: row.family):
        title, rule = _FAMILIES[family]
        parts.append(_section(title, rule, list(members)))
    parts.append(_section("Shorthands", "written out when they are read; they never appear in a tree", shorthands))
    return "\n".join(parts)


def dialect_markdown(dialect: Dialect) -> str:
    """The page of a dialect: its words, what each is natively, and what differs."""
    written_by = f"alphaswarm alpha operators --dialect {dialect.name} --markdown"
    signs = " ".join(f"`{sign}`" for sign in dialect.infix) + (" `? :`" if dialect.choice else "")
    words = [word for rows in (dialect.words or {}).values() for word in rows]
    return "".join(
        (
            f"# The dialect `{dialect.name}`\n\nWritten by `{written_by}`; a test holds this page to what is read.\n",
            "Where a name stands on several lines the first that fits the arguments is taken.\n\n",
            f"A field is its bare name, {dialect.bare}. Signs: {signs}.\n\n",
            *(f"- {text[0].upper()}{text[1:]}.\n" for _, text in dialect.remarks),
            "\n| written | native | note |\n|---|---|---|\n",
            *(_row(f"`{word.shown}`", f"`{word.native}`", word.note) for word in words),
        )
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def _section(title: str, rule: str, rows: list[Operator]) -> str:
    columns = (
        "write",
        "meaning",
        "looks back",
        "units",
        "times c > 0",
        "same when negated",
        "cost",
        "kernel",
        "example",
    )
    head = _row(*columns) + _row(*("---" for _ in columns)).strip()
    return f"## {title}\n\n{rule[0].upper()}{rule[1:]}.\n\n{head}\n" + "".join(map(_line, rows))


def _line(operator: Operator) -> str:
    smallest = f"; at least {operator.minimum} rows" if operator.minimum > 1 else ""
    signs = [f"{operator.slots[index].name} odd" for index in operator.odd]
    signs += [f"{operator.slots[index].name} even" for index in operator.even]
    write = operator.signature
    if operator.symbol and len(operator.slots) == 2:
        write = f"{operator.slots[0].name} {operator.symbol} {operator.slots[1].name}"
    elif operator.symbol:
        write = f"{operator.symbol}{' ' if operator.symbol.isalpha() else ''}{operator.slots[0].name}"
    return _row(
        f"`{write}`",
        operator.doc + smallest,
        _lookback(operator),
        _UNITS[operator.units],
        "over c" if operator.scale is Scale.RATIO and len(operator.slots) == 1 else _SCALES[operator.scale],
        ", ".join(signs),
        _WORK[operator.work],
        f"`{operator.kernel}`",
        f"`{operator.example}`",
    )


def _lookback(operator: Operator) -> str:
    parts = []
    for slot in operator.slots:
        if slot.kind is SlotKind.WINDOW:
            parts.append(f"{slot.name} - 1")
        elif slot.kind is SlotKind.LAG:
            parts.append(slot.name)
    if operator.recursive:
        return "all history"
    return " + ".join(parts) or "0"


def _slot_facts(slot: Slot) -> dict[str, Any]:
    bounds = {"low": _finite(slot.low), "high": _finite(slot.high)} if slot.kind.literal else {}
    return {"name": slot.name, "kind": slot.kind.value, **bounds}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
