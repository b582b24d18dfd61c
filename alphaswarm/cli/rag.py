"""`alphaswarm rag`: the memory of everything tried."""

from __future__ import annotations

from typing import Annotated

import typer

from alphaswarm.cli.output import (
    JsonOption,
    WorkspaceOption,
    default_workspace,
    expression_settings,
    open_workspace,
    print_json,
    progress_console,
)

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.command(context_settings=expression_settings)
def query(
    text: Annotated[str, typer.Argument(help="Words, or an expression.")],
    corpus: Annotated[
        str, typer.Option("--corpus", help="alpha_factors, backtest_summaries or rl_trajectory_summaries")
    ] = "alpha_factors",
    k: Annotated[int, typer.Option("--k", min=1, max=100, help="At most so many.")] = 5,
    as_of: Annotated[str | None, typer.Option("--as-of", help="Only what could be known by this market date.")] = None,
    panel: Annotated[str | None, typer.Option("--panel", help="Only of this panel.")] = None,
    universe: Annotated[
        str | None, typer.Option("--universe", help="Only on these data, whatever the panel's name.")
    ] = None,
    horizon: Annotated[int | None, typer.Option("--horizon", min=1, help="Only of this horizon.")] = None,
    verdict: Annotated[
        str | None, typer.Option("--verdict", help="Only of this status, such as confirmed, rejected or 'not judged'.")
    ] = None,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """The nearest things in memory, in words; what others wrote stands in quotes."""
    with open_workspace(workspace) as project:
        answer = project.memory.query(
            text,
            corpus=corpus,
            k=k,
            as_of=as_of,
            panel=panel,
            universe=universe,
            horizon=horizon,
            verdict=verdict,
        )
    if as_json:
        print_json(answer.to_dict())
        return
    print(answer.answer)
    notice = f" ({answer.notice})" if answer.notice else ""
    print(f"\nembedder {answer.embedder}, index {answer.index}{notice}")


@app.command()
def reindex(workspace: WorkspaceOption = default_workspace, as_json: JsonOption = False) -> None:
    """Make the vectors and the index anew from the rows in SQL."""
    with open_workspace(workspace) as project, progress_console().status("indexing"):
        body = project.reindex()
    if as_json:
        print_json(body)
    else:
        print(", ".join(f"{name}: {count}" for name, count in body.items()))


@app.command()
def stats(workspace: WorkspaceOption = default_workspace, as_json: JsonOption = False) -> None:
    """How much is remembered, and by which embedder."""
    with open_workspace(workspace) as project:
        body = project.memory.stats()
    if as_json:
        print_json(body)
    else:
        for name, value in body.items():
            print(f"{name:28}{value}")
