"""`build`: a factor program, several lines of Python that make an expression, to that expression.

The program runs in a limited process (`alphaswarm.dsl.programs` inside `alphaswarm.dsl.boxed`), which gives back
text and nothing else. The text is parsed and checked here as any other would be.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from alphaswarm.core.errors import ExpressionError, ProgramError, Reason
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.boxed import Box, Outcome, run_boxed
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.hints import instead_of
from alphaswarm.dsl.limits import MAX_BYTES, MAX_DEPTH, MAX_NODES, MAX_PROGRAM
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.parser import parse
from alphaswarm.dsl.signature import Family

__all__ = ["build"]

BOX = Box(memory=256 << 20, cpu=2, wall=15.0, output=1 << 16)
"""256 MB, two seconds of processor; the wait allows for a busy machine."""

_WORKER = Path(__file__).with_name("programs.py")
_KINDS = {"syntax": Reason.DSL_SYNTAX, "large": Reason.DSL_TOO_LARGE, "name": Reason.DSL_NAME}
_TABLE = {
    row.name: {
        "symbol": row.symbol,
        "precedence": row.precedence,
        "slots": len(row.slots),
        "comparison": row.family is Family.COMPARISON,
    }
    for row in OPERATORS.values()
}


def build(program: str, panel: Panel | None = None) -> Expr:
    """Run `program` in a box and read what it assigned to ``alpha``.

    Args:
        program: ASCII text of at most 16,384 bytes. In it every bare lower-case name that it does not assign is a
            field or group, every operator a function, ``+ - * / ** < <= > >= == !=`` work on expressions and
            ``& | ~`` stand for ``and or not``. It may assign names, loop over lists and ranges, branch on numbers,
            and define functions.
        panel: what the expression shall be evaluated on, see `check`.

    Returns:
        The checked expression.

    Raises:
        ProgramError: the first fault, with its line.
        ProviderError: this system can't limit a process.
    """
    program = program.replace("\r\n", "\n")
    for row, line in enumerate(program.split("\n"), 1):
        odd = next((column for column, sign in enumerate(line, 1) if not (" " <= sign <= "~" or sign == "\t")), 0)
        if odd:
            code = f"U+{ord(line[odd - 1]):04X}"
            reason = Reason.DSL_SYNTAX if line[odd - 1].isascii() else Reason.DSL_NON_ASCII
            _refuse(program, f"a program is plain ASCII text, got {code}", row, odd, reason)
    if len(program) > MAX_PROGRAM:
        message = f"a program has at most {MAX_PROGRAM} bytes, got {len(program)}"
        _refuse(program, message, program.count("\n", 0, MAX_PROGRAM) + 1, 1, Reason.DSL_TOO_LARGE)
    payload = {
        "source": program,
        "operators": _TABLE,
        "max_nodes": MAX_NODES,
        "max_depth": MAX_DEPTH,
        "max_bytes": MAX_BYTES,
    }
    return _read(program, run_boxed(_WORKER, payload, BOX, ["RestrictedPython"]), panel)


def _read(program: str, outcome: Outcome, panel: Panel | None) -> Expr:
    """The expression in an answer; nothing in it is trusted."""
    answer = outcome.answer
    if answer is None:
        reason = Reason.DSL_TOO_LARGE if outcome.limit else Reason.DSL_PROGRAM
        _refuse(program, f"the program was stopped: {outcome.fault}", outcome.line, 1, reason)
    text = answer.get("text")
    if not isinstance(text, str):
        message = _plain(answer.get("error"), 300) or "the program gave no expression"
        unknown = _plain(answer.get("unknown"), 64)
        hint = instead_of(unknown) if unknown else ""
        reason = _KINDS.get(str(answer.get("kind")), Reason.DSL_PROGRAM)
        _refuse(program, message, _whole(answer.get("line")), _whole(answer.get("column")) or 1, reason, hint)
    try:
        return parse(text, panel=panel)
    except ExpressionError as error:
        line, column = _place(answer.get("places"), error.column)
        shown = _plain(text[max(0, error.column - 1) :], 40)
        _refuse(program, f"{error.message} (where alpha says {shown})", line, column, error.reason, error.hint)


def _refuse(program: str, message: str, line: int, column: int, reason: Reason, hint: str = "") -> NoReturn:
    count = program.count("\n") + 1
    raise ProgramError(message, text=program, line=min(line, count), column=column, reason=reason, hint=hint) from None


def _whole(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1_000_000 else 0


def _plain(value: object, width: int) -> str:
    """Text from the box as one printable ASCII line."""
    text = value if isinstance(value, str) else ""
    shown = text[:width].encode("ascii", "backslashreplace").decode("ascii")
    return "".join(sign if sign.isprintable() else " " for sign in shown)


def _place(places: Any, column: int) -> tuple[int, int]:
    """Line and column in the program of the part that starts last before or at `column` of its result."""
    best = (0, 0, 1)
    for place in places if isinstance(places, list) else ():
        if isinstance(place, list) and len(place) == 3:
            start, line, there = map(_whole, place)
            if best[0] <= start <= column:
                best = (start, line, there or 1)
    return best[1:]
