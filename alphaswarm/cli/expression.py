"""The argument that stands for an expression: its text, or ``@FILE`` with a program that builds it."""

from __future__ import annotations

import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ExpressionArgument", "ExpressionArguments", "ExpressionCommand", "expression_text", "read_program"]

_OPTION = re.compile(r"--?(?P<name>[A-Za-z][A-Za-z0-9_-]*)(?P<value>=.*)?", re.DOTALL)
# How alike a word and an option are, from 0 to 1, where the word is taken for a slip.
_SLIP = 0.75


class ExpressionCommand(TyperCommand):
    """A command that takes an expression, which may begin with a minus; a mistyped option is refused all the same."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        settings["context_settings"] = {**(settings.get("context_settings") or {}), "ignore_unknown_options": True}
        super().__init__(*args, **settings)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As ever, after a look at what no option claims."""
        for name, nearest in self._slips(ctx, args):
            hint = f" Did you mean {nearest}?" if nearest else ""
            ctx.fail(f"No such option: {name}.{hint}")
        return super().parse_args(ctx, args)

    def _slips(self, ctx: Any, args: list[str]) -> Iterator[tuple[str, str]]:
        """Words in the form of an option that can be no expression, with the option that is meant, if any."""
        params = self.get_params(ctx)
        options = {option.lstrip("-"): option for param in params for option in (*param.opts, *param.secondary_opts)}
        given, rest, _ = self.make_parser(ctx).parse_args(args=list(args))
        found = [given.get(param.name) for param in params if param.param_type_name == "argument"]
        taken = [word for one in found for word in ([one] if isinstance(one, str) else one or ())]
        before = args[: args.index("--")] if "--" in args else args
        for word in (*taken, *rest):
            match = _OPTION.fullmatch(word) if word in before else None
            if match is None:
                continue
            near = get_close_matches(match["name"], options, n=1, cutoff=_SLIP)
            if near or match["value"] or (rest and word.startswith("--")):
                yield word.partition("=")[0], options[near[0]] if near else ""


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

ExpressionArguments = Annotated[
    list[str],
    typer.Argument(
        help="Two expressions or more, each as text or @FILE.",
        callback=lambda texts: [expression_text(text) for text in texts],
    ),
]
