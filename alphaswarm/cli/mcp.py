"""`alphaswarm mcp`: the same tools for any MCP client."""

from __future__ import annotations

from typing import Annotated

import typer

from alphaswarm.cli.output import JsonOption, WorkspaceOption, default_workspace, print_json

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.command()
def serve(
    workspace: WorkspaceOption = default_workspace,
    toolsets: Annotated[
        str | None, typer.Option("--toolsets", envvar="ALPHASWARM_TOOLSETS", help="Comma separated; default all.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Only tools that change nothing.")] = False,
    tool_names: Annotated[str, typer.Option("--tool-names", help="underscore or dotted")] = "underscore",
) -> None:
    """Serve the tools on standard input and output."""
    from alphaswarm.mcp_server import serve as serve_stdio

    chosen = [name.strip() for name in toolsets.split(",")] if toolsets else None
    serve_stdio(workspace, toolsets=chosen, read_only=read_only, tool_names=tool_names)


@app.command()
def install(
    client: Annotated[str, typer.Option("--client", help="claude-desktop, cursor or vscode")],
    only_print: Annotated[bool, typer.Option("--print", help="Print the entry; write nothing.")] = False,
    workspace: WorkspaceOption = default_workspace,
    as_json: JsonOption = False,
) -> None:
    """Enter this server into an MCP client's configuration, with absolute paths."""
    from alphaswarm.mcp_server import client_config
    from alphaswarm.mcp_server import install as write_entry

    if only_print:
        print_json(client_config(client, workspace))
        return
    path = write_entry(client, workspace)
    if as_json:
        print_json({"client": client, "path": str(path)})
    else:
        print(f"wrote the server 'alphaswarm' into {path}; restart {client}")
