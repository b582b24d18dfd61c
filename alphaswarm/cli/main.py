"""`alphaswarm`: where a command line begins, and the one place where errors become exit codes."""

from __future__ import annotations

import json
import sys

from alphaswarm.cli.exit_codes import ExitCode

__all__ = ["main"]

# What the command line library returns for a Ctrl-C that it saw.
INTERRUPTED = 130


def main() -> None:
    """Run the command line; every error becomes a message and an exit code.

    With ``--json`` there is one JSON document on stdout, whatever happens.
    """
    as_json = "--json" in sys.argv
    try:
        code = _run(as_json=as_json)
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(_interrupted(as_json=as_json) if code == INTERRUPTED else code)


def _run(*, as_json: bool) -> int:
    # Loaded here, so that a Ctrl-C meanwhile is told like any other.
    import typer
    from typer.exceptions import TyperException
    from typer.rich_utils import rich_format_error

    from alphaswarm.cli.app import app
    from alphaswarm.cli.output import fail, print_error

    try:
        return app(standalone_mode=False) or ExitCode.OK
    except TyperException as error:
        if as_json:
            print_error("ARGUMENT_INVALID", error.format_message())
        else:
            rich_format_error(error)  # type: ignore[arg-type]  # it takes any error with a message
        return error.exit_code
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        from alphaswarm.core import AlphaSwarmError, StoreError

        if isinstance(error, OSError):
            named = f"{error.filename}: " if error.filename else ""
            error = StoreError(f"the system refused: {named}{error.strerror or error}")
        if isinstance(error, AlphaSwarmError):
            return fail(error, as_json=as_json)
        if as_json:
            print_error("INTERNAL", f"a fault of this program, {type(error).__name__}; stderr says more")
        raise


def _interrupted(*, as_json: bool) -> ExitCode:
    # Nothing is loaded here: the interrupt may have come before anything was.
    message = "stopped by Ctrl-C; a run that had begun goes on with agent resume"
    if as_json:
        print(json.dumps({"error": {"reason": "INTERRUPTED", "message": message}}, indent=2))
    else:
        print(f"INTERRUPTED: {message}", file=sys.stderr)
    return ExitCode.PARTIAL
