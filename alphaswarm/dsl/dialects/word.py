"""`Word`: a call of another system, as a signature and the native formula that stands for it.

The parser reads that formula with the parameters bound to the arguments. So a translation is held to the native
rules, at the columns of the text that was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from alphaswarm.dsl.lexer import Token, tokens

__all__ = ["WHOLE", "Word", "table_of"]

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

    @property
    def shown(self) -> str:
        """How to write it so that this row is meant."""
        if not self.only:
            return self.signature
        return f"{self.name}({', '.join(str(self.only.get(name, name)) for name in self.parameters)})"

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """The native formula in tokens."""
        return tuple(tokens(self.native))


def table_of(words: Iterable[Word]) -> dict[str, tuple[Word, ...]]:
    """Rows by name, in order."""
    table: dict[str, tuple[Word, ...]] = {}
    for word in words:
        table[word.name] = (*table.get(word.name, ()), word)
    return table
