"""Text to checked expression: operator precedence with explicit stacks, no recursion, caps kept while reading.

Infix, loosest first: ``or``, ``and``, ``not``, one comparison, ``+ -``, ``* /``, unary ``-``, ``**`` (to the
right); parentheses; calls ``name(argument, ..., option=number)``. A minus before a number is part of the number,
unless ``**`` follows. The depth of a leaf is known when it is read (everything still open will stand above it),
so text beyond the caps is refused before its tree exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from alphaswarm.core.errors import ExpressionError, Reason, UnknownName
from alphaswarm.dsl.check import Fault, call_fault, label_fault, whole_fault
from alphaswarm.dsl.expr import KEYWORDS, Expr, count_of, group, number, plain_call
from alphaswarm.dsl.expr import field as field_node
from alphaswarm.dsl.hints import instead_of
from alphaswarm.dsl.lexer import Token, TokenKind, tokens
from alphaswarm.dsl.limits import MAX_BRACKETS, MAX_DEPTH, MAX_LOOKBACK, MAX_NODES
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Operator, SlotKind

__all__ = ["parse"]

DIALECTS = ("native",)

_INFIX = {row.symbol: row for row in OPERATORS.values() if row.symbol and len(row.slots) == 2}
_COMPARISON = OPERATORS["lt"].precedence
_POWER = OPERATORS["pow"]
_INTEGER = re.compile(r"-?[0-9]+", re.ASCII)


def parse(text: str, dialect: str = "native") -> Expr:
    """Read a formula and hold it to every rule that needs no panel.

    Args:
        text: the formula, ASCII, at most 4,096 bytes.
        dialect: whose names it uses; "native" is the table of operators itself.

    Returns:
        The interned expression: equal formulas give the same object, and ``parse(str(e)) is e``.

    Raises:
        ExpressionError: the first fault, with its column in `text`, its `Reason` and what would be valid.
        UnknownName: no such dialect.
    """
    if dialect not in DIALECTS:
        raise UnknownName.of("dialect", dialect, DIALECTS)
    return _Reader(text).read()


@dataclass(slots=True)
class _Operand:
    """A finished part: where it starts, and how it was written if it is a number written out."""

    node: Expr
    column: int
    literal: str = ""


@dataclass(slots=True)
class _Open:
    """What still waits for its right end: an operator, a bracket (no operator) or a call."""

    operator: Operator | None
    column: int
    call: bool = False
    base: int = 0
    options: dict[str, float] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)

    @property
    def binding(self) -> int:
        """Precedence of a waiting operator, 0 for brackets and calls: nothing reaches through them."""
        return self.operator.precedence if self.operator is not None and not self.call else 0


class _Reader:
    """One pass over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens(text)
        self.place = 0
        self.operands: list[_Operand] = []
        self.open: list[_Open] = []
        self.above = 0  # open operators and calls: the nodes that will stand above the next leaf
        self.brackets = 0
        self.nodes = 0

    def read(self) -> Expr:
        """The whole text as one expression."""
        if self.tokens[0].kind is TokenKind.END:
            self.refuse(1, "an expression names at least one field, got no text")
        while True:
            self.operand()
            if self.operator():
                break
        expr = self.operands[0].node
        fault = whole_fault(expr)
        if fault:
            self.refuse(1, fault.message, fault.reason, fault.hint)
        return expr

    # -- reading ---------------------------------------------------------------------------------

    def operand(self) -> None:
        """Read up to and with one operand, opening what stands before it."""
        while True:
            token = self.next()
            following = self.tokens[self.place] if token.kind is not TokenKind.END else token
            if token.kind is TokenKind.NUMBER:
                return self.leaf(number(float(token.text)), token.column, token.text)
            if token.text == "not":
                self.prefix(OPERATORS["not"], token)
            elif token.kind is TokenKind.NAME and token.text not in KEYWORDS:
                if following.text == "(":
                    self.begin_call(token)
                elif following.text == "=":
                    self.option(token)
                    return None
                else:
                    return self.name(token)
            elif token.text == "(":
                self.bracket(_Open(None, token.column))
            elif token.text == "-" and following.kind is TokenKind.NUMBER and not self.is_power(self.place + 1):
                self.next()
                return self.leaf(number(-float(following.text)), token.column, f"-{following.text}")
            elif token.text == "-":
                self.prefix(OPERATORS["neg"], token)
            else:
                hint = "there is no unary plus" if token.text == "+" else "a field, a number, a call or ("
                self.refuse(token.column, f"expected a value, got {self.shown(token)}", hint=hint)

    def operator(self) -> bool:
        """Read what may follow an operand; whether that was the end of the text."""
        while True:
            token = self.next()
            if token.kind is TokenKind.END:
                self.settle(1)
                if self.open:
                    self.refuse(token.column, f"( of column {self.open[-1].column} is not closed")
                return True
            if token.text in _INFIX:
                self.infix(_INFIX[token.text], token)
                return False
            if token.text == ",":
                self.comma(token)
                return False
            if token.text != ")":
                hint = "an option is written name=number" if token.text == "=" else "+ - * / ** < and or , )"
                self.refuse(token.column, f"expected an operator, got {self.shown(token)}", hint=hint)
            self.close(token)

    def next(self) -> Token:
        """The next token; END repeats."""
        token = self.tokens[self.place]
        self.place += token.kind is not TokenKind.END
        return token

    def is_power(self, place: int) -> bool:
        """Whether ``**`` stands at `place`."""
        return self.tokens[place].text == _POWER.symbol

    def shown(self, token: Token) -> str:
        """A token as messages name it."""
        return "the end of the text" if token.kind is TokenKind.END else repr(token.text)

    # -- leaves and openings -----------------------------------------------------------------------

    def leaf(self, node: Expr, column: int, literal: str = "") -> None:
        """Take a leaf: `push` has made sure that it is not too deep."""
        self.count(column)
        self.operands.append(_Operand(node, column, literal))

    def name(self, token: Token) -> None:
        """A bare name: a field, or a group once its slot is known."""
        fault = label_fault(token.text)
        if fault:
            self.refuse(token.column, fault.message, fault.reason, fault.hint)
        self.leaf(field_node(token.text), token.column)

    def push(self, entry: _Open) -> None:
        """Open an operator or a call."""
        self.count(entry.column)
        self.above += 1
        if self.above + 1 > MAX_DEPTH:
            message = f"an expression has at most {MAX_DEPTH} levels, got more"
            self.refuse(entry.column, message, Reason.DSL_TOO_LARGE)
        self.open.append(entry)

    def count(self, column: int) -> None:
        """Count a node before it exists."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            message = f"an expression has at most {MAX_NODES} nodes, got more"
            self.refuse(column, message, Reason.DSL_TOO_LARGE)

    def bracket(self, entry: _Open) -> None:
        """Open a bracket."""
        self.brackets += 1
        if self.brackets > MAX_BRACKETS:
            message = f"brackets nest at most {MAX_BRACKETS} deep, got more"
            self.refuse(entry.column, message, Reason.DSL_TOO_LARGE)
        entry.base = len(self.operands)
        if not entry.call:
            self.open.append(entry)

    def begin_call(self, token: Token) -> None:
        """Open ``name(``."""
        operator = OPERATORS.get(token.text)
        if operator is None:
            hint = instead_of(token.text)
            self.refuse(token.column, f"there is no operator {token.text!r}", Reason.DSL_NAME, hint)
        self.next()
        entry = _Open(operator, token.column, call=True)
        self.bracket(entry)
        self.push(entry)
        if self.tokens[self.place].text == ")":
            message = f"{token.text} takes {count_of(operator)}, got 0"
            self.refuse(token.column, message, Reason.DSL_ARITY, f"write {operator.signature}")

    def prefix(self, operator: Operator, token: Token) -> None:
        """Open ``-`` or ``not``."""
        if operator.symbol == "not" and self.open and self.open[-1].binding > operator.precedence:
            hint = "put it in parentheses, as in (not c) * x"
            self.refuse(token.column, "not binds looser than what stands before it", hint=hint)
        self.push(_Open(operator, token.column))

    def infix(self, operator: Operator, token: Token) -> None:
        """Open a binary operator after closing all that binds tighter on its left."""
        to_the_right = operator is _POWER
        self.settle(operator.precedence + (to_the_right or operator.precedence == _COMPARISON))
        if operator.precedence == _COMPARISON and self.open and self.open[-1].binding == _COMPARISON:
            self.refuse(token.column, "comparisons do not chain", hint="join two of them, as in a < b and b < c")
        self.push(_Open(operator, token.column))

    def option(self, token: Token) -> None:
        """Read ``name=number`` up to the comma or bracket behind it."""
        entry = self.open[-1] if self.open else None
        if entry is None or not entry.call or self.tokens[self.place - 2].text not in ("(", ","):
            self.refuse(self.tokens[self.place].column, "= stands only in an option of a call, as in min_obs=10")
        if token.text in entry.options:
            self.refuse(token.column, f"option {token.text!r} is given twice")
        self.next()
        sign = self.next() if self.tokens[self.place].text == "-" else None
        value = self.next()
        if value.kind is not TokenKind.NUMBER:
            self.refuse(value.column, f"option {token.text!r} must be a number, got {self.shown(value)}")
        end = self.tokens[self.place]
        if end.text not in (",", ")"):
            self.refuse(end.column, f"expected , or ) after an option, got {self.shown(end)}")
        written = entry.operator.option(token.text) if entry.operator else None
        if written and written.whole and not _INTEGER.fullmatch(value.text):
            message = f"{token.text} must be an integer literal, got {value.text}"
            self.refuse(value.column, message, Reason.DSL_WINDOW)
        entry.options[token.text] = -float(value.text) if sign else float(value.text)
        entry.columns[token.text] = token.column

    def comma(self, token: Token) -> None:
        """Finish an argument; after an option only options may follow."""
        self.settle(1)
        entry = self.open[-1] if self.open else None
        if entry is None or not entry.call:
            self.refuse(token.column, "a comma stands only between the arguments of a call")
        if entry.options and self.tokens[self.place + 1 - (self.tokens[self.place].kind is TokenKind.END)].text != "=":
            self.refuse(self.tokens[self.place].column, "an argument can't follow an option")

    # -- closing -----------------------------------------------------------------------------------

    def settle(self, least: int) -> None:
        """Close the open operators that bind at least as tightly as `least`."""
        while self.open and self.open[-1].binding >= least and (operator := self.open[-1].operator) is not None:
            entry = self.open.pop()
            count = len(operator.slots)
            parts = self.operands[-count:]
            del self.operands[-count:]
            self.build(entry, operator, parts, entry.column if count == 1 else parts[0].column)

    def close(self, token: Token) -> None:
        """Close the innermost bracket or call."""
        self.settle(1)
        if not self.open:
            self.refuse(token.column, ") closes nothing")
        entry = self.open.pop()
        self.brackets -= 1
        if entry.operator is not None:
            parts = self.operands[entry.base :]
            del self.operands[entry.base :]
            self.build(entry, entry.operator, parts, entry.column)

    def build(self, entry: _Open, operator: Operator, parts: list[_Operand], column: int) -> None:
        """Make the node of a finished operator or call."""
        self.above -= 1
        parts = self.take_positional_options(entry, operator, parts)
        args = tuple(self.as_slot(operator, index, part.node) for index, part in enumerate(parts))
        fault = call_fault(operator, args, entry.options) or self.written_fault(operator, parts)
        if fault:
            at = entry.columns[fault.option] if fault.option else entry.column
            at = parts[fault.index].column if fault.index >= 0 else at
            self.refuse(at, fault.message, fault.reason, fault.hint)
        options = tuple(entry.options.items())
        if operator.expands is not None:
            target, source = operator.expands
            self.count(entry.column)
            node = plain_call(target, (field_node(source), *args), options)
        else:
            node = plain_call(operator.name, args, options)
        if node.depth > MAX_DEPTH:
            message = f"an expression has at most {MAX_DEPTH} levels, got more"
            self.refuse(entry.column, message, Reason.DSL_TOO_LARGE)
        if node.warmup > MAX_LOOKBACK:
            message = f"an expression looks back at most {MAX_LOOKBACK} rows, got {node.warmup}"
            self.refuse(entry.column, message, Reason.DSL_TOO_LARGE)
        self.operands.append(_Operand(node, column))

    def take_positional_options(self, entry: _Open, operator: Operator, parts: list[_Operand]) -> list[_Operand]:
        """Move literals behind the slots to the options that may be given by place."""
        least = len(operator.slots)
        by_place = [option for option in operator.options if option.positional]
        if operator.variadic or len(parts) > least + len(by_place):
            return parts
        for option, part in zip(by_place, parts[least:], strict=False):
            if not part.literal or option.name in entry.options:
                self.refuse(part.column, f"{option.name} of {operator.name} must be one number literal")
            entry.options[option.name] = part.node.value
            entry.columns[option.name] = part.column
        return parts[:least]

    def as_slot(self, operator: Operator, index: int, node: Expr) -> Expr:
        """A bare name in a group slot is a group."""
        is_group = operator.slot(index).kind is SlotKind.GROUP and node.kind == "field"
        return group(node.name) if is_group else node

    def written_fault(self, operator: Operator, parts: list[_Operand]) -> Fault | None:
        """An integer slot takes digits, not a number that happens to be whole."""
        for index, part in enumerate(parts):
            slot = operator.slot(index)
            if slot.kind.whole and not _INTEGER.fullmatch(part.literal):
                reason = Reason.DSL_KIND if slot.kind is SlotKind.INTEGER else Reason.DSL_WINDOW
                got = part.literal or "a computed one"
                return Fault(f"{slot.name} of {operator.name} must be an integer literal, got {got}", reason, "", index)
        return None

    def refuse(self, column: int, message: str, reason: Reason = Reason.DSL_SYNTAX, hint: str = "") -> NoReturn:
        """Give up at `column`."""
        raise ExpressionError(message, text=self.text, column=column, reason=reason, hint=hint)
