"""`alphaswarm agent`: let the researcher run, and look at its runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphaswarm.cli.agent_job import EXIT_CODES, begin, body_of, pursue, work
from alphaswarm.cli.output import (
    ExitCode,
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    number,
    open_workspace,
    print_json,
    print_table,
    shortened,
)

if TYPE_CHECKING:
    from alphaswarm.agents.spec import RunSpec

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

SHOWN = 10
SHOWN_WORDS = 5
MOST_COMPARED = 20

RunArgument = Annotated[str, typer.Argument(help="The id of a run, such as r0001.")]
McpOption = Annotated[
    str | None, typer.Option("--mcp", help="URL of a server of this project; else one in this process.")
]


@app.command()
def run(
    context: typer.Context,
    intent: Annotated[str, typer.Option("--intent", help="What to look for, in words.")] = "",
    proposer: Annotated[str, typer.Option("--proposer", help="auto, llm, search, hybrid or random")] = "auto",
    budget: Annotated[int, typer.Option("--budget", min=1, max=1_000_000, help="New trials to make.")] = 60,
    panel: PanelOption = None,
    horizon: Annotated[int, typer.Option("--horizon", min=1, max=252, help="Days that the label spans.")] = 5,
    seed: Annotated[
        int, typer.Option("--seed", min=0, max=2**63 - 1, help="Of all randomness: the same seed, the same run.")
    ] = 0,
    approve: Annotated[
        bool, typer.Option("--approve", help="Wait for a person before anything is sent to the selection window.")
    ] = False,
    mcp: McpOption = None,
    spec: Annotated[
        Path | None, typer.Option("--spec", help="YAML or JSON file of these options; what is typed goes first.")
    ] = None,
    intents: Annotated[
        Path | None, typer.Option("--intents", help="File with an intent a line: a run for each, seeds counting up.")
    ] = None,
    executor: Annotated[
        str, typer.Option("--executor", help="Of several runs: inprocess, process or ray")
    ] = "inprocess",
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=256, help="Runs at a time.")] = 1,
    resume: Annotated[str | None, typer.Option("--resume", help="Go on with this run.")] = None,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Propose, evaluate, criticise and store candidates until the budget is spent; then report."""
    from alphaswarm.agents.spec import RunSpec, read_intents
    from alphaswarm.core import SpecInvalid

    if resume:
        _go_on(resume, workspace, approval=None, mcp=mcp, as_json=as_json)
        return
    options = {
        "intent": intent,
        "proposer": proposer,
        "budget": budget,
        "panel": panel,
        "horizon": horizon,
        "seed": seed,
        "approve": approve,
        "mcp": mcp,
    }
    asked = RunSpec.of(spec, {name: value for name, value in options.items() if _typed(context, name)})
    if intents is not None:
        if asked.intent:
            raise SpecInvalid("a run has one intent: give --intents or an intent, not both")
        said = read_intents(intents)
        specs = [asked.model_copy(update={"intent": one, "seed": asked.seed + i}) for i, one in enumerate(said)]
        _several(specs, workspace, executor, jobs, as_json=as_json)
        return
    if (executor, jobs) != ("inprocess", 1):
        raise SpecInvalid("--executor and --jobs are for several runs: give --intents FILE")
    with open_workspace(workspace) as project:
        (started,) = begin(project, [asked])
        body = pursue(project, started)
    _end(body, as_json=as_json)


@app.command()
def resume(
    run: RunArgument,
    approve: Annotated[
        str | None, typer.Option("--approve", help="yes or no, to a run that waits for a person.")
    ] = None,
    mcp: McpOption = None,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Go on with a run that was stopped, met a limit or waits for approval."""
    _go_on(run, workspace, approval=approve, mcp=mcp, as_json=as_json)


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
    run: RunArgument,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """What a run tried and what came of it."""
    with open_workspace(workspace) as project:
        body = body_of(project, project.run(run))
    if as_json:
        print_json(body)
    else:
        _print_run(body)


@app.command()
def compare(
    runs: Annotated[list[str], typer.Argument(help="Ids of two runs or more.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Set runs side by side: what they tried, their best evidence at equal trials, what came of it."""
    from alphaswarm.core import AlphaSwarmError, Reason

    if not 2 <= len(runs) <= MOST_COMPARED or len(set(runs)) != len(runs):
        message = f"2 to {MOST_COMPARED} different runs can be compared, got {len(runs)}"
        raise AlphaSwarmError(message, Reason.ARGUMENT_INVALID)
    with open_workspace(workspace) as project:
        body = _comparison([body_of(project, project.run(one)) for one in runs])
    if as_json:
        print_json(body)
    else:
        _print_comparison(body)


@app.command()
def replay(
    run: RunArgument,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Make a finished run again from what was kept, without model or network; say whether it is the same."""
    from alphaswarm.cli.agent_replay import replay as make_again

    with open_workspace(workspace) as project:
        body = make_again(project, project.run(run))
    if as_json:
        print_json(body)
    elif body["same"]:
        print(f"run {run} is the same again, bit for bit: {body['summary']}")
    else:
        print(f"run {run} is not the same: {body['summary']} was kept, {body['replayed']} came again")
        for one in body["differences"]:
            print(f"- {one['path']}: {one['kept']} was kept, {one['replayed']} came again")
    raise typer.Exit(ExitCode.OK if body["same"] else ExitCode.PARTIAL)


def _typed(context: typer.Context, name: str) -> bool:
    """Whether an option was given here, so that it takes the place of what a spec file says."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _go_on(identifier: str, workspace: Path, *, approval: str | None, mcp: str | None, as_json: bool) -> None:
    from alphaswarm.core import SpecInvalid

    if approval not in (None, "yes", "no"):
        raise SpecInvalid(f"--approve must be yes or no, got {approval!r}")
    with open_workspace(workspace) as project:
        held = project.resume_run(identifier)
        if approval is not None and not held.config.get("approve"):
            raise SpecInvalid(f"run {identifier} was started without --approve, so it waits for nobody")
        body = pursue(project, held, approval=approval, mcp_url=mcp)
    _end(body, as_json=as_json)


def _end(body: dict[str, Any], *, as_json: bool) -> None:
    """Print what a run came to, and leave with its code."""
    message = body.pop("message")
    if as_json:
        print_json(body)
    else:
        _print_run(body)
        again = f": alphaswarm agent resume {body['run_id']}"
        again += " --approve yes, or no" if body["outcome"] == "waiting" else ""
        is_open = EXIT_CODES[body["outcome"]] is not ExitCode.OK
        print(f"\n{message}{again if is_open else ''}", file=sys.stderr)
    raise typer.Exit(EXIT_CODES[body["outcome"]])


def _several(specs: list[RunSpec], workspace: Path, executor: str, jobs: int, *, as_json: bool) -> None:
    """A run for each spec, all in one ledger; the exit code is the highest of theirs."""
    from alphaswarm.agents.executor import make_executor

    pool = make_executor(executor, jobs)
    with open_workspace(workspace) as project:
        started = begin(project, specs)  # in the order of the specs, whoever comes first later
    tasks = [{"workspace": str(workspace.absolute()), "run": one.id} for one in started]
    bodies = []
    for one, answer in zip(started, pool.map(work, tasks), strict=True):
        never = {"reason": "INTERRUPTED", "message": "stopped by Ctrl-C before it began"}
        found = answer or {"run_id": one.id, "error": never, "code": int(ExitCode.PARTIAL)}
        bodies.append({"intent": one.intent, **found})
    if as_json:
        print_json({"runs": bodies})
    else:
        rows = [
            (one["run_id"], one.get("outcome", "failed"), one.get("verdict") or one["error"]["message"], one["intent"])
            for one in bodies
        ]
        print_table(("run", "outcome", "verdict", "intent"), rows, flexible="verdict")
    raise typer.Exit(max(one["code"] for one in bodies))


def _comparison(bodies: Sequence[dict[str, Any]]) -> dict[str, Any]:
    tried = [{one["digest"] for one in body["candidates"]} for body in bodies]
    asked = ("panel", "panel_digest", "horizon", "fill")
    unlike = [name for name in asked if len({body[name] for body in bodies}) > 1]
    differ = "differs" if len(unlike) == 1 else "differ"
    warnings = [f"their {' and '.join(unlike)} {differ}: figures are not of the same question"] if unlike else []
    curves = [_curve(body) for body in bodies]
    equal = min(map(len, curves))
    shown = [
        {
            "run_id": body["run_id"],
            **{name: body[name] for name in ("panel", "horizon", "proposer", "seed", "intent", "trials", "hurdle")},
            "candidates": len(body["candidates"]),
            **{name: body["counts"][name] for name in ("recalled", "beat", "bets", "confirmed", "tradable")},
            "best": curve[-1] if curve else None,
            "best_at_equal": curve[equal - 1] if equal else None,
            "best_expression": _best_expression(body),
            "curve": curve,
            "verdict": body["verdict"],
        }
        for body, curve in zip(bodies, curves, strict=True)
    ]
    shared = [[len(one & other) for other in tried] for one in tried]
    return {"runs": shown, "equal_trials": equal, "shared": shared, "warnings": warnings}


def _curve(body: dict[str, Any]) -> list[float]:
    """The strongest |z| after each candidate of a run."""
    return list(accumulate((abs(_z(one) or 0.0) for one in body["candidates"]), max))


def _z(one: dict[str, Any]) -> float | None:
    z: float | None = one["rank_ic_t"] if one["evidence_z"] is None else one["evidence_z"]
    return z


def _best_expression(body: dict[str, Any]) -> str | None:
    first = next(iter(body["ranked"]), None)
    return next((one["expression"] for one in body["candidates"] if one["trial"] == first), None)


def _print_comparison(body: dict[str, Any]) -> None:
    equal = f"z at {body['equal_trials']}"
    columns = ("run", "proposer", "seed", "tried", "recalled", "best z", equal, "beat", "bets", "confirmed", "tradable")
    rows = [
        (
            one["run_id"],
            one["proposer"],
            str(one["seed"]),
            str(one["candidates"]),
            str(one["recalled"]),
            number(one["best"]),
            number(one["best_at_equal"]),
            *(str(one[name]) for name in ("beat", "bets", "confirmed", "tradable")),
            one["best_expression"] or "-",
        )
        for one in body["runs"]
    ]
    print_table((*columns, "expression"), rows, right=columns[2:])
    for place, one in enumerate(body["runs"]):
        for other in range(place + 1, len(body["runs"])):
            if body["shared"][place][other]:
                print(f"{one['run_id']} and {body['runs'][other]['run_id']} share {body['shared'][place][other]}")
    for warning in body["warnings"]:
        print(f"note: {warning}")


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
