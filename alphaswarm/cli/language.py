"""`alphaswarm alpha operators|library`: what the language holds."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

import typer

from alphaswarm.cli.output import (
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    open_catalog,
    print_json,
    print_table,
)

__all__ = ["library", "operators"]


def operators(
    dialect: Annotated[str, typer.Option("--dialect", help="Whose words: native, worldquant or qlib.")] = "native",
    as_json: JsonOption = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the page of the documentation.")] = False,
) -> None:
    """The words of the language, with an example each; or of another, with what they are natively."""
    from alphaswarm.dsl import operators as table
    from alphaswarm.dsl.dialects import dialect_of
    from alphaswarm.dsl.manual import dialect_markdown, operator_facts, operators_markdown

    chosen = dialect_of(dialect)
    words = [word for rows in (chosen.words or {}).values() for word in rows]
    if words and markdown:
        print(dialect_markdown(chosen), end="")
    elif words and as_json:
        print_json(
            {"operators": [{"signature": word.shown, "native": word.native, "note": word.note} for word in words]}
        )
    elif words:
        print_table(("operator", "native", "note"), [(word.shown, word.native, word.note) for word in words])
    elif markdown:
        print(operators_markdown(), end="")
    elif as_json:
        print_json({"operators": [operator_facts(row) for row in table().values()]})
    else:
        print_table(
            ("operator", "meaning", "example"), [(row.signature, row.doc, row.example) for row in table().values()]
        )


def library(
    name: Annotated[str | None, typer.Argument(help="One formula, or the library of this name.")] = None,
    panel: PanelOption = None,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Published formulas with their sources, in native form; with a panel, whether they fit it."""
    from alphaswarm.core import UnknownName
    from alphaswarm.dsl import Formula
    from alphaswarm.dsl import library as formulas

    found = formulas()
    chosen = [formula for formula in found.values() if name in (None, formula.name, formula.library)]
    if not chosen:
        shelf = sorted({one.library for one in found.values()})
        alike = get_close_matches(str(name), [*shelf, *found], n=3)
        raise UnknownName(
            f"unknown formula or library {name!r}; libraries: {', '.join(shelf)}; alphaswarm alpha library lists all "
            f"formulas" + (f"; did you mean {' or '.join(alike)}?" if alike else "")
        )
    held = open_catalog(workspace).open(panel) if panel else None

    def body(formula: Formula) -> dict[str, object]:
        lacks = formula.lacks(held) if held is not None else None
        return {
            "name": formula.name,
            "library": formula.library,
            "formula": formula.text,
            "dialect": formula.dialect,
            "native": str(formula.expr),
            "digest": formula.expr.digest,
            "fields": list(formula.expr.fields),
            "groups": list(formula.expr.groups),
            "lookback": formula.expr.lookback,
            "idea": formula.idea,
            "citation": formula.citation,
            "source": formula.source,
            "notes": list(formula.notes),
            "fits": None if lacks is None else not lacks,
            "lacks": lacks or None,
        }

    bodies = [body(formula) for formula in chosen]
    if as_json:
        print_json({"formulas": bodies})
    elif name is not None and len(bodies) == 1:
        for key, value in bodies[0].items():
            lines = value if isinstance(value, list) and key == "notes" else [_shown(value)]
            for line in lines or ["-"]:
                print(f"{key:11}{line}")
    else:
        columns = ("name", *(("fits",) if held is not None else ()), "native form")
        print_table(columns, [_row(entry, panel=held is not None) for entry in bodies])


def _row(entry: dict[str, object], *, panel: bool) -> tuple[str, ...]:
    fits = ("yes" if entry["fits"] else str(entry["lacks"]).partition(";")[0],) if panel else ()
    return (str(entry["name"]), *fits, str(entry["native"]))


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value in (None, "") else str(value)
