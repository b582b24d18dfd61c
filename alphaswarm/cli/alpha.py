"""`alphaswarm alpha`: expressions, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from alphaswarm.cli.output import (
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    expression_settings,
    number,
    open_catalog,
    open_workspace,
    print_json,
    print_table,
    progress_console,
)

if TYPE_CHECKING:
    from alphaswarm.research import Trial

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

ExpressionArgument = Annotated[str, typer.Argument(help="An expression, such as 'cs_rank(-ts_sum(returns, 5))'.")]
HorizonOption = Annotated[int, typer.Option("--horizon", min=1, max=252, help="Days that the label spans.")]
FillOption = Annotated[str, typer.Option("--fill", help="close_t1: fill one close later; open_t1: at the next open.")]


@app.command(context_settings=expression_settings)
def validate(
    expression: ExpressionArgument,
    panel: PanelOption = None,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Parse and check an expression; nothing is evaluated and nothing is counted."""
    from alphaswarm.dsl import canonical, check, parse

    checked = check(parse(expression), open_catalog(workspace).open(panel) if panel else None)
    body = {
        "expression": str(checked),
        "canonical": str(canonical(checked)),
        "digest": checked.digest,
        "fields": sorted(checked.fields),
        "groups": sorted(checked.groups),
        "lookback": checked.lookback,
        "nodes": checked.nodes,
        "depth": checked.depth,
    }
    if as_json:
        print_json(body)
        return
    for key, value in body.items():
        print(f"{key:11}{', '.join(value) if isinstance(value, list) else value}")


@app.command(context_settings=expression_settings)
def evaluate(
    expression: ExpressionArgument,
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    fill: FillOption = "close_t1",
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Measure an expression on the search window; the trial is counted for ever."""
    with open_workspace(workspace) as project, progress_console().status("evaluating"):
        trial = project.evaluate(expression, panel=panel or project.catalog.default(), horizon=horizon, fill=fill)
    if as_json:
        print_json(trial.model_dump(mode="json"))
    else:
        _print_trial(trial)


@app.command(context_settings=expression_settings)
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


@app.command()
def operators(as_json: JsonOption = False) -> None:
    """The words of the language, with an example each."""
    from alphaswarm.dsl import operators as table

    rows = [(row.name, row.signature, row.doc, row.example) for row in table().values()]
    if as_json:
        keys = ("name", "signature", "doc", "example")
        print_json({"operators": [dict(zip(keys, row, strict=True)) for row in rows]})
    else:
        print_table(("operator", "meaning", "example"), [row[1:] for row in rows])


TRIAL_COLUMNS = ("id", "expression", "panel", "h", "RankIC", "t", "turnover", "break-even bp", "net SR 5bp")


def trial_row(trial: Trial) -> tuple[str, ...]:
    """One line of a table of trials."""
    net = (trial.net_sharpe or {}).get("5")
    return (
        trial.id[:10],
        trial.expression,
        trial.panel,
        str(trial.horizon),
        number(trial.rank_ic, 4),
        number(trial.rank_ic_t),
        number(trial.turnover),
        number(trial.breakeven_bp, 1),
        number(net),
    )


def _print_trial(trial: Trial) -> None:
    window = trial.window
    print(f"{trial.expression}\n")
    print(f"panel      {trial.panel}, {window.role} window {window.start} to {window.end}, {trial.n_days} days")
    print(f"label      {trial.horizon} days, fill {trial.fill}")
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
            print(f"{name:11}{value}")
    for warning in trial.warnings:
        print(f"note: {warning}")
