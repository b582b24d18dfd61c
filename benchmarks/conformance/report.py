"""Compare, and write the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from alphaswarm.dsl import operators
from benchmarks.conformance.cases import CASES, Case
from benchmarks.conformance.differences import ABSENT, REASONS, RULES, reason

__all__ = ["agree", "faults", "page"]

RELATIVE = 1e-9
Values = Sequence[float]


def agree(got: Values | None, true: Sequence[float]) -> bool:
    """Whether the values are the same to nine digits, NaN for NaN."""
    if got is None or len(got) != len(true):
        return False
    return all(
        (math.isnan(one) and math.isnan(other)) or one == other or abs(one - other) <= RELATIVE * abs(other) + 1e-15
        for one, other in zip(got, true, strict=True)
    )


def faults(answers: Mapping[str, Any]) -> list[str]:
    """Differences without a reason, rules that explain nothing, reasons that no rule names."""
    found, used = [], set()
    for peer, answer in answers.items():
        for case in CASES:
            got = answer["values"].get(case.key)
            if got is None or agree(got, case.value):
                continue
            known = reason(peer, case.op, case.note)
            if known is None:
                found.append(f"{peer} {case.key}: {_shown(got)} instead of {_shown(case.value)}, no rule")
            else:
                used.add(known[0])
    found += [f"rule {rule} explains nothing" for rule in RULES if rule not in used and _could(rule, answers)]
    found += [f"no rule names {name!r}" for name in REASONS if name not in RULES.values()]
    return found


def _could(rule: tuple[str, str, str], answers: Mapping[str, Any]) -> bool:
    return rule[0] == "*" or rule[0] in answers


def page(answers: Mapping[str, Any], names: Sequence[str]) -> str:
    """The whole page in Markdown; `names` are all peers, those without an answer were absent."""
    present = [name for name in names if name in answers]
    lines = [
        "# Operator conformance",
        "",
        "Every operator on inputs small enough for a sheet of paper: the value worked out by hand, which both engines",
        "give, and what other libraries make of the same numbers. Made by `python -m benchmarks.conformance`.",
        "",
        "`=` is the same to nine digits; another value is followed by the number of its reason below; an empty cell",
        "means that the library has no such operator. Windows over time give the value of the last row, all other",
        "operators one value for each symbol; `-` is NaN.",
        "",
        "Compared: " + ", ".join(f"{name} {answers[name]['version']}" for name in present) + ".",
    ]
    absent = [f"{name} (not installed)" for name in names if name not in answers]
    absent += [f"{name} ({why})" for name, why in ABSENT.items()]
    lines += ["Absent: " + ", ".join(absent) + ".", ""]
    numbers = {name: place for place, name in enumerate(REASONS, 1)}
    for title, over in (("Cells", ("cells",)), ("Time", ("time",)), ("The day", ("day",))):
        lines += [f"## {title}", "", "| expression | input | ours | " + " | ".join(present) + " |"]
        lines.append("|---|---|---|" + "---|" * len(present))
        for op in operators():
            for case in CASES:
                if case.op == op and case.over in over:
                    cells = [_cell(case, name, answers[name]["values"].get(case.key), numbers) for name in present]
                    shown = [_escaped(case.text), _input(case), _shown(case.value), *cells]
                    lines.append("| " + " | ".join(shown) + " |")
        lines.append("")
    lines += ["## Reasons", ""]
    lines += [f"{number}. **{name}**: {REASONS[name]}" for name, number in numbers.items()]
    return "\n".join(lines) + "\n"


def _cell(case: Case, peer: str, got: Values | None, numbers: Mapping[str, int]) -> str:
    if got is None:
        return ""
    if agree(got, case.value):
        return "="
    known = reason(peer, case.op, case.note)
    return f"{_shown(got)} [{numbers[known[1]] if known else '?'}]"


def _input(case: Case) -> str:
    parts = [
        f"{name} = {_shown(values)}" for name, values in case.fields.items() if name in case.text.split("(", 1)[-1]
    ]
    if case.labels:
        parts.append("g = " + " ".join(label or "-" for label in case.labels))
    return (f"{case.note}: " if case.note else "") + "; ".join(parts)


def _shown(values: Values) -> str:
    return " ".join("-" if math.isnan(value) else f"{value:.6g}" for value in values)


def _escaped(text: str) -> str:
    return f"`{text}`"
