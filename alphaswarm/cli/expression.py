"""The argument that stands for an expression: its text, or ``@FILE`` with a program that builds it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["ExpressionArgument", "expression_text", "read_program"]


def read_program(source: str) -> str:
    """The text of the file `source`, or of standard input for ``-``; no more of it than a program may have."""
    from alphaswarm.core import DataInvalid, Reason
    from alphaswarm.dsl.limits import MAX_PROGRAM

    if source == "-":
        body = sys.stdin.buffer.read(MAX_PROGRAM + 1)
    else:
        try:
            with Path(source).open("rb") as file:
                body = file.read(MAX_PROGRAM + 1)
        except OSError as error:
            message = f"a program file must be readable, got {source!r}: {error.strerror}"
            raise DataInvalid(message, Reason.ARGUMENT_INVALID) from None
    return body.decode("utf-8", "replace")


def expression_text(argument: str) -> str:
    """What `argument` stands for: ``@FILE`` is built, ``@-`` from standard input, anything else is itself."""
    if not argument.startswith("@"):
        return argument
    from alphaswarm.dsl import build

    return str(build(read_program(argument[1:])))


ExpressionArgument = Annotated[
    str,
    typer.Argument(
        help="An expression, such as 'cs_rank(-ts_sum(returns, 5))', or @FILE with a program that builds one.",
        callback=expression_text,
    ),
]
