"""The expression language in words, made from its operator table and its limits."""

from __future__ import annotations

from itertools import groupby

from alphaswarm.dsl import limits
from alphaswarm.dsl.operators import operators

__all__ = ["grammar_text", "language_limits", "operator_lines", "syntax_text"]

SYNTAX = """\
An alpha is one expression; its value is a number for each day and stock.

  expression  number | field | name(arg, ..., option=value) | -x | x + y | (x)
  infix       loosest first: {infix}
  number      decimal, finite: 5, 0.25, 1e-3
  field       a bare lower-case name of the panel (close, volume, returns, ...)
  group       a bare name of the panel's groups (sector, ...), only in a slot g

- ASCII only. No strings, attributes, subscripts, assignments, lambdas. Comparisons do not chain.
- Windows and lags are written-out whole numbers from 1 to {window}; there is no way to look ahead.
- A window of d rows includes today and needs d valid rows; min_obs=k asks for k of them only.
- NaN is "unknown" and spreads; x/0, log of a negative and overflow are NaN, never infinite.
- cs_* work across the stocks of one day, ts_* along the days of one stock, group_* inside one label.
- Slots: x, y, w series; c, a, b conditions; d, n, span windows; g group."""


def language_limits() -> dict[str, int]:
    """The caps that every expression keeps."""
    return {
        "bytes": limits.MAX_BYTES,
        "depth": limits.MAX_DEPTH,
        "nodes": limits.MAX_NODES,
        "window": limits.MAX_WINDOW,
        "lookback": limits.MAX_LOOKBACK,
    }


def operator_lines() -> list[str]:
    """One line for each operator: how it is written, what it means."""
    return [f"{row.signature}: {row.doc}" for row in operators().values()]


def syntax_text() -> str:
    """The syntax and the rules that hold for every operator."""
    signs = sorted((row.precedence, row.symbol) for row in operators().values() if row.symbol)
    levels = [
        " ".join(dict.fromkeys(sign for _, sign in level)) for _, level in groupby(signs, key=lambda sign: sign[0])
    ]
    return SYNTAX.format(infix=" | ".join(levels), window=limits.MAX_WINDOW)


def grammar_text() -> str:
    """Syntax, limits and all operators: all that is needed to write expressions."""
    caps = ", ".join(f"{name} {value}" for name, value in language_limits().items())
    parts = [f"# The expression language\n\n{syntax_text()}\n\nLimits: {caps}.\n"]
    for family, rows in groupby(operators().values(), key=lambda row: row.family):
        lines = "\n".join(f"- {row.signature}: {row.doc}" for row in rows)
        parts.append(f"## {family}\n\n{lines}\n")
    return "\n".join(parts)
