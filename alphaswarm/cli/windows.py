"""`alphaswarm windows`: which days may be read, which only judge, and new ones when there are new bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphaswarm.cli.output import (
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    open_workspace,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from alphaswarm.research import Workspace

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_windows(
    panel: PanelOption = None, workspace: WorkspaceOption = default_workspace, as_json: JsonOption = False
) -> None:
    """The windows of a panel, else of all that were used here: dates, finalists judged, vault reads, unseen rows."""
    with open_workspace(workspace) as project:
        states = [project.window_state(panel)] if panel else [_state(project, name) for name in project.used_panels()]
    if as_json:
        print_json({"panels": states})
        return
    for state in states:
        _print_state(state)
    if not states:
        print("no panel was used here yet: its windows are fixed at its first use")


@app.command("open")
def open_window(
    panel: Annotated[str, typer.Option("--panel", help="A panel's name, or a CSV or Parquet file.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; kept with the window.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Open a new selection window on bars that nobody has seen; finalists are judged on it from now on."""
    with open_workspace(workspace) as project:
        found = project.open_window(panel, reason)
    if as_json:
        print_json({"panel": panel} | found.to_dict())
    else:
        print(f"selection window {found.number} of {panel}: {found.window.start} to {found.window.end}")


def _state(project: Workspace, name: str) -> dict[str, Any]:
    """The windows of a panel; why not, where it can't be opened any more."""
    from alphaswarm.core import DataInvalid, EvidenceInvalid, ProviderError, UnknownName

    try:
        return project.window_state(name)
    except (DataInvalid, EvidenceInvalid, ProviderError, UnknownName) as error:
        return {"panel": name, "unavailable": str(error)}


def _print_state(state: dict[str, Any]) -> None:
    if "unavailable" in state:
        print(f"{state['panel']}: {state['unavailable']}")
        return
    named = "" if state["lineage"] == state["panel"] else f", counted together with {state['lineage']}"
    print(f"{state['panel']}{named}")
    role = "search" if state["sealed"] else "in-sample"
    rows = [(role, _days(state["search"]), "may be read")]
    if state["sealed"]:
        rows += [
            (f"selection {each['number']}", _days(each), f"{each['finalists']} finalists judged: {each['reason']}")
            for each in state["selections"]
        ]
        rows.append(("vault", _days(state["vault"]), f"read {state['vault']['reads']} times"))
        forward = state["forward"]
        days = _days(forward) if forward["rows"] else "-"
        rows.append(("unseen", days, f"{forward['rows']} rows, {forward['needed']} open a window"))
    print_table(("window", "days", ""), rows)


def _days(span: dict[str, Any]) -> str:
    return f"{span['start']}..{span['end']}"
