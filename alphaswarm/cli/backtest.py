"""`alphaswarm backtest`: from an expression's weights to equity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from alphaswarm.cli.expression import ExpressionArgument, ExpressionCommand
from alphaswarm.cli.output import (
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    number,
    open_workspace,
    print_json,
    progress_console,
)

if TYPE_CHECKING:
    from alphaswarm.research import BacktestRecord

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.command(cls=ExpressionCommand)
def run(
    expression: ExpressionArgument,
    panel: PanelOption = None,
    horizon: Annotated[int, typer.Option("--horizon", min=1, max=252, help="Days held, in staggered parts.")] = 5,
    cost_bp: Annotated[float, typer.Option("--cost-bp", min=0, help="Cost per traded dollar, basis points.")] = 5.0,
    engine: Annotated[str, typer.Option("--engine", help="vector")] = "vector",
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Hold an expression's weights over the search window and store the result."""
    with open_workspace(workspace) as project, progress_console().status("backtesting"):
        record = project.backtest(
            expression,
            panel=panel or project.catalog.default(),
            horizon=horizon,
            cost_bp=cost_bp,
            engine=engine,
        )
    _print(record, as_json)


@app.command()
def show(
    backtest: Annotated[str, typer.Argument(help="A backtest's id, or the start of one.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """A stored backtest."""
    with open_workspace(workspace) as project:
        record = project.backtest_record(backtest)
    _print(record, as_json)


def _print(record: BacktestRecord, as_json: bool) -> None:
    if as_json:
        print_json(record.model_dump(mode="json"))
        return
    print(f"{record.expression}\n")
    window = record.window
    print(f"panel   {record.panel}, {window.role} window {window.start} to {window.end}, {record.engine} engine")
    for name, value in record.metrics.items():
        print(f"{name:24}{number(value, 4):>12}")
    for warning in record.warnings:
        print(f"note: {warning}")
    print(f"stored as {record.id[:16]}")
