"""`alphaswarm data`: the panels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from alphaswarm.cli.output import (
    JsonOption,
    WorkspaceOption,
    default_workspace,
    open_catalog,
    open_workspace,
    print_json,
    print_table,
    progress_console,
)

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(help="A panel's name, or a CSV or Parquet file.")]
SHOWN_FINDINGS = 12


@app.command("list")
def list_panels(workspace: WorkspaceOption = default_workspace, as_json: JsonOption = False) -> None:
    """The panels that can be named, and whether they are at hand."""
    from dataclasses import asdict

    catalog = open_catalog(workspace)
    panels = [catalog.describe(name) for name in catalog.names()]
    if as_json:
        print_json({"panels": [asdict(panel) for panel in panels], "default": catalog.default()})
        return
    rows = [
        (
            panel.name,
            "yes" if panel.available else "no: data fetch",
            f"{panel.rows} x {panel.symbols}",
            f"{panel.start}..{panel.end}",
            ", ".join(panel.fields),
        )
        for panel in panels
    ]
    print_table(("panel", "at hand", "days x names", "dates", "fields"), rows)
    print(f"\ndefault: {catalog.default()}")


@app.command()
def show(name: NameArgument, workspace: WorkspaceOption = default_workspace, as_json: JsonOption = False) -> None:
    """What a panel holds, where it comes from and what is wrong with it."""
    from dataclasses import asdict

    panel = open_catalog(workspace).describe(name)
    unseen = _unseen_rows(name, workspace)
    if as_json:
        print_json(asdict(panel) | {"unseen_rows": unseen})
        return
    print(f"{panel.name}: {panel.rows} days x {panel.symbols} names, {panel.start} to {panel.end}")
    print(f"fields:  {', '.join(panel.fields)}")
    print(f"groups:  {', '.join(panel.groups) or 'none'}")
    print(f"source:  {panel.source}\nlicence: {panel.licence}")
    if not panel.available:
        print(f"not at hand yet: alphaswarm data fetch {panel.name}")
    for caveat in panel.caveats:
        print(f"- {caveat}")
    if unseen:
        print(f"{unseen} rows after the vault are unseen: alphaswarm windows list --panel {name}")


@app.command()
def fetch(name: NameArgument, workspace: WorkspaceOption = default_workspace, as_json: JsonOption = False) -> None:
    """Download a panel into the cache, once; a second call does nothing."""
    catalog = open_catalog(workspace)
    console = progress_console()
    known = catalog.describe(name).available
    path = catalog.fetch(name, progress=lambda text: console.print(text, style="dim", markup=False))
    if as_json:
        print_json({"panel": name, "path": str(path), "downloaded": not known})
    else:
        print(f"{name} is {'already' if known else 'now'} in {path}", file=sys.stderr)


@app.command()
def check(
    name: NameArgument,
    workspace: WorkspaceOption = default_workspace,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every finding, not the first few of a kind.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Look for faults in the data: missing sessions, bad bars, splits, stale days, twins, ..."""
    from alphaswarm.data import check_panel

    catalog = open_catalog(workspace)
    with progress_console().status(f"checking {name}"):
        report = check_panel(catalog.open(name))
    if as_json:
        print_json({"panel": name} | report.to_dict())
        return
    for kind, findings in report.by_kind().items():
        print(f"\n{kind}: {len(findings)} ({kind.meaning})")
        shown = findings if everything else findings[:SHOWN_FINDINGS]
        for finding in shown:
            place = " ".join(str(part) for part in (finding.date, finding.symbol) if part)
            print(f"  {place}  {finding.detail}" if place else f"  {finding.detail}")
        if len(shown) < len(findings):
            print(f"  ... {len(findings) - len(shown)} more: --all or --json")
    for note in report.notes:
        print(f"\nnot checked: {note}")
    print(f"\n{len(report.findings)} findings in {name}; they are reported, nothing was changed")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(help="A long or wide table, CSV or Parquet.")],
    name: Annotated[str, typer.Option("--name", help="What to call it in this workspace.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Take a file into the workspace as a named panel; it is whole and checked, or refused."""
    from alphaswarm.data import load_table

    panel = load_table(file)
    catalog = open_catalog(workspace)
    catalog.add(name, panel)
    rows, symbols = panel.shape
    if as_json:
        print_json(
            {"panel": name, "digest": panel.digest, "rows": rows, "symbols": symbols, "fields": list(panel.fields)}
        )
    else:
        print(f"{name}: {rows} days x {symbols} names, fields {', '.join(panel.fields)}")


@app.command()
def append(
    name: Annotated[str, typer.Argument(help="A panel's name.")],
    file: Annotated[Path, typer.Argument(help="Later bars: a long or wide table, CSV or Parquet.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Add bars after a panel's last day; all of the file or nothing. Its windows stay, the new days are unseen."""
    catalog = open_catalog(workspace)
    before = catalog.describe(name).rows
    panel = catalog.append(name, file)
    rows, symbols = panel.shape
    start, end = (str(day.astype("datetime64[D]")) for day in panel.dates[[before, -1]])
    if as_json:
        body = {"panel": name, "digest": panel.digest, "rows": rows, "symbols": symbols}
        print_json(body | {"appended": {"rows": rows - before, "start": start, "end": end}})
    else:
        print(f"{name}: {rows - before} days more, {start} to {end}; {rows} days x {symbols} names")


def _unseen_rows(name: str, workspace: Path) -> int | None:
    """Rows after every window of a panel that was used here; None where it has no windows yet."""
    if not (workspace / "ledger.db").exists():
        return None
    with open_workspace(workspace) as project:
        return project.unseen_rows(name) if name in project.used_panels() else None
