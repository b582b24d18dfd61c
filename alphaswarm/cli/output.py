"""What every command shares: options, tables, JSON, numbers, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphaswarm.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from alphaswarm.core import AlphaSwarmError
    from alphaswarm.data import Catalog
    from alphaswarm.research import Workspace

__all__ = [
    "MIN_FLEXIBLE",
    "ExitCode",
    "JsonOption",
    "PanelOption",
    "WorkspaceOption",
    "default_workspace",
    "exit_code",
    "expression_settings",
    "fail",
    "number",
    "open_catalog",
    "open_workspace",
    "plain",
    "print_error",
    "print_json",
    "print_table",
    "progress_console",
    "shortened",
]

WorkspaceOption = Annotated[
    Path, typer.Option("--workspace", envvar="ALPHASWARM_WORKSPACE", help="Directory of the research project.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
PanelOption = Annotated[
    str | None, typer.Option("--panel", help="A panel's name, or a CSV or Parquet file. Default: us431 if fetched.")
]

default_workspace = Path(".alphaswarm")

# An expression may start with a minus; what is no option of the command is then its argument.
expression_settings = {"ignore_unknown_options": True}


UNBOUNDED = 10_000
# A formula cut shorter than this says nothing.
MIN_FLEXIBLE = 24


def exit_code(error: AlphaSwarmError) -> ExitCode:
    """The exit code that stands for an error."""
    from alphaswarm.core import BudgetExceeded, ProviderError, StoreError

    if isinstance(error, ProviderError | StoreError):
        return ExitCode.PROVIDER
    return ExitCode.LIMIT if isinstance(error, BudgetExceeded) else ExitCode.USAGE


def fail(error: AlphaSwarmError, *, as_json: bool) -> ExitCode:
    """Say what went wrong: text on stderr, or a JSON document on stdout."""
    from alphaswarm.core import ExpressionError, ProgramError

    if as_json:
        about: dict[str, Any] = {}
        if isinstance(error, ExpressionError):
            about = {"column": error.column, "hint": error.hint, "expression": error.text}
        if isinstance(error, ProgramError):
            about = {"line": error.line}
        print_error(str(error.reason), error.message, **about)
    else:
        text = error.pointed() if isinstance(error, ExpressionError) else f"{error.reason}: {error}"
        print(text, file=sys.stderr)
    return exit_code(error)


def print_error(reason: str, message: str, **about: Any) -> None:
    """The JSON document that stands for an error, on stdout."""
    print_json({"error": {"reason": reason, "message": message} | about})


def open_workspace(path: Path) -> Workspace:
    """The research project in `path`, made at first use."""
    from alphaswarm.research import Workspace

    return Workspace.open(path)


def open_catalog(path: Path) -> Catalog:
    """The panels that the research project in `path` can name."""
    from alphaswarm.data import Catalog

    return Catalog(imported=path / "panels")


def progress_console() -> Console:
    """Where progress goes: stderr, without colours or motion when that is no terminal."""
    from rich.console import Console

    return Console(stderr=True)


def print_json(value: object) -> None:
    """One JSON document on stdout."""
    print(json.dumps(value, indent=2, allow_nan=False))


def number(value: float | None, digits: int = 2) -> str:
    """A number for people; a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}f}"


def plain(text: str) -> str:
    """Somebody's text on one line, without what a terminal would obey or hide."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def shortened(text: str, width: int = 90) -> str:
    """A long text without its middle; the whole is in the JSON."""
    if len(text) <= width:
        return text
    end = (width - 3) // 3
    return f"{text[: width - 3 - end]}...{text[len(text) - end :]}"


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = (), flexible: str = "expression"
) -> None:
    """A plain table on stdout, one line a row: on a terminal the `flexible` column is cut to what room there is."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    lines = [list(row) for row in rows]
    console = Console(width=None if sys.stdout.isatty() else UNBOUNDED)
    if flexible in columns:
        place = list(columns).index(flexible)
        widths = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
        room = max(MIN_FLEXIBLE, console.width - sum(widths) + widths[place] - 2 * (len(columns) - 1))
        for line in lines:
            line[place] = shortened(line[place], room)
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for line in lines:
        table.add_row(*(Text(cell) for cell in line))  # Text: what users name may look like markup
    console.print(table)
