"""`alphaswarm backtest`: from weights to equity."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from alphaswarm.cli.expression import ExpressionCommand, expression_text
from alphaswarm.cli.output import (
    JsonOption,
    PanelOption,
    WorkspaceOption,
    default_workspace,
    number,
    open_workspace,
    print_json,
    print_table,
    progress_console,
)

if TYPE_CHECKING:
    from alphaswarm.research import BacktestRecord
    from alphaswarm.research.backtest_compare import BacktestComparison

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

SourceArgument = Annotated[
    str | None,
    typer.Argument(
        help="An expression or @FILE with a program; pool; a weights file (.csv, .csv.gz, .parquet); a spec (.yaml).",
        callback=lambda text: text if text is None else expression_text(text),
    ),
]
HorizonOption = Annotated[
    int, typer.Option("--horizon", min=1, max=252, help="Days that a factor's weights are held, in staggered parts.")
]
CostOption = Annotated[float, typer.Option("--cost-bp", min=0, help="Cost per traded dollar, basis points.")]
EngineOption = Annotated[
    str, typer.Option("--engine", help="vector (fractions of equity), or event (orders, whole shares, cash).")
]
ModeOption = Annotated[
    str,
    typer.Option(
        "--mode",
        help="Of the event engine: next_open, close_to_close, backtrader, backtrader_coo or cheat_on_close. Default: "
        "next_open where the panel has an open, else close_to_close.",
    ),
]
FillOption = Annotated[
    str, typer.Option("--fill", help="Of the vector engine: close_t1 or open_t1. Default: close_t1.")
]
BASELINE_NAMES = (
    "equal_weight, buy_and_hold, inverse_volatility, minimum_variance, random_weights, or quantile_long_short of an "
    "expression"
)
# What a spec says itself.
OPTIONS_OF_A_SPEC = ("horizon", "cost_bp", "engine", "mode", "fill", "baseline")


@app.command(cls=ExpressionCommand)
def run(
    context: typer.Context,
    source: SourceArgument = None,
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    cost_bp: CostOption = 5.0,
    engine: EngineOption = "vector",
    mode: ModeOption = "",
    fill: FillOption = "",
    baseline: Annotated[str, typer.Option("--baseline", help=f"Held instead: {BASELINE_NAMES}.")] = "",
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Hold weights over the search window, and keep the result with a page of pictures."""
    from alphaswarm.core import AlphaSwarmError, Reason
    from alphaswarm.research.backtest_page import write_page
    from alphaswarm.research.backtest_setup import SPEC_SUFFIXES, engine_for, read_spec, request_for

    with open_workspace(workspace) as project, progress_console().status("backtesting"):
        if source is not None and source.lower().endswith(SPEC_SUFFIXES):
            for name in OPTIONS_OF_A_SPEC:
                if getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE":
                    option = "--" + name.replace("_", "-")
                    raise AlphaSwarmError(f"a spec says this itself: leave {option} out", Reason.ARGUMENT_INVALID)
            request = read_spec(Path(source), panel or project.catalog.default())
        else:
            trader = engine_for(engine, cost_bp=cost_bp, mode=mode or None, fill=fill or None)
            on = panel or project.catalog.default()
            request = request_for(source, on, trader, horizon=horizon, baseline=baseline or None)
        record = project.run_backtest(request)
        page = write_page(project.path, record)
    _print(record, page, as_json)


@app.command()
def show(
    backtest: Annotated[str, typer.Argument(help="A backtest's id, or the start of one.")],
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """A stored backtest."""
    from alphaswarm.research.backtest_page import write_page

    with open_workspace(workspace) as project:
        record = project.backtest_record(backtest)
        page = write_page(project.path, record)
    _print(record, page, as_json)


@app.command("list")
def list_backtests(
    panel: Annotated[str | None, typer.Option("--panel", help="Only those on this panel.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="How many, the newest first.")] = 20,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Stored backtests, the newest first."""
    with open_workspace(workspace) as project:
        records = project.backtests(panel, limit)
    if as_json:
        print_json({"backtests": [dict(record.summary().body) for record in records]})
        return
    columns = ("id", "what", "panel", "engine", "cost bp", "Sharpe", "return", "drawdown", "turnover")
    rows = [
        (
            record.id[:10],
            record.title,
            record.panel,
            record.engine,
            number(record.cost_bp, 1),
            *_figures(record.metrics),
        )
        for record in records
    ]
    print_table(columns, rows, right=columns[4:], flexible="what")


@app.command(cls=ExpressionCommand)
def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            help="Ids of stored backtests, or what `backtest run` takes.",
            callback=lambda texts: [expression_text(text) for text in texts],
        ),
    ],
    panel: PanelOption = None,
    horizon: HorizonOption = 5,
    cost_bp: CostOption = 5.0,
    engine: EngineOption = "vector",
    mode: ModeOption = "",
    fill: FillOption = "",
    baseline: Annotated[
        list[str] | None, typer.Option("--baseline", help="Also this baseline; may be given again.")
    ] = None,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Backtests side by side: figures, and correlations of daily returns; alpha and beta to the first baseline."""
    from alphaswarm.research.backtest_compare import compare_backtests
    from alphaswarm.research.backtest_setup import SPEC_SUFFIXES, engine_for, read_spec, request_for

    trader = engine_for(engine, cost_bp=cost_bp, mode=mode or None, fill=fill or None)
    with open_workspace(workspace) as project, progress_console().status("backtesting"):
        known = [project.find_backtest(source) for source in sources]
        stored = next((record for record in known if record is not None), None)
        on = panel or (project.catalog.default() if stored is None else stored.panel)
        asked = [
            read_spec(Path(source), on)
            if source.lower().endswith(SPEC_SUFFIXES)
            else request_for(source, on, trader, horizon=horizon)
            for source in sources
        ]
        records = [record or project.run_backtest(request) for record, request in zip(known, asked, strict=True)]
        held = [request_for(None, on, trader, baseline=name) for name in baseline or []]
        records += [project.run_backtest(request) for request in held]
        comparison = compare_backtests(records)
    if as_json:
        print_json(comparison.model_dump(mode="json"))
    else:
        _print_comparison(comparison)


def _print(record: BacktestRecord, page: Path, as_json: bool) -> None:
    from alphaswarm.research.backtest_words import METRICS, shown

    if as_json:
        print_json(record.model_dump(mode="json") | {"page": str(page)})
        return
    window = record.window
    held, _, traded = record.words.rpartition("; ")
    print(f"{record.title}\n")
    print(f"panel   {record.panel}, {window.role} window {window.start} to {window.end}, {len(record.dates):,} days")
    if held:
        print(f"held    {held}")
    print(f"traded  {record.engine} engine, {traded}\n")
    for metric in METRICS:
        if metric.name in record.metrics:
            print(f"{metric.title:24}{shown(metric, record.metrics[metric.name]):>14}")
    for warning in record.warnings:
        print(f"note: {warning}")
    print(f"\nstored as {record.id[:16]}\npage {page}")


def _figures(metrics: dict[str, float | None]) -> tuple[str, ...]:
    def percent(name: str) -> str:
        value = metrics.get(name)
        return "-" if value is None else f"{100 * value:.1f}%"

    return (number(metrics.get("sharpe")), percent("ann_return"), percent("max_drawdown"), percent("turnover"))


def _print_comparison(comparison: BacktestComparison) -> None:
    window = comparison.window
    print(f"{comparison.panel}, {window.role} window {window.start} to {window.end}; after costs\n")
    columns = ["#", "what", "engine", "cost bp", "Sharpe", "return", "drawdown", "turnover"]
    rows = [
        [str(place), one.name, one.engine, number(one.cost_bp, 1), *_figures(one.metrics)]
        for place, one in enumerate(comparison.backtests, 1)
    ]
    if comparison.benchmark is not None:
        columns += ["alpha", "beta"]
        for row, one in zip(rows, comparison.backtests, strict=True):
            row += ["-" if one.alpha is None else f"{100 * one.alpha:.1f}%", number(one.beta)]
    print_table(columns, rows, right=columns[3:], flexible="what")
    print("\ncorrelations of daily returns\n")
    numbers = [str(place) for place in range(1, len(comparison.backtests) + 1)]
    print_table(
        ("#", *numbers),
        [(place, *map(number, row)) for place, row in zip(numbers, comparison.correlations, strict=True)],
        right=numbers,
        flexible="",
    )
