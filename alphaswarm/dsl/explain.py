"""`explain`: what an expression says, how large it is, and simpler ways to say it.

Words and LaTeX are made here. Simpler forms are the canonical one, the one with its factors carried outwards, and what
SymPy proposes from its own process within two seconds for at most 60 nodes. A proposal is shown only if the three
markets of `dsl.fingerprint` bear it out, with what they found; nothing is ever replaced.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from alphaswarm.core.errors import ProviderError
from alphaswarm.dsl.boxed import Box, run_boxed
from alphaswarm.dsl.canonical import canonical
from alphaswarm.dsl.check import check
from alphaswarm.dsl.expr import Expr, call, field, group, number, number_text, plain_call
from alphaswarm.dsl.fingerprint import Relation, equivalent, fingerprint, same_values
from alphaswarm.dsl.latex import latex
from alphaswarm.dsl.limits import MAX_DEPTH
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.parser import parse
from alphaswarm.dsl.scaling import without_factor
from alphaswarm.dsl.signature import SlotKind
from alphaswarm.dsl.words import in_words

__all__ = ["Explanation", "Suggestion", "explain"]

MAX_ASKED = 60
"""Nodes up to which SymPy is asked: its time grows quickly beyond."""
BOX = Box(memory=1 << 30, cpu=2, wall=10.0, output=1 << 18)

_WORKER = Path(__file__).with_name("algebra.py")
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A simpler form.

    Attributes:
        expression: its text.
        relation: "same" or "mirrored", how it ranks the stocks of a day.
        safety: "exact" (the same bits on every panel), "values" (the test markets gave the same values up to
            rounding) or "ranks" (only the order within the day is the same).
    """

    expression: str
    relation: Relation
    safety: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """All that `explain` can say of an expression.

    Attributes:
        expression, canonical, digest: the text, its canonical form and that form's name.
        words: plain English. latex: for a formula environment.
        depth, nodes: size of the written tree. lookback: earlier rows that it reads, None for all history.
        fields, groups: what it names.
        fingerprint: key of its ranks on the test markets; equal for a formula and its negative.
        suggestions: simpler forms, the shortest first.
        notes: what could not be told, and why.
    """

    expression: str
    canonical: str
    digest: str
    words: str
    latex: str
    depth: int
    nodes: int
    lookback: int | None
    fields: tuple[str, ...]
    groups: tuple[str, ...]
    fingerprint: str
    suggestions: tuple[Suggestion, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def explain(expr: Expr | str) -> Explanation:
    """Explain `expr`.

    Raises:
        ExpressionError: text or tree that is no valid expression.
    """
    tree = parse(expr) if isinstance(expr, str) else check(expr)
    short = canonical(tree)
    proposed, notes = _proposed(tree)
    return Explanation(
        expression=str(tree),
        canonical=str(short),
        digest=tree.digest,
        words=in_words(tree),
        latex=latex(tree),
        depth=tree.depth,
        nodes=tree.nodes,
        lookback=tree.lookback,
        fields=tree.fields,
        groups=tree.groups,
        fingerprint=fingerprint(tree).key,
        suggestions=_suggestions(tree, short, [*_rescaled(tree), *proposed]),
        notes=notes,
    )


def _suggestions(tree: Expr, short: Expr, proposed: list[Expr]) -> tuple[Suggestion, ...]:
    """The canonical form and the proposals, as far as they are shorter and the markets bear them out."""
    made = [Suggestion(str(short), Relation.SAME, "exact")] if short.nodes < tree.nodes else []
    best = min(tree.nodes, short.nodes)
    shorter = {one: None for one in sorted(proposed, key=lambda one: (one.nodes, str(one))) if one.nodes < best}
    for one in shorter:
        relation = equivalent(tree, one)
        if relation is not Relation.DIFFERENT:
            safety = "values" if relation is Relation.SAME and same_values(tree, one) else "ranks"
            made.append(Suggestion(str(one), relation, safety))
    order = {"exact": 0, "values": 1, "ranks": 2}
    first = {one.safety: one for one in reversed(made)}  # the shortest of each kind
    return tuple(sorted(first.values(), key=lambda one: order[one.safety]))[:_SHOWN]


def _rescaled(tree: Expr) -> list[Expr]:
    """`tree` without its positive factor, and with it in front."""
    factor, core = without_factor(tree)
    forms = [core, canonical(plain_call("mul", (number(factor), core)))]
    return [form for form in forms if form.depth <= MAX_DEPTH]


def _proposed(tree: Expr) -> tuple[list[Expr], tuple[str, ...]]:
    """Checked expressions that SymPy proposes, and notes on what it could not do."""
    if tree.nodes > MAX_ASKED:
        return [], (f"SymPy is asked about at most {MAX_ASKED} nodes, these are {tree.nodes}",)
    payload = {
        "nodes": _nodes(tree),
        "order_only": [row.name for row in OPERATORS.values() if row.order_only],
    }
    try:
        outcome = run_boxed(_WORKER, payload, BOX, ["sympy", "mpmath"])
    except ProviderError as error:
        return [], (f"SymPy was not asked: {error}",)
    answer = outcome.answer
    if answer is None:
        return [], (f"SymPy gave no answer: {outcome.fault}",)
    forms = answer.get("forms")
    found = [_tree(form) for form in forms] if isinstance(forms, list) else []
    late = ("SymPy ran out of time; there may be simpler forms",) if answer.get("late") else ()
    return [one for one in found if one is not None], late


def _nodes(tree: Expr) -> list[list[Any]]:
    """`tree` as a list of nodes, arguments before the calls that use them: [kind, name, value, args, options]."""
    nodes: list[list[Any]] = []
    places: dict[Expr, int] = {}
    for node in tree.walk():
        kind = node.kind if node.kind in ("number", "call") else "name"
        value = number_text(node.value) if kind == "number" else ""
        places[node] = len(nodes)
        args = [places[argument] for argument in node.args]
        nodes.append([kind, node.op or node.name, value, args, [list(option) for option in node.options]])
    return nodes


def _tree(nodes: Any) -> Expr | None:
    """The canonical tree of a list of nodes, or None where it makes no valid expression."""
    made: list[Expr] = []
    try:
        for kind, name, value, args, options in nodes:
            if kind == "number":
                made.append(number(float(value)))
            elif kind == "name":
                made.append(field(name))
            else:
                slots = OPERATORS[name]
                parts = [
                    group(part.name) if slots.slot(index).kind is SlotKind.GROUP else part
                    for index, part in enumerate(made[place] for place in args)
                ]
                made.append(call(name, *parts, **dict(options)))
        return check(canonical(check(made[-1])))
    except (LookupError, OverflowError, TypeError, ValueError):
        return None
