"""A GBNF grammar (llama.cpp's) of replies, made from the operator table and a panel's fields.

A server that obeys it can only answer with an expression that names fields of the panel, operators
of the table and windows in their range. It writes no programs: a model that needs a grammar is not one for them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence

from alphaswarm.dsl import operators
from alphaswarm.dsl.signature import Operator, Slot, SlotKind

__all__ = ["reply_grammar", "words_grammar"]

DEPTH = 3
# Days, trading weeks, months, a quarter, half a year, a year.
WINDOWS = (5, 10, 20, 40, 60, 120, 250)
LAGS = (1, 2, 5, 10, 20)
INTEGERS = (1, 2, 3, 5, 10)
HORIZONS = (1, 5, 10, 20, 60)
NUMBERS = (0.5, 0.1, 0.9, 0.25, 0.05, 2.0, 3.0, 1.0)
# Their literals constrain each other, or they say nothing about returns and volumes: a small model, which
# picks by chance, is better off without. A capable one is not bound by a grammar.
LEFT_OUT = frozenset(
    {"adv", "ceil", "clip", "eq", "exp", "fill", "floor", "is_nan", "ne", "pow", "round", "sma_cn", "ts_autocorr"}
)
# A choice of literals, which is written once as a rule of its own.
_CHOICE = re.compile(r'\((?:"[0-9.]+" \| )+"[0-9.]+"\)')
_WORDS = "[A-Za-z0-9 ,.-]{8,120}"
_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|\[[^]]*\]|\{[^}]*\}')


def reply_grammar(
    fields: Sequence[str],
    groups: Sequence[str] = (),
    *,
    depth: int = DEPTH,
    first: Collection[str] = (),
    refines: Sequence[str] = (),
) -> str:
    """The grammar of a reply as `proposers.prompt.REPLY_SCHEMA` asks for it, the program left empty.

    Args:
        fields: names that may stand in a series slot, at least one.
        groups: names that may stand in a group slot; without any, group operators are left out.
        depth: levels of nesting.
        first: operators that the outermost call may be of; any that are of no use here are passed over.
        refines: ids of earlier trials that may be named.
    """
    usable = {
        name: row
        for name, row in operators().items()
        if name not in LEFT_OUT
        and (row.expands is None or row.expands[1] in fields)
        and (groups or all(slot.kind is not SlotKind.GROUP for slot in row.slots))
        and all(_literals(slot, row) for slot in row.slots if slot.kind.literal)
    }
    rules = {
        "root": _object(
            {
                "hypothesis": '"\\"" words "\\""',
                "sign": "sign",
                "horizon": "horizon",
                "refines": "refines",
                "expression": f'"\\"" s{depth} "\\""',
                "program": _quoted('""'),
            }
        ),
        "words": _WORDS,
        "sign": _one_of(["1", "-1"]),
        "horizon": _one_of([str(days) for days in HORIZONS]),
        "refines": _one_of(['""', *(f'"{name}"' for name in refines)]),
        "field": _one_of(sorted(fields)),
    }
    if groups:
        rules["group"] = _one_of(sorted(groups))
    makes_conditions = {name: row for name, row in usable.items() if row.result == "condition"}
    makes_numbers = {name: row for name, row in usable.items() if row.result != "condition"}
    rules["s0"] = "field"
    for level in range(1, depth):
        rules |= _level("s", makes_numbers, level, 'field | "-" field | ')
        rules |= _level("c", makes_conditions, level)
    # The whole must be more than a bare field, which a weak model would always choose.
    outermost = {name: row for name, row in makes_numbers.items() if name in first} or makes_numbers
    rules |= _level("s", outermost, depth, names="t-")
    for number, choice in enumerate(sorted({choice for text in rules.values() for choice in _CHOICE.findall(text)})):
        rules = {name: text.replace(choice, f"n{number}") for name, text in rules.items()} | {f"n{number}": choice}
    return "\n".join(f"{name} ::= {text}" for name, text in _reachable(rules).items()) + "\n"


def words_grammar(names: Sequence[str]) -> str:
    """The grammar of a JSON object whose values are plain words."""
    root = _object(dict.fromkeys(names, '"\\"" words "\\""'))
    return f"root ::= {root}\nwords ::= {_WORDS}\n"


def _object(values: Mapping[str, str]) -> str:
    """A JSON object with these names in this order, each value written by a rule."""
    parts = []
    for count, (name, rule) in enumerate(values.items()):
        before = ", " if count else "{"
        parts.append(f"{_quoted(before + _quoted(name) + ': ')} {rule}")
    return " ".join([*parts, _quoted("}")])


def _level(
    prefix: str, rows: Mapping[str, Operator], level: int, start: str = "", *, names: str = "f-"
) -> dict[str, str]:
    """One rule for the level, and one for the names of each shape of call in it."""
    shapes: dict[str, list[str]] = {}
    for name, row in rows.items():
        shape = _shape(row, level)
        if shape:
            shapes.setdefault(shape, []).append(name)
    parts: list[str] = []
    made: dict[str, str] = {}
    for shape, members in sorted(shapes.items()):
        # Named after the first member, so that levels with the same operators share the rule.
        rule = names + min(members).replace("_", "-")
        if "NAMES" in shape:
            made[rule] = _one_of(sorted(members))
        parts.append(shape.replace("NAMES", rule))
    return {f"{prefix}{level}": start + " | ".join(parts), **made} if parts else {}


def _shape(row: Operator, level: int) -> str:
    """How a call of this row is written at this level; rows of one shape share one alternative."""
    below = {SlotKind.SERIES: f"s{level - 1}", SlotKind.CONDITION: f"c{level - 1}", SlotKind.GROUP: "group"}
    if level == 1 and any(slot.kind is SlotKind.CONDITION for slot in row.slots):
        return ""
    slots = [below.get(slot.kind) or _one_of(_literals(slot, row)) for slot in row.slots]
    if row.symbol and len(slots) == 2:
        return f'"(" {slots[0]} {_quoted(f" {row.symbol} ")} {slots[1]} ")"'
    if row.symbol:  # unary minus and not
        return f'{_quoted("-(" if row.symbol == "-" else f"({row.symbol} ")} {slots[0]} ")"'
    return 'NAMES "(" ' + ' ", " '.join(slots) + ' ")"'


def _literals(slot: Slot, row: Operator) -> list[str]:
    """Sensible numbers for a literal slot, inside its bounds."""
    offered: Sequence[float] = {
        SlotKind.WINDOW: WINDOWS,
        SlotKind.LAG: LAGS,
        SlotKind.INTEGER: INTEGERS,
        SlotKind.NUMBER: NUMBERS,
    }.get(slot.kind, ())
    low = max(slot.low, row.minimum) if slot.kind is SlotKind.WINDOW else slot.low
    kept = [
        value
        for value in offered
        if low <= value <= slot.high
        and not (slot.open_low and value == slot.low)
        and not (slot.open_high and value == slot.high)
    ]
    return [f"{value:g}" for value in kept]


def _one_of(words: Sequence[str]) -> str:
    quoted = [_quoted(word) for word in words]
    return quoted[0] if len(quoted) == 1 else f"({' | '.join(quoted)})"


def _quoted(text: str) -> str:
    return json.dumps(text)


def _reachable(rules: Mapping[str, str]) -> dict[str, str]:
    """Only the rules that the root leads to: a grammar with loose ends is refused by some servers."""
    found: list[str] = []
    waiting = ["root"]
    while waiting:
        name = waiting.pop(0)
        if name in found or name not in rules:
            continue
        found.append(name)
        waiting += [word for word in re.findall(r"[a-z][a-z0-9-]*", _TEXT.sub(" ", rules[name])) if word in rules]
    return {name: rules[name] for name in found}
