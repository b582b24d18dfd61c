r"""`latex`: an expression as LaTeX, in the order in which it was written.

Windows and lags stand as subscripts, quotients as fractions: ``\operatorname{ts\_mean}_{5}\left(...\right)``.
"""

from __future__ import annotations

from alphaswarm.dsl.expr import Expr, number_text
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family, SlotKind

__all__ = ["latex"]

_SIGNS = {"*": r"\cdot", "<=": r"\le", ">=": r"\ge", "==": "=", "!=": r"\ne", "and": r"\land", "or": r"\lor"}
_ATOM, _MINUS = 9, 7


def latex(expr: Expr) -> str:
    """`expr` for a formula environment, without dollar signs."""
    made: dict[Expr, tuple[str, int]] = {}
    for node in expr.walk():
        made[node] = _written(node, [made[argument] for argument in node.args])
    return made[expr][0]


def _written(node: Expr, parts: list[tuple[str, int]]) -> tuple[str, int]:
    """The text of one node and how tightly it binds."""
    if node.kind == "number":
        mantissa, _, exponent = number_text(node.value).partition("e")
        text = rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa
        return text, 6 if exponent else _MINUS if node.value < 0 else _ATOM
    if node.kind != "call":
        return rf"\mathrm{{{_escaped(node.name)}}}", _ATOM
    operator = OPERATORS[node.op]
    level = operator.precedence
    if node.op == "div":
        return rf"\frac{{{parts[0][0]}}}{{{parts[1][0]}}}", _ATOM - 1
    if node.op == "pow":
        return f"{_within(parts[0], _ATOM)}^{{{parts[1][0]}}}", level
    if node.op == "abs":
        return rf"\left|{parts[0][0]}\right|", _ATOM
    if node.op == "sqrt":
        return rf"\sqrt{{{parts[0][0]}}}", _ATOM
    if operator.symbol and len(parts) == 1:
        sign = "-" if operator.symbol == "-" else r"\lnot "
        return sign + _within(parts[0], level), level
    if operator.symbol:
        left = level + (operator.family is Family.COMPARISON)
        sign = _SIGNS.get(operator.symbol, operator.symbol)
        return f"{_within(parts[0], left)} {sign} {_within(parts[1], level + 1)}", level
    return _called(node, parts), _ATOM


def _called(node: Expr, parts: list[tuple[str, int]]) -> str:
    operator = OPERATORS[node.op]
    below: list[str] = []
    inside: list[str] = []
    for index, (text, _) in enumerate(parts):
        rows = operator.slot(index).kind in (SlotKind.WINDOW, SlotKind.LAG)
        (below if rows else inside).append(text)
    inside += [rf"\mathit{{{_escaped(name)}}} = {number_text(value)}" for name, value in node.options]
    index_text = f"_{{{', '.join(below)}}}" if below else ""
    return rf"\operatorname{{{_escaped(node.op)}}}{index_text}\left({', '.join(inside)}\right)"


def _within(part: tuple[str, int], least: int) -> str:
    return rf"\left({part[0]}\right)" if part[1] < least else part[0]


def _escaped(name: str) -> str:
    return name.replace("_", r"\_")
