"""Text to checked expression: operator precedence with explicit stacks, no recursion, caps kept while reading.

Infix, loosest first: ``or``, ``and``, ``not``, one comparison, ``+ -``, ``* /``, unary ``-``, ``**`` (to the
right); parentheses; calls ``name(argument, ..., option=number)``. A minus before a number is part of the number,
unless ``**`` follows. The depth of a leaf is known when it is read (everything still open will stand above it),
so text beyond the caps is refused before its tree exists.

Other dialects are read by the same reader. What differs (spelling, signs, calls) is data, see `Dialect`: a call that
is not of the table is replaced by the native formula that stands for it, read with its parameters bound to the
arguments that were given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from alphaswarm.core.errors import ExpressionError, Reason, UnknownName, near
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.check import Fault, Source, call_fault, check, label_fault, whole_fault
from alphaswarm.dsl.dialects import DIALECTS, NATIVE, Dialect, Infix, Word
from alphaswarm.dsl.dialects.binding import INTEGER, Operand, bind, shortened, written
from alphaswarm.dsl.expr import KEYWORDS, NAME, Expr, count_of, group, number, number_text, plain_call
from alphaswarm.dsl.expr import field as field_node
from alphaswarm.dsl.hints import instead_of
from alphaswarm.dsl.lexer import Token, TokenKind, tokens
from alphaswarm.dsl.limits import MAX_BRACKETS, MAX_DEPTH, MAX_LOOKBACK, MAX_NODES
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Operator, SlotKind

__all__ = ["PROGRAM", "Translation", "parse", "translate"]

PROGRAM = "program"
"""What `parse` calls a factor program, beside the dialects."""
_SMALLER = "use a smaller formula"
_CHOICE = 0.5  # how tightly ``c ? x : y`` binds: looser than every operator, tighter than a bracket


def parse(text: str, dialect: str = "native", panel: Panel | None = None) -> Expr:
    """Read a formula and hold it to every rule, to those that need a panel where one is given.

    Args:
        text: the formula, ASCII, at most 4,096 bytes.
        dialect: whose names it uses: "native" (the table of operators itself), "worldquant" or "qlib"; "program" for
            lines of Python that build it, see `build`.
        panel: what it shall be evaluated on, see `check`.

    Returns:
        The interned expression: equal formulas give the same object, and ``parse(str(e)) is e``.

    Raises:
        ExpressionError: the first fault, with its column in `text`, its `Reason` and what would be valid.
        ProgramError: what is wrong with a program, an `ExpressionError` with a line.
        UnknownField: the panel lacks a field or group (an `ExpressionError` and a `FieldNotFound`).
        UnknownName: no such dialect.
    """
    return translate(text, dialect, panel).expr


@dataclass(frozen=True, slots=True)
class Translation:
    """A formula of another system in the native language.

    Attributes:
        expr: what it means here.
        notes: every choice that was made, and where the other system gives other values.
        dialect: what it was read as.
    """

    expr: Expr
    notes: tuple[str, ...]
    dialect: str


def translate(text: str, dialect: str = "native", panel: Panel | None = None) -> Translation:
    """`parse`, with a note of every choice.

    Raises:
        The errors of `parse`.
    """
    if dialect == PROGRAM:
        from alphaswarm.dsl.build import build  # it reads what a program gives with this module

        return Translation(build(text, panel), (), dialect)
    if dialect not in DIALECTS:
        raise UnknownName.of("dialect", dialect, [*DIALECTS, PROGRAM])
    reader = _Reader(text, DIALECTS[dialect])
    expr = reader.read(panel)
    used = frozenset(node.op for node in expr.walk()) if reader.dialect.remarks else frozenset()
    return Translation(expr, tuple(dict.fromkeys([*reader.notes, *reader.dialect.notes_on(used)])), dialect)


@dataclass(slots=True)
class _Open:
    """What still waits for its right end: an operator, a bracket (no operator) or a call."""

    operator: Operator | None
    column: int
    binding: float = 0  # 0 for brackets and calls: nothing reaches through them
    words: tuple[Word, ...] = ()  # a call of the dialect's own
    call: bool = False
    undecided: bool = False  # a ? whose : is still to come
    base: int = 0
    options: dict[str, float] = field(default_factory=dict)
    columns: dict[str, int] = field(default_factory=dict)


class _Reader:
    """One pass over the tokens of one text.

    With `bound` it reads the native formula of a word: names in it stand for arguments that were read already.
    """

    def __init__(
        self,
        text: str,
        dialect: Dialect,
        given: Sequence[Token] | None = None,
        bound: Mapping[str, Operand] | None = None,
        columns: dict[Expr, int] | None = None,
    ) -> None:
        self.text = text
        self.dialect = dialect
        self.tokens = tokens(text, dialect.lexicon) if given is None else given
        self.bound = bound
        self.columns: dict[Expr, int] = {} if columns is None else columns  # where each node first begins
        self.notes: list[str] = []
        self.place = 0
        self.operands: list[Operand] = []
        self.open: list[_Open] = []
        self.above = 0  # open operators and calls: the nodes that will stand above the next leaf
        self.brackets = 0
        self.nodes = 0

    def read(self, panel: Panel | None = None) -> Expr:
        """The whole text as one expression, which `panel` can carry."""
        if self.tokens[0].kind is TokenKind.END:
            self.refuse(1, "an expression names at least one field, got no text", hint="as in close")
        expr = self.read_part().node
        fault = whole_fault(expr)
        if fault:
            self.refuse(1, fault.message, fault.reason, hint=fault.hint)
        return expr if panel is None else check(expr, panel, Source(self.text, self.columns))

    def read_part(self) -> Operand:
        """All tokens as one operand, which may be a part of an expression."""
        while True:
            self.operand()
            if self.operator():
                return self.operands[0]

    # -- reading ---------------------------------------------------------------------------------

    def operand(self) -> None:
        """Read up to and with one operand, opening what stands before it."""
        while True:
            token = self.next()
            following = self.tokens[self.place] if token.kind is not TokenKind.END else token
            if token.kind is TokenKind.NUMBER:
                return self.leaf(number(float(token.text)), token.column, token.text)
            if token.kind is TokenKind.NAME and (token.text not in KEYWORDS or self.is_word(token, following)):
                if following.text == "(":
                    self.begin_call(token)
                elif following.text == "=":
                    self.option(token)
                    return None
                else:
                    self.name(token)
                    return None
            elif token.text == "(":
                self.bracket(_Open(None, token.column))
            elif token.text == "-" and following.kind is TokenKind.NUMBER and not self.is_power(self.place + 1):
                self.next()
                return self.leaf(number(-float(following.text)), token.column, f"-{following.text}")
            elif token.text in self.dialect.prefix:
                self.prefix(*self.dialect.prefix[token.text], token)
            else:
                hint = "there is no unary plus" if token.text == "+" else "a field, a number, a call or ("
                self.refuse(token.column, f"expected a value, got {self.shown(token)}", hint=hint)

    def operator(self) -> bool:
        """Read what may follow an operand; whether that was the end of the text."""
        while True:
            token = self.next()
            if token.kind is TokenKind.END:
                self.settle(_CHOICE)
                if self.open:
                    column = self.open[-1].column
                    self.refuse(token.column, f"( of column {column} is not closed", hint="close it with )")
                return True
            if token.text in self.dialect.infix:
                self.infix(self.dialect.infix[token.text], token)
                return False
            if token.text == "?":
                self.choice(token)
                return False
            if token.text == ":":
                self.otherwise(token)
                return False
            if token.text == ",":
                self.comma(token)
                return False
            if token.text != ")":
                signs = " ".join(self.dialect.infix)
                hint = "an option is written name=number" if token.text == "=" else f"{signs} , )"
                self.refuse(token.column, f"expected an operator, got {self.shown(token)}", hint=hint)
            self.close(token)

    def next(self) -> Token:
        """The next token; END repeats."""
        token = self.tokens[self.place]
        self.place += token.kind is not TokenKind.END
        return token

    def is_power(self, place: int) -> bool:
        """Whether ``**`` stands at `place`."""
        infix = self.dialect.infix.get(self.tokens[place].text)
        return infix is not None and infix.operator.name == "pow"

    def is_word(self, token: Token, following: Token) -> bool:
        """Whether a keyword is the name of a call here."""
        return self.dialect.words is not None and token.text in self.dialect.words and following.text == "("

    def shown(self, token: Token) -> str:
        """A token as messages name it."""
        return "the end of the text" if token.kind is TokenKind.END else repr(token.text)

    # -- leaves and openings -----------------------------------------------------------------------

    def leaf(self, node: Expr, column: int, literal: str = "") -> None:
        """Take a leaf: `push` has made sure that it is not too deep."""
        self.count(column)
        self.put(node, column, literal)

    def put(self, node: Expr, column: int, literal: str = "") -> None:
        """Take a finished operand."""
        self.columns.setdefault(node, column)
        self.operands.append(Operand(node, column, literal))

    def name(self, token: Token) -> None:
        """A bare name: an argument, a field, or a group once its slot is known."""
        if self.bound is not None and token.text in self.bound:
            self.count(token.column)
            self.operands.append(self.bound[token.text])
            return
        leaf = self.dialect.leaf(token.text)
        if leaf.kind == "formula":
            self.count(token.column)
            self.expand(Word(token.text, leaf.text, leaf.note), {}, token.column)
            return
        if not NAME.fullmatch(leaf.text) or leaf.text in KEYWORDS:
            hint = f"a field is its bare name, {self.dialect.bare}"
            self.refuse(token.column, f"{token.text!r} is no field", hint=hint)
        fault = label_fault(leaf.text)
        if fault:
            self.refuse(token.column, fault.message, fault.reason, hint=fault.hint)
        self.leaf(group(leaf.text) if leaf.kind == "group" else field_node(leaf.text), token.column)

    def push(self, entry: _Open) -> None:
        """Open an operator or a call."""
        self.count(entry.column)
        self.above += 1
        if self.above + 1 > MAX_DEPTH:
            message = f"an expression has at most {MAX_DEPTH} levels, got more"
            self.refuse(entry.column, message, Reason.DSL_TOO_LARGE, hint=_SMALLER)
        self.open.append(entry)

    def count(self, column: int) -> None:
        """Count a node before it exists."""
        self.nodes += 1
        if self.nodes > MAX_NODES:
            message = f"an expression has at most {MAX_NODES} nodes, got more"
            self.refuse(column, message, Reason.DSL_TOO_LARGE, hint=_SMALLER)

    def bracket(self, entry: _Open) -> None:
        """Open a bracket."""
        self.brackets += 1
        if self.brackets > MAX_BRACKETS:
            message = f"brackets nest at most {MAX_BRACKETS} deep, got more"
            self.refuse(entry.column, message, Reason.DSL_TOO_LARGE, hint=_SMALLER)
        entry.base = len(self.operands)
        if not entry.call:
            self.open.append(entry)

    def begin_call(self, token: Token) -> None:
        """Open ``name(``."""
        words = self.dialect.words.get(token.text, ()) if self.dialect.words is not None else ()
        operator = OPERATORS.get(token.text) if self.dialect.words is None else None
        if operator is None and not words:
            self.refuse(
                token.column, f"there is no operator {token.text!r}", Reason.DSL_NAME, hint=self.instead(token.text)
            )
        self.next()
        entry = _Open(operator, token.column, words=words, call=True)
        self.bracket(entry)
        self.push(entry)
        if self.tokens[self.place].text == ")" and operator is not None:
            message = f"{token.text} takes {count_of(operator)}, got 0"
            self.refuse(token.column, message, Reason.DSL_ARITY, hint=f"write {operator.signature}")
        if self.tokens[self.place].text == ")":
            self.refuse(token.column, f"{token.text} got no argument", Reason.DSL_ARITY, hint=written(words))

    def instead(self, name: str) -> str:
        """What to write instead of the unknown operator `name`."""
        if self.dialect.words is None:
            return instead_of(name)
        ours = f"{name} is native, this is read as {self.dialect.name}" if name in OPERATORS else ""
        return near(name, self.dialect.words) or ours or f"this is read as {self.dialect.name}"

    def prefix(self, operator: Operator, binding: float, token: Token) -> None:
        """Open ``-`` or ``not``."""
        if operator.name == "not" and self.open and self.open[-1].binding > binding:
            hint = f"put it in parentheses, as in ({token.text} c) * x"
            self.refuse(token.column, f"{token.text} binds looser than what stands before it", hint=hint)
        self.push(_Open(operator, token.column, binding))

    def infix(self, infix: Infix, token: Token) -> None:
        """Open a binary operator after closing all that binds tighter on its left."""
        self.settle(infix.binding + (0.01 if infix.right or infix.comparison else 0))
        if infix.comparison and self.open and self.open[-1].binding == infix.binding:
            self.refuse(token.column, "comparisons do not chain", hint="join two of them, as in a < b and b < c")
        self.push(_Open(infix.operator, token.column, infix.binding))

    def choice(self, token: Token) -> None:
        """Open ``c ?`` after closing all that stands before it."""
        self.settle(1)
        self.push(_Open(OPERATORS["if_else"], token.column, _CHOICE, undecided=True))

    def otherwise(self, token: Token) -> None:
        """Go on from ``c ? x`` to ``:``."""
        while True:
            self.settle(1)
            entry = self.open[-1] if self.open else None
            if entry is None or entry.binding != _CHOICE:
                self.refuse(token.column, ": belongs to no ?", hint="write condition ? x : y")
            if entry.undecided:
                entry.undecided = False
                return
            self.finish(self.open.pop())

    def option(self, token: Token) -> None:
        """Read ``name=number`` up to the comma or bracket behind it."""
        entry = self.open[-1] if self.open else None
        if entry is None or not entry.call or self.tokens[self.place - 2].text not in ("(", ","):
            column = self.tokens[self.place].column
            self.refuse(column, "= stands only in an option of a call", hint="write name(x, option=number)")
        if token.text in entry.options:
            self.refuse(token.column, f"option {token.text!r} is given twice", hint="give it once")
        self.next()
        sign = self.next() if self.tokens[self.place].text == "-" else None
        value = self.next()
        if value.kind is not TokenKind.NUMBER:
            message = f"option {token.text!r} must be a number, got {self.shown(value)}"
            self.refuse(value.column, message, hint=f"write {token.text}=5")
        end = self.tokens[self.place]
        if end.text not in (",", ")"):
            message = f"expected , or ) after an option, got {self.shown(end)}"
            self.refuse(end.column, message, hint="an option is one number, the last of a call")
        written = entry.operator.option(token.text) if entry.operator else None
        if written and written.whole and not INTEGER.fullmatch(value.text):
            message = f"{token.text} must be an integer literal, got {value.text}"
            self.refuse(value.column, message, Reason.DSL_WINDOW, hint=f"digits only, as in {token.text}=5")
        entry.options[token.text] = -float(value.text) if sign else float(value.text)
        entry.columns[token.text] = token.column

    def comma(self, token: Token) -> None:
        """Finish an argument; after an option only options may follow."""
        self.settle(_CHOICE)
        entry = self.open[-1] if self.open else None
        if entry is None or not entry.call:
            message = "a comma stands only between the arguments of a call"
            self.refuse(token.column, message, hint="an expression is one formula")
        if entry.options and self.tokens[self.place + 1 - (self.tokens[self.place].kind is TokenKind.END)].text != "=":
            column = self.tokens[self.place].column
            self.refuse(column, "an argument can't follow an option", hint="options come last")

    # -- closing -----------------------------------------------------------------------------------

    def settle(self, least: float) -> None:
        """Close the open operators that bind at least as tightly as `least`."""
        while self.open and self.open[-1].binding >= least:
            self.finish(self.open.pop())

    def finish(self, entry: _Open) -> None:
        """Close one open operator."""
        if entry.operator is None or entry.undecided:
            self.refuse(entry.column, "? has no :", hint="write condition ? x : y")
        count = len(entry.operator.slots)
        parts = self.operands[-count:]
        del self.operands[-count:]
        self.build(entry, entry.operator, parts, entry.column if count == 1 else parts[0].column)

    def close(self, token: Token) -> None:
        """Close the innermost bracket or call."""
        self.settle(_CHOICE)
        if not self.open:
            self.refuse(token.column, ") closes nothing", hint="open it with (, or leave it out")
        entry = self.open.pop()
        self.brackets -= 1
        if not entry.call:
            return
        parts = self.operands[entry.base :]
        del self.operands[entry.base :]
        if entry.operator is not None:
            self.build(entry, entry.operator, parts, entry.column)
        else:
            self.take_word(entry, parts)

    def build(self, entry: _Open, operator: Operator, parts: list[Operand], column: int) -> None:
        """Make the node of a finished operator or call."""
        self.above -= 1
        parts = self.take_positional_options(entry, operator, parts)
        args = tuple(self.as_slot(operator, index, part) for index, part in enumerate(parts))
        fault = call_fault(operator, args, entry.options) or self.written_fault(operator, parts)
        if fault:
            at = entry.columns[fault.option] if fault.option else entry.column
            at = parts[fault.index].column if fault.index >= 0 else at
            self.refuse(at, fault.message, fault.reason, hint=fault.hint)
        options = tuple(entry.options.items())
        if operator.expands is not None:
            target, source = operator.expands
            self.count(entry.column)
            self.columns.setdefault(field_node(source), entry.column)
            node = plain_call(target, (field_node(source), *args), options)
        else:
            node = plain_call(operator.name, args, options)
        self.put(self.within_caps(node, entry.column), column)
        if self.bound is not None:
            self.operands[-1] = shortened(self.operands[-1])

    def within_caps(self, node: Expr, column: int) -> Expr:
        """`node`, unless it is too large."""
        for what, got, limit in (
            ("has at most {} levels", node.depth, MAX_DEPTH),
            ("has at most {} nodes", node.nodes, MAX_NODES),
            ("looks back at most {} rows", node.warmup, MAX_LOOKBACK),
        ):
            if got > limit:
                message = f"an expression {what.format(limit)}, got {got}"
                self.refuse(column, message, Reason.DSL_TOO_LARGE, hint=_SMALLER)
        return node

    # -- words of other dialects ---------------------------------------------------------------------

    def take_word(self, entry: _Open, parts: list[Operand]) -> None:
        """Put the native formula of a finished call in its place."""
        self.above -= 1
        options = {
            name: Operand(number(value), entry.columns[name], number_text(value))
            for name, value in entry.options.items()
        }
        given = bind(entry.words, entry.column, parts, options, floors=self.dialect.floors)
        if isinstance(given, Fault):
            self.refuse(entry.column, given.message, given.reason, hint=given.hint)
        self.notes.extend(given.notes)
        self.expand(given.word, given.arguments, entry.column)

    def expand(self, word: Word, bound: Mapping[str, Operand], column: int) -> None:
        """Read the native formula of `word` as if it stood in the text, at the column of the call."""
        if word.note:
            read_as = "" if word.native == word.signature else f" is {word.native}"
            self.notes.append(f"{word.signature}{read_as}: {word.note}")
        given = [token._replace(column=column) for token in word.tokens]
        reader = _Reader(self.text, NATIVE, given, bound, self.columns)
        try:
            node = reader.read_part().node
        except ExpressionError as error:
            read_as = "" if word.native == word.signature else f"{word.signature} is read as {word.native}"
            hint = "; ".join(part for part in (error.hint, read_as) if part)
            raise ExpressionError(
                error.message, text=self.text, column=error.column, reason=error.reason, hint=hint
            ) from None
        self.put(self.within_caps(node, column), column)

    def take_positional_options(self, entry: _Open, operator: Operator, parts: list[Operand]) -> list[Operand]:
        """Move literals behind the slots to the options that may be given by place."""
        least = len(operator.slots)
        by_place = [option for option in operator.options if option.positional]
        if operator.variadic or len(parts) > least + len(by_place):
            return parts
        for option, part in zip(by_place, parts[least:], strict=False):
            if not part.literal or option.name in entry.options:
                message = f"{option.name} of {operator.name} must be one number literal"
                self.refuse(part.column, message, hint=f"write {operator.signature}")
            entry.options[option.name] = part.node.value
            entry.columns[option.name] = part.column
        return parts[:least]

    def as_slot(self, operator: Operator, index: int, part: Operand) -> Expr:
        """A bare name in a group slot is a group."""
        if operator.slot(index).kind is not SlotKind.GROUP or part.node.kind != "field":
            return part.node
        if self.columns.get(part.node) == part.column:  # it is no field here
            del self.columns[part.node]
        node = group(part.node.name)
        self.columns.setdefault(node, part.column)
        return node

    def written_fault(self, operator: Operator, parts: list[Operand]) -> Fault | None:
        """An integer slot takes digits, not a number that happens to be whole."""
        for index, part in enumerate(parts):
            slot = operator.slot(index)
            if slot.kind.whole and not INTEGER.fullmatch(part.literal):
                reason = Reason.DSL_KIND if slot.kind is SlotKind.INTEGER else Reason.DSL_WINDOW
                got = part.literal or "a computed one"
                message = f"{slot.name} of {operator.name} must be an integer literal, got {got}"
                return Fault(message, reason, "digits only, as in 20", index)
        return None

    def refuse(self, column: int, message: str, reason: Reason = Reason.DSL_SYNTAX, *, hint: str) -> NoReturn:
        """Give up at `column`; `hint` says what would be valid."""
        raise ExpressionError(message, text=self.text, column=column, reason=reason, hint=hint)
