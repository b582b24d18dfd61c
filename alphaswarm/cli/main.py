"""`alphaswarm`: the command groups, and the one place where errors become exit codes."""

from __future__ import annotations

import sys

import typer

from alphaswarm.cli import agent, alpha, backtest, data, mcp, project, rag
from alphaswarm.cli.output import fail

__all__ = ["app", "main"]

app = typer.Typer(
    name="alphaswarm",
    help="Research symbolic alpha factors: propose, evaluate, remember, report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help"]},
)
app.add_typer(agent.app, name="agent", help="Let the researcher run, and look at its runs.")
app.add_typer(alpha.app, name="alpha", help="Validate, evaluate and list expressions.")
app.add_typer(backtest.app, name="backtest", help="From weights to equity.")
app.add_typer(data.app, name="data", help="Panels: list, show, fetch, check, import.")
app.add_typer(mcp.app, name="mcp", help="The tools for any MCP client.")
app.add_typer(rag.app, name="rag", help="The memory of everything tried.")
project.add_commands(app)


def main() -> None:
    """Run the command line; errors that the package raises become a message and an exit code."""
    try:
        app()
    except Exception as error:
        from alphaswarm.core import AlphaSwarmError

        if not isinstance(error, AlphaSwarmError):
            raise
        sys.exit(fail(error, as_json="--json" in sys.argv))
