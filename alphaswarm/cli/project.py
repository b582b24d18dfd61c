"""`alphaswarm init|report|doctor`: the research project as a whole."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from alphaswarm.cli.output import (
    ExitCode,
    JsonOption,
    WorkspaceOption,
    default_workspace,
    open_catalog,
    open_workspace,
    print_json,
    print_table,
    progress_console,
)

__all__ = ["add_commands"]


def add_commands(app: typer.Typer) -> None:
    """The commands that stand without a group."""
    app.command()(init)
    app.command()(report)
    app.command()(doctor)


def init(
    workspace: WorkspaceOption = default_workspace,
    unsealed: Annotated[
        bool, typer.Option("--unsealed", help="Label every result as in-sample; decided once.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make a research project here (any command makes one at first use)."""
    from alphaswarm.research import Workspace

    with Workspace.open(workspace, unsealed=unsealed) as project:
        body = {"workspace": str(project.path), "unsealed": project.unsealed}
    if as_json:
        print_json(body)
    else:
        print(f"research project in {body['workspace']}, {'unsealed' if body['unsealed'] else 'sealed'} windows")


def report(
    run: Annotated[str, typer.Argument(help="The id of a run, such as r0001.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a run: one HTML file that needs nothing else."""
    from alphaswarm.research import write_report

    with open_workspace(workspace) as project, progress_console().status("drawing"):
        path = write_report(project, run)
    if as_json:
        print_json({"run_id": run, "report": str(path)})
    else:
        print(path)


class Finding(NamedTuple):
    """One line of the doctor's report."""

    what: str
    ok: bool
    detail: str


def doctor(
    workspace: WorkspaceOption = default_workspace,
    warm_up: Annotated[
        bool, typer.Option("--warm-up", help="Compile the kernels first, so that nothing waits later.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what works here and what is missing. Exit code 3 when something needed is broken."""
    if warm_up:
        console = progress_console()
        console.print("compiling the kernels, once: a minute or so", highlight=False)
        with console.status("compiling kernels"):
            _compile_kernels()
    findings = list(_findings(workspace))
    if as_json:
        print_json({"ok": all(finding.ok for finding in findings), "checks": [f._asdict() for f in findings]})
    else:
        print_table(("", "check", "found"), [("ok" if f.ok else "NO", f.what, f.detail) for f in findings])
    if not all(finding.ok for finding in findings):
        raise typer.Exit(ExitCode.PROVIDER)


def _compile_kernels() -> None:
    from alphaswarm.backtest import VectorEngine, rank_weights
    from alphaswarm.data import synthetic_market
    from alphaswarm.dsl import evaluate
    from alphaswarm.dsl.evaluate import warm_up
    from alphaswarm.evaluation import Evaluator, default_windows

    warm_up()
    panel = synthetic_market("null", seed=0, days=120, names=40)
    evaluator = Evaluator(panel, default_windows("synthetic", panel).search, horizon=2)
    factor = evaluate("-returns", evaluator.panel)
    evaluator.evidence(factor)
    evaluator.series(factor)
    VectorEngine().run(evaluator.panel, rank_weights(factor))


def _findings(workspace: Path) -> Iterator[Finding]:
    from alphaswarm import __version__

    yield Finding("alphaswarm", True, f"{__version__}, Python {platform.python_version()}, {sys.executable}")
    yield Finding("numpy, numba", True, f"{version('numpy')}, {version('numba')}, {os.cpu_count()} cores")
    catalog = open_catalog(workspace)
    missing = [name for name in catalog.names() if not catalog.describe(name).available]
    hint = f"; not fetched: {', '.join(missing)} (alphaswarm data fetch NAME)" if missing else ""
    yield Finding("panels", True, f"default {catalog.default()}{hint}")
    yield _language()
    yield _store(workspace)
    yield _tools()
    model = os.environ.get("ALPHASWARM_LLM_MODEL")
    endpoint = os.environ.get("ALPHASWARM_LLM_BASE_URL")
    yield Finding(
        "language model",
        True,
        f"{model or 'default model'} at {endpoint}" if endpoint else "none set: the agent searches without one",
    )


def _language() -> Finding:
    from alphaswarm.data import synthetic_market
    from alphaswarm.dsl import evaluate, operators

    panel = synthetic_market("null", seed=0, days=60, names=40)
    values = evaluate("cs_rank(-ts_sum(returns, 5))", panel)
    return Finding("language", bool(values.shape == panel.shape), f"{len(operators())} operators, a formula evaluated")


def _store(workspace: Path) -> Finding:
    elsewhere = os.environ.get("ALPHASWARM_DB")
    if not elsewhere and not (workspace / "ledger.db").exists() and not (workspace / "runs").exists():
        return Finding("workspace", True, f"none in {workspace} yet; the first command makes it")
    with open_workspace(workspace) as project:
        return Finding("workspace", True, f"{project.path}, {len(project.runs())} runs")


def _tools() -> Finding:
    import asyncio
    import tempfile

    from mcp import Client

    from alphaswarm.mcp_server import create_server
    from alphaswarm.research import Workspace

    async def names(project: Workspace) -> list[str]:
        async with Client(create_server(project)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    with tempfile.TemporaryDirectory() as directory, Workspace.open(Path(directory)) as project:
        found = asyncio.run(names(project))
    return Finding("MCP tools", bool(found), f"{len(found)} tools answered a client")
