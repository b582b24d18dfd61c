"""The command groups, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from alphaswarm.cli import agent, alpha, backtest, data, mcp, pool, project, rag, windows

__all__ = ["app"]


def _show_version(wanted: bool) -> None:
    if wanted:
        from alphaswarm import __version__

        print(__version__)
        raise typer.Exit


app = typer.Typer(
    name="alphaswarm",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help"]},
)


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Print the version.")
    ] = False,
) -> None:
    """Research symbolic alpha factors: propose, evaluate, remember, report."""


app.add_typer(agent.app, name="agent", help="Let the researcher run, and look at its runs.")
app.add_typer(alpha.app, name="alpha", help="Validate, evaluate and list expressions.")
app.add_typer(backtest.app, name="backtest", help="From weights to equity.")
app.add_typer(data.app, name="data", help="Panels: list, show, fetch, check, import, append.")
app.add_typer(mcp.app, name="mcp", help="The tools for any MCP client.")
app.add_typer(pool.app, name="pool", help="Confirmed factors together, and the one look into the vault.")
app.add_typer(rag.app, name="rag", help="The memory of everything tried.")
app.add_typer(windows.app, name="windows", help="Which days may be read, which only judge.")
project.add_commands(app)
