"""`alphaswarm alpha`: expressions, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from alphaswarm.cli import language
from alphaswarm.cli.expression import ExpressionArgument, ExpressionArguments, ExpressionCommand, read_program
from alphaswarm.cli.output import (
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    number,
    open_catalog,
    open_workspace,
    plain,
    print_json,
    print_table,
    progress_console,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alphaswarm.core import Panel
    from alphaswarm.dsl import Expr
    from alphaswarm.evaluation.verdict import Verdict
    from alphaswarm.research import Trial
    from alphaswarm.research.compare import Comparison

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)
app.command()(language.operators)
app.command()(language.library)

HorizonOption = Annotated[int, typer.Option("--horizon", min=1, max=252, help="Days that the label spans.")]
DialectOption = Annotated[
    str, typer.Option("--dialect", help="How the expression is written: native, worldquant, qlib, or program.")
]
FillOption = Annotated[str, typer.Option("--fill", help="close_t1: fill one close later; open_t1: at the next open.")]


@app.command(cls=ExpressionCommand)
def validate(
    expression: ExpressionArgument,
    panel: PanelOption = None,
    dialect: DialectOption = "native",
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Parse and check an expression; nothing is evaluated and nothing is counted."""
    from alphaswarm.dsl import translate

    held = open_catalog(workspace).open(panel) if panel else None
    translation = translate(expression, dialect, held)
    body = _described(translation.expr, held, translation.notes)
    if as_json:
        print_json(body)
        return
    spoken = {"warnings": "warning: ", "notes": "note: "}
    for key, value in body.items():
        if key in spoken:
            for line in value:
                print(f"{spoken[key]}{line}")
        elif value is not None or key != "cost":
            print(f"{key:11}{', '.join(value) if isinstance(value, list) else value}")


def _described(checked: Expr, panel: Panel | None, notes: Sequence[str] = ()) -> dict[str, Any]:
    """What can be said of an expression without evaluating it."""
    from alphaswarm.dsl import canonical, cost, warnings_of

    return {
        "expression": str(checked),
        "canonical": str(canonical(checked)),
        "digest": checked.digest,
        "fields": sorted(checked.fields),
        "groups": sorted(checked.groups),
        "lookback": checked.lookback,
        "nodes": checked.nodes,
        "depth": checked.depth,
        "cost": cost(checked, panel.shape) if panel is not None else None,
        "warnings": [str(warning) for warning in warnings_of(checked, panel)],
        "notes": list(notes),
    }


@app.command()
def build(
    program: Annotated[str, typer.Argument(metavar="FILE", help="A factor program; - for standard input.")],
    panel: PanelOption = None,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Run a factor program, in a process that can reach nothing, and print the expression it builds."""
    from alphaswarm.dsl import build as run

    held = open_catalog(workspace).open(panel) if panel else None
    built = run(read_program(program), held)
    if as_json:
        print_json(_described(built, held))
    else:
        print(built)


SAFETY = {
    "exact": "the same bits on every panel",
    "values": "the same values on the test markets, up to rounding",
    "ranks": "the same order within the day on the test markets, other values",
}


@app.command(cls=ExpressionCommand)
def explain(
    expression: ExpressionArgument,
    as_json: JsonOption = False,
) -> None:
    """Say an expression in plain words and LaTeX, how large it is, and which simpler forms it has."""
    from alphaswarm.dsl import explain as told

    found = told(expression)
    if as_json:
        print_json(found.to_dict())
        return
    history = "all history" if found.lookback is None else f"{found.lookback} earlier rows"
    print(f"{found.expression}\n{found.words}\n")
    print(f"latex      {found.latex}")
    print(f"canonical  {found.canonical}")
    print(f"size       {found.nodes} nodes, {found.depth} levels, reads {history}")
    print(f"names      {', '.join((*found.fields, *found.groups))}")
    print(f"ranks      {found.fingerprint[:16]} (the same for a formula and its negative)")
    for one in found.suggestions:
        turned = ", in reverse" if one.relation == "mirrored" else ""
        print(f"simpler    {one.expression}\n           {SAFETY[one.safety]}{turned}")
    for note in found.notes:
        print(f"note: {note}")


@app.command(cls=ExpressionCommand)
def evaluate(
    expression: ExpressionArgument,
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    fill: FillOption = "close_t1",
    dialect: DialectOption = "native",
    full: Annotated[bool, typer.Option("--full", help="With the whole tear sheet.")] = False,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Measure an expression on the search window; the trial is counted for ever."""
    from alphaswarm.cli.tear_sheet import print_tear_sheet, tear_sheet
    from alphaswarm.dsl import translate

    with open_workspace(workspace) as project, progress_console().status("evaluating"):
        trial = project.evaluate(
            expression, panel=panel or project.catalog.default(), horizon=horizon, fill=fill, dialect=dialect
        )
        sheet = tear_sheet(project, trial) if full else None
    notes = list(translate(expression, dialect).notes)
    if as_json:
        whole = {} if sheet is None else {"tear_sheet": sheet.to_dict()}
        print_json(trial.model_dump(mode="json") | {"notes": notes} | whole)
        return
    _print_trial(trial)
    if sheet is not None:
        print_tear_sheet(sheet)
    for note in notes:
        print(f"note: {note}")


@app.command(cls=ExpressionCommand)
def submit(
    expression: ExpressionArgument,
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    fill: FillOption = "close_t1",
    dialect: DialectOption = "native",
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Judge an expression: all gates, and pass or fail on rows that no search has seen. Counted for ever."""
    with open_workspace(workspace) as project, progress_console().status("judging"):
        verdict = project.submit(
            expression, panel=panel or project.catalog.default(), horizon=horizon, fill=fill, dialect=dialect
        )
    if as_json:
        print_json(verdict.model_dump(mode="json"))
    else:
        _print_verdict(verdict)


@app.command(cls=ExpressionCommand)
def compare(
    expressions: ExpressionArguments,
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    fill: FillOption = "close_t1",
    dialect: DialectOption = "native",
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Figures of several expressions side by side, and how much they are one bet; each is counted."""
    with open_workspace(workspace) as project, progress_console().status("comparing"):
        found = project.compare(
            expressions, panel=panel or project.catalog.default(), horizon=horizon, fill=fill, dialect=dialect
        )
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print_comparison(found)


@app.command(cls=ExpressionCommand)
def weights(
    expression: ExpressionArgument,
    as_of: Annotated[str, typer.Option("--as-of", help="The date at whose close the weights are decided.")],
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """The target weights that an expression decides on a date: the canonical w_t."""
    with open_workspace(workspace) as project:
        target = project.target_weights(
            expression, panel=panel or project.catalog.default(), as_of=as_of, horizon=horizon
        )
    held = {name: value for name, value in zip(target.symbols, target.weights.tolist(), strict=True) if value}
    if as_json:
        print_json(
            {
                "as_of": str(target.as_of)[:10],
                "digest": target.digest,
                "cash": target.cash,
                "gross": target.gross,
                "provenance": dict(target.provenance),
                "weights": held,
            }
        )
        return
    ranked = sorted(held.items(), key=lambda item: -item[1])
    print_table(("symbol", "weight"), [(name, f"{value:+.6f}") for name, value in ranked], right=("weight",))
    print(f"\n{len(held)} names, gross {target.gross:.4f}, cash {target.cash:+.4f}, w_t {target.digest[:16]}")


@app.command("list")
def list_trials(
    panel: PanelOption = None,
    run: Annotated[str | None, typer.Option("--run", help="Only the trials of this run.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1_000_000)] = 20,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """What was tried here, the strongest first."""
    with open_workspace(workspace) as project:
        trials = project.trials(run=run, panel=panel, limit=limit)
    if as_json:
        print_json({"trials": [trial.model_dump(mode="json") for trial in trials]})
        return
    print_table(TRIAL_COLUMNS, [trial_row(trial) for trial in trials], right=TRIAL_COLUMNS[2:])


@app.command()
def show(
    trial: Annotated[str, typer.Argument(help="A trial's id or digest, or the start of one.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """One trial with all its numbers, notes and parents."""
    with open_workspace(workspace) as project:
        found = project.trial(trial)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _print_trial(found)


TRIAL_COLUMNS = (
    "id", "expression", "panel", "h", "evidence z", "RankIC", "t", "turnover", "break-even bp", "net SR 5bp"
)  # fmt: skip


def trial_row(trial: Trial) -> tuple[str, ...]:
    """One line of a table of trials."""
    net = (trial.net_sharpe or {}).get("5")
    return (
        trial.id[:10],
        trial.expression,
        trial.panel,
        str(trial.horizon),
        number(trial.evidence_z),
        number(trial.rank_ic, 4),
        number(trial.rank_ic_t),
        number(trial.turnover),
        number(trial.breakeven_bp, 1),
        number(net),
    )


def _print_verdict(verdict: Verdict) -> None:
    print(f"{verdict.expression}\n\n{verdict.words}\n")
    answers = {True: "pass", False: "FAIL", None: "-"}
    columns = ("", "tier", "gate", "window", "value", "threshold", "reason")
    rows = [
        (
            answers[gate.passed],
            str(gate.tier),
            gate.name,
            gate.window,
            number(gate.value, 3),
            number(gate.threshold, 3),
            gate.reason,
        )
        for gate in verdict.gates
    ]
    print_table(columns, rows, right=("value", "threshold"))
    print(f"\ntrial      {verdict.trial[:16]}, N = {verdict.n_trials}")
    if verdict.k is not None:
        reported = verdict.reported
        print(f"bet        K = {verdict.k} on selection window {verdict.selection}, sign {verdict.sign:+d}")
        print(f"deflated   {number(reported['dsr_1T'])} against luck, {number(reported['dsr_empirical'])} strictly")
        if reported["capacity"]["aum"]:
            print(f"capacity   {reported['capacity']['aum']:,.0f}")
        if (reported["known"] or {}).get("label"):
            print(f"likeness   {reported['known']['label']} ({reported['known']['citation']})")


def _print_comparison(found: Comparison) -> None:
    columns = ("", "expression", "evidence z", "residual t", "RankIC", "turnover", "break-even bp", "net SR 5bp")
    rows = [
        (
            str(place),
            one.expression,
            number(one.evidence_z),
            number(one.residual_rank_ic_t),
            number(one.rank_ic, 4),
            number(one.turnover),
            number(one.breakeven_bp, 1),
            number(one.net_sharpe.get("5")),
        )
        for place, one in enumerate(found.alphas, 1)
    ]
    print_table(columns, rows, right=columns[2:])
    for title, matrix in (("values", found.values), ("daily results", found.results)):
        names = [str(place) for place in range(1, len(matrix) + 1)]
        print(f"\ncorrelation of {title}")
        lines = [(name, *(number(value) for value in line)) for name, line in zip(names, matrix, strict=True)]
        print_table(("", *names), lines, right=names)


def _print_trial(trial: Trial) -> None:
    window = trial.window
    print(f"{trial.expression}\n")
    print(f"panel      {trial.panel}, {window.role} window {window.start} to {window.end}, {trial.n_days} days")
    print(f"label      {trial.horizon} days, fill {trial.fill}")
    if trial.evidence_t is None and "evidence_t" in trial.missing:
        print(f"evidence   none on residual returns: {trial.missing['evidence_t']}")
    else:
        print(
            f"evidence   {number(trial.evidence, 4)}  t {number(trial.evidence_t)}  z {number(trial.evidence_z)}, "
            "on residual returns"
        )
        print(f"residual   {number(trial.residual_rank_ic, 4)}  t {number(trial.residual_rank_ic_t)}, their RankIC")
    print(f"RankIC     {number(trial.rank_ic, 4)}  t {number(trial.rank_ic_t)}")
    print(f"IC         {number(trial.ic, 4)}  t {number(trial.ic_t)}  ICIR {number(trial.icir)}")
    print(f"turnover   {number(trial.turnover)} per day   break-even {number(trial.breakeven_bp, 1)} bp")
    print(f"coverage   {number(trial.coverage)}")
    age = "known before" if trial.known else "new"
    print(f"trial      {trial.id[:16]}, {age}, one of {trial.trials_total} on this panel")
    if trial.message:
        print(f"{trial.status}: {trial.message}")
    for name, value in (("source", trial.source), ("rationale", trial.rationale), ("critique", trial.critique)):
        if value:
            print(f"{name:11}{plain(value)}")
    for warning in trial.warnings:
        print(f"warning: {warning}")
