"""`Dialect`: how another system writes formulas, as data for the one parser.

Its calls are `Word`s: a signature and the native formula that stands for it, which the parser reads with the
parameters bound to the arguments. So a translation is held to the native rules, at the column of the user's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from alphaswarm.dsl.lexer import NATIVE_LEXICON, Lexicon, Token, tokens
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family, Operator

__all__ = ["NATIVE", "WHOLE", "Dialect", "Infix", "Leaf", "Word", "native_infix", "table_of"]

WHOLE = frozenset({"d", "k", "lag", "n"})
"""Parameters of these names take a whole number that is written out."""
_SIGNATURE = re.compile(r"(?P<name>\w+)\((?P<parameters>.*)\)")


@dataclass(frozen=True)
class Word:
    """A call of another system, one row for each way to write it; the first that fits is taken.

    Attributes:
        signature: how it is written, ``name(x, d, option=default)``.
        native: the native formula in the same parameters.
        note: what is decided here, or differs from the other system.
        only: values that some parameters must have for this row to fit: a number, or a bare name.
    """

    signature: str
    native: str
    note: str = ""
    only: Mapping[str, float | str] = field(default_factory=dict)

    @cached_property
    def name(self) -> str:
        """The name that is called."""
        return self.signature.partition("(")[0]

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        """Parameter to default, in order; "" for one that must be given."""
        match = _SIGNATURE.fullmatch(self.signature)
        parts = [part.partition("=") for part in match["parameters"].split(",")] if match else []
        return {name.strip(): default.strip() for name, _, default in parts}

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The native formula in tokens."""
        return tuple(tokens(self.native))


@dataclass(frozen=True, slots=True)
class Infix:
    """A sign between two values; `binding` as `Operator.precedence`, `right` that it groups to the right."""

    operator: Operator
    binding: float
    right: bool = False

    @property
    def comparison(self) -> bool:
        """Whether it can't be chained."""
        return self.operator.family is Family.COMPARISON


def native_infix(*without: str) -> dict[str, Infix]:
    """Sign to meaning as in the native grammar, some left out."""
    rows = [row for row in OPERATORS.values() if row.symbol and len(row.slots) == 2 and row.symbol not in without]
    return {row.symbol: Infix(row, row.precedence, right=row.name == "pow") for row in rows}


def table_of(words: Iterable[Word]) -> dict[str, tuple[Word, ...]]:
    """Rows by name, in order."""
    table: dict[str, tuple[Word, ...]] = {}
    for word in words:
        table[word.name] = (*table.get(word.name, ()), word)
    return table


class Leaf(NamedTuple):
    """What a bare name means: a field, a group, or a native formula; no `text` if it may not stand bare."""

    kind: Literal["field", "group", "formula"]
    text: str
    note: str = ""


def _field(name: str) -> Leaf:
    return Leaf("field", name)


@dataclass(frozen=True)
class Dialect:
    """A way to write formulas.

    Attributes:
        name: what it is asked for by.
        infix: its signs between two values.
        prefix: its signs before one value, with how tightly they bind.
        lexicon: how it spells.
        words: its calls, by name; None for the native table.
        leaf: what a bare name means.
        bare: how a field is written, for messages.
        floors: whether a fraction in the place of a whole number means the whole number below it, at least 1.
        choice: whether ``condition ? x : y`` is read.
        remarks: what differs whenever one of these operators is used.
    """

    name: str
    infix: Mapping[str, Infix] = field(default_factory=native_infix)
    prefix: Mapping[str, tuple[Operator, float]] = field(
        default_factory=lambda: {row.symbol: (row, row.precedence) for row in (OPERATORS["neg"], OPERATORS["not"])}
    )
    lexicon: Lexicon = NATIVE_LEXICON
    words: Mapping[str, tuple[Word, ...]] | None = None
    leaf: Callable[[str], Leaf] = _field
    bare: str = "as in close"
    floors: bool = False
    choice: bool = False
    remarks: tuple[tuple[frozenset[str], str], ...] = ()

    def notes_on(self, used: frozenset[str]) -> list[str]:
        """The remarks on these native operators."""
        return [text for operators, text in self.remarks if operators & used]


NATIVE = Dialect("native")
"""The table of operators itself."""
