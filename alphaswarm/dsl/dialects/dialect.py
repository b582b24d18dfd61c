"""`Dialect`: how another system writes formulas, as data for the one parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from alphaswarm.dsl.dialects.word import Word
from alphaswarm.dsl.lexer import NATIVE_LEXICON, Lexicon
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family, Operator

__all__ = ["NATIVE", "Dialect", "Infix", "Leaf", "native_infix"]


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
