"""Text to tokens: ASCII only, refused at the first character that has no place here.

What names look like and which signs there are is a dialect's to say (`Lexicon`); numbers and caps are the same in all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple, NoReturn

from alphaswarm.core.errors import ExpressionError, Reason
from alphaswarm.dsl.limits import MAX_BYTES, MAX_NAME, MAX_TOKENS

__all__ = ["NATIVE_LEXICON", "WHY", "Lexicon", "Token", "TokenKind", "tokens"]


class TokenKind(Enum):
    """What a token is."""

    NAME = auto()
    NUMBER = auto()
    SYMBOL = auto()
    END = auto()


class Token(NamedTuple):
    """A piece of the text; `column` is 1-based and counts from the start of the whole text."""

    kind: TokenKind
    text: str
    column: int


_FOREIGN = re.compile(r"[^\t\n\r -~]")  # beyond ASCII, or a control character that nobody sees
_AFTER_NUMBER = re.compile(r"[A-Za-z0-9_.]", re.ASCII)

WHY: Mapping[str, str] = {
    ".": "there are no attributes",
    "'": "there are no strings",
    '"': "there are no strings",
    "`": "there are no strings",
    "[": "there are no subscripts or lists",
    "]": "there are no subscripts or lists",
    "{": "there are no braces",
    "}": "there are no braces",
    "$": "a field is its bare name, as in close",
    "#": "there are no comments",
    "?": "choose with if_else(condition, x, y)",
    ":": "choose with if_else(condition, x, y); there is no assignment",
    "&": "logic is spelled and",
    "|": "logic is spelled or",
    "!": "logic is spelled not",
    "~": "logic is spelled not",
    "^": "a power is x ** y",
    "%": "arithmetic is + - * / **",
    "@": "arithmetic is + - * / **",
    ";": "an expression is one formula",
}
"""What to write instead of a character that has no place, natively."""


@dataclass(frozen=True)
class Lexicon:
    """How a dialect spells.

    Attributes:
        symbols: its signs; a longer one goes before its own beginning.
        name: pattern of a name.
        cased: whether names may have upper-case letters; native ones may not.
        folded: whether those mean the lower-case ones.
        why: what to write instead of a character that has no place.
    """

    symbols: tuple[str, ...] = ("**", "<=", ">=", "==", "!=", *"+-*/<>=(),")
    name: str = "[A-Za-z_][A-Za-z0-9_]*"
    cased: bool = False
    folded: bool = False
    why: Mapping[str, str] = field(default_factory=lambda: WHY)

    @cached_property
    def token(self) -> re.Pattern[str]:
        """Any one token, or the space before it."""
        return re.compile(
            r"(?P<space>[ \t\r\n]+)"
            rf"|(?P<name>{self.name})"
            r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
            rf"|(?P<symbol>{'|'.join(map(re.escape, self.symbols))})",
            re.ASCII,
        )


NATIVE_LEXICON = Lexicon()


def tokens(text: str, lexicon: Lexicon = NATIVE_LEXICON) -> list[Token]:
    """Split `text`.

    Args:
        text: the formula; spaces, tabs and line ends only separate.
        lexicon: how its dialect spells.

    Returns:
        The tokens, closed by one of kind END behind the last character.

    Raises:
        ExpressionError: DSL_TOO_LARGE beyond the caps on bytes (before anything is read) and tokens,
            DSL_NON_ASCII for the first character that is not printable ASCII, DSL_CONSTANT for a number that is
            not finite, DSL_SYNTAX for the first piece that no token starts with.
    """
    if len(text) > MAX_BYTES:
        message = f"an expression has at most {MAX_BYTES} bytes, got {len(text)}"
        _refuse(text, MAX_BYTES + 1, message, Reason.DSL_TOO_LARGE, "use a smaller formula")
    foreign = _FOREIGN.search(text)
    if foreign:
        message = f"only printable ASCII is read, got U+{ord(foreign.group()):04X}"
        _refuse(text, foreign.start() + 1, message, Reason.DSL_NON_ASCII, "type it anew, in plain letters and signs")
    found: list[Token] = []
    pattern = lexicon.token
    place = 0
    while place < len(text):
        match = pattern.match(text, place)
        if match is None:
            character = text[place]
            message = f"{character!r} has no place in an expression"
            hint = lexicon.why.get(character, f"names, numbers and {' '.join(lexicon.symbols)}")
            _refuse(text, place + 1, message, Reason.DSL_SYNTAX, hint)
        column, place = place + 1, match.end()
        kind = match.lastgroup
        if len(found) == MAX_TOKENS and kind != "space":
            message = f"an expression has at most {MAX_TOKENS} tokens, got more"
            _refuse(text, column, message, Reason.DSL_TOO_LARGE, "use a smaller formula")
        if kind == "symbol":
            found.append(Token(TokenKind.SYMBOL, match.group(), column))
        elif kind == "name":
            found.append(_name(text, match.group(), column, lexicon))
        elif kind == "number":
            found.append(_number(text, match.group(), column, place))
    found.append(Token(TokenKind.END, "", len(text) + 1))
    return found


def _name(text: str, name: str, column: int, lexicon: Lexicon) -> Token:
    if not lexicon.cased and name != name.lower():
        _refuse(text, column, f"names are lower case, got {name[:MAX_NAME]!r}", Reason.DSL_SYNTAX, _lowered(name))
    if name.startswith("__"):
        message = f"a name does not start with two underscores, got {name[:MAX_NAME]!r}"
        _refuse(text, column, message, Reason.DSL_SYNTAX, "use a field's or an operator's name")
    if len(name) > MAX_NAME:
        message = f"a name has at most {MAX_NAME} characters, got {len(name)}"
        _refuse(text, column, message, Reason.DSL_TOO_LARGE, "use a field's or an operator's name")
    return Token(TokenKind.NAME, name.lower() if lexicon.folded else name, column)


def _lowered(name: str) -> str:
    if len(name) > MAX_NAME or name.startswith("__"):
        return "use a field's or an operator's name"
    return f"write {name.lower()}"


def _number(text: str, written: str, column: int, end: int) -> Token:
    if end < len(text) and _AFTER_NUMBER.match(text, end):
        hint = "decimal digits with an optional fraction and exponent, as 0.5 or 1e-6"
        _refuse(text, end + 1, f"{text[end]!r} can't stand in a number", Reason.DSL_SYNTAX, hint)
    whole = re.match("[0-9]*", written)
    if whole and len(whole.group()) > 1 and written[0] == "0":
        hint = f"write {written.lstrip('0')[:20] or '0'}"
        _refuse(text, column, f"a number has no leading zeros, got {written[:20]!r}", Reason.DSL_SYNTAX, hint)
    value = float(written)
    if not math.isfinite(value) or (value == 0 and written.lower().split("e")[0].strip("0.")):
        hint = "from 4.9e-324 to 1.8e308"
        _refuse(text, column, f"a number must fit a float64, got {written[:20]!r}", Reason.DSL_CONSTANT, hint)
    return Token(TokenKind.NUMBER, written, column)


def _refuse(text: str, column: int, message: str, reason: Reason, hint: str) -> NoReturn:
    raise ExpressionError(message, text=text, column=column, reason=reason, hint=hint)
