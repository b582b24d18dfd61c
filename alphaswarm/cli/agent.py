"""`alphaswarm agent`: let the researcher run, and look at its runs."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphaswarm.cli.output import (
    MIN_FLEXIBLE,
    ExitCode,
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    number,
    open_workspace,
    print_json,
    print_table,
    progress_console,
    shortened,
)

if TYPE_CHECKING:
    from rich.progress import Progress

    from alphaswarm.research import Run, Workspace

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

EXIT_CODES = {"complete": ExitCode.OK, "exhausted": ExitCode.OK, "limit": ExitCode.LIMIT, "stopped": ExitCode.PARTIAL}
SHOWN = 10
SHOWN_WORDS = 5


@app.command()
def run(
    intent: Annotated[str, typer.Option("--intent", help="What to look for, in words.")] = "",
    proposer: Annotated[str, typer.Option("--proposer", help="auto, llm, search or random")] = "auto",
    budget: Annotated[int, typer.Option("--budget", min=1, max=1_000_000, help="New trials to make.")] = 60,
    panel: PanelOption = None,
    horizon: Annotated[int, typer.Option("--horizon", min=1, max=252, help="Days that the label spans.")] = 5,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**63 - 1, help="Of all randomness: the same seed, the same run.")
    ] = 0,
    resume: Annotated[str | None, typer.Option("--resume", help="Go on with this run.")] = None,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Propose, evaluate, criticise and store candidates until the budget is spent; then report."""
    with open_workspace(workspace) as project:
        if resume:
            started = project.resume_run(resume)
        else:
            from alphaswarm.agents import resolve_proposer

            chosen = resolve_proposer(proposer, os.environ)
            config = _model() if chosen == "llm" else {}
            with _tried(chosen) as found:
                started = project.start_run(
                    panel=panel or project.catalog.default(),
                    horizon=horizon,
                    proposer=chosen,
                    budget=budget,
                    seed=seed,
                    intent=intent,
                    config=config,
                )
                shutil.copytree(found, project.path / "runs" / started.id, dirs_exist_ok=True)
        outcome = _research(project, started)
        body = _closing(project, started, outcome)
    if as_json:
        print_json(body)
    else:
        _print_run(body)
        again = f": alphaswarm agent run --resume {started.id}" if outcome["outcome"] in {"stopped", "limit"} else ""
        print(f"\n{outcome['message']}{again}", file=sys.stderr)
    raise typer.Exit(EXIT_CODES[outcome["outcome"]])


@app.command("list")
def list_runs(workspace: WorkspaceOption = default_workspace, as_json: JsonOption = False) -> None:
    """The runs of this research project."""
    with open_workspace(workspace) as project:
        runs = project.runs()
    if as_json:
        print_json({"runs": [one.model_dump(mode="json") for one in runs]})
        return
    rows = [
        (one.id, one.status, one.panel, one.proposer, str(one.seed), str(one.budget), one.started[:19], one.intent)
        for one in runs
    ]
    print_table(("run", "status", "panel", "proposer", "seed", "budget", "started", "intent"), rows)


@app.command()
def show(
    run: Annotated[str, typer.Argument(help="The id of a run, such as r0001.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """What a run tried and what came of it."""
    with open_workspace(workspace) as project:
        body = _body(project, project.run(run))
    if as_json:
        print_json(body)
    else:
        _print_run(body)


def _model() -> dict[str, str]:
    """Which model proposes, and the last date that it may have read about, as far as the environment says."""
    from alphaswarm.research.appraise import last_read

    said = {"model": os.environ.get("ALPHASWARM_LLM_MODEL"), "cutoff": os.environ.get("ALPHASWARM_LLM_CUTOFF")}
    known = {name: value for name, value in said.items() if value}
    last_read(known.get("cutoff"))
    return known


@contextmanager
def _tried(proposer: str) -> Iterator[Path]:
    """Try the proposer, so that a dead endpoint leaves no run behind; what it found lies in the directory."""
    from alphaswarm.agents import make_proposer

    with tempfile.TemporaryDirectory(prefix="alphaswarm-") as directory:
        tried = make_proposer(proposer, os.environ, Path(directory))

        async def start() -> None:
            try:
                await tried.start()
            finally:
                await tried.close()

        asyncio.run(start())
        yield Path(directory)


def _research(project: Workspace, run: Run) -> dict[str, Any]:
    from alphaswarm.agents import AlphaResearcher, connected, make_proposer
    from alphaswarm.mcp_server import create_server

    directory = project.path / "runs" / run.id
    proposer = make_proposer(run.proposer, os.environ, directory)
    server = create_server(project)

    async def research() -> dict[str, Any]:
        with _progress(run) as on_event:
            async with connected(server) as client:
                researcher = AlphaResearcher(
                    client,
                    proposer,
                    run=run.id,
                    panel=run.panel,
                    horizon=run.horizon,
                    budget=run.budget,
                    seed=run.seed,
                    intent=run.intent,
                    checkpoint=directory / "checkpoint.sqlite",
                    on_event=on_event,
                )
                loop = asyncio.get_running_loop()

                def interrupted() -> None:
                    # the first Ctrl-C ends the node that is at work and saves; a second one kills
                    researcher.stop()
                    loop.remove_signal_handler(signal.SIGINT)

                loop.add_signal_handler(signal.SIGINT, interrupted)
                return await researcher.run()

    try:
        return asyncio.run(research())
    finally:
        server.desk.close()


@contextmanager
def _progress(run: Run) -> Iterator[Any]:
    """A bar and the best candidate so far on stderr; nothing when that is no terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = progress_console()
    columns = (
        TextColumn("{task.description:<11}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("best t {task.fields[t]}  {task.fields[best]}", markup=False),
    )
    room = max(0, console.width - 62)  # what the other columns leave to the formula
    bar: Progress = Progress(*columns, console=console, disable=not console.is_terminal, transient=True)
    task = bar.add_task("starting", total=run.budget, t="-", best="")
    best = 0.0

    def on_event(event: dict[str, Any]) -> None:
        nonlocal best
        if event["phase"] == "start":
            again = ", resumed" if event["resumed"] else ""
            console.print(
                f"run {run.id} on {run.panel}{again}: {event['notice']}", markup=False, highlight=False, soft_wrap=True
            )
        bar.update(task, description=event["phase"], completed=event["budget"]["new"])
        candidate = event.get("candidate") or {}
        metrics = candidate.get("metrics") or {}
        t = metrics.get("rank_ic_t") if metrics.get("evidence_z") is None else metrics["evidence_z"]
        if t is not None and abs(t) > abs(best):
            best = t
            bar.update(
                task, t=f"{t:+.2f}", best=shortened(candidate["expression"], room) if room >= MIN_FLEXIBLE else ""
            )

    with bar:
        yield on_event


def _closing(project: Workspace, run: Run, outcome: dict[str, Any]) -> dict[str, Any]:
    from alphaswarm.research import write_report

    ended = EXIT_CODES[outcome["outcome"]] is ExitCode.OK  # what was stopped stays open, to be resumed
    finished = project.finish_run(run.id, outcome["outcome"]) if ended else project.run(run.id)
    with progress_console().status("drawing the report"):
        report = write_report(project, run.id)
    return _body(project, finished) | {"outcome": outcome["outcome"], "report": str(report)}


def _body(project: Workspace, run: Run) -> dict[str, Any]:
    """The documented JSON of a run: its hashed summary, and what lies outside the hash."""
    summary = project.run_summary(run.id)
    report = project.path / "reports" / f"{run.id}.html"
    outside = {"run_id": run.id, "summary": summary.digest, "report": str(report) if report.exists() else None}
    return dict(summary.body) | outside


def _print_run(body: dict[str, Any]) -> None:
    print(f"\n{body['verdict']}\n")
    columns = ("id", "expression", "source", "evidence z", "residual t", "RankIC", "break-even bp", "net SR 5bp")
    decided = {one["trial"]: one.get("verdict", "") for one in (*body["near_misses"], *body["finalists"])}
    tried = {one["trial"]: one for one in body["candidates"]}
    rows = [
        (
            one["trial"][:8],
            shortened(one["expression"]),
            one["source"],
            number(one["evidence_z"]),
            number(one["residual_rank_ic_t"]),
            number(one["rank_ic"], 4),
            number(one["breakeven_bp"], 1),
            number((one["net_sharpe"] or {}).get("5")),
            decided.get(one["trial"], ""),
        )
        for one in (tried[trial] for trial in body["ranked"][:SHOWN])
    ]
    print_table((*columns, "verdict"), rows, right=columns[3:])
    if len(body["ranked"]) > SHOWN:
        print(f"   ... {len(body['ranked']) - SHOWN} more in the report and in --json")
    if body["statistic"] == "rank_ic_t":
        print("\nno evidence on residual returns here: ordered, and held against the hurdle, by the t of the RankIC")
    else:
        print(f"\nevidence z is held against the hurdle {body['hurdle']:.2f} of {body['trials_total']} trials")
    said = {one["digest"]: one["words"] for one in (*body["accepted"], *body["near_misses"]) if "words" in one}
    for words in list(said.values())[:SHOWN_WORDS]:
        print(f"- {words}")
    for warning in body["warnings"]:
        print(f"note: {warning}")
    if body["report"]:
        print(f"report: {body['report']}")
