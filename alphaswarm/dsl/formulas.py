"""The formula libraries: published formulas with their sources, as data files in ``library/``.

A file has a title, a source and a dialect; a formula its text as printed, and a note of what is odd in the print or
was decided here. Formulas that need a field which no panel has are there too: whether one fits is a panel's to say.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from types import MappingProxyType

from alphaswarm.core.errors import ExpressionError
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.check import check
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.parser import Translation, translate

__all__ = ["Formula", "library"]


@dataclass(frozen=True)
class Formula:
    """A published formula.

    Attributes:
        name: short and stable.
        text: as its source prints it.
        dialect: how that is to be read.
        library: the file it is from, without its ending.
        citation: who published it, for people.
        source: where, in full.
        idea: what it measures, where the source or custom says so.
        note: what is odd in the print, or was decided here.
    """

    name: str
    text: str
    dialect: str
    library: str
    citation: str
    source: str
    idea: str = ""
    note: str = ""

    @cached_property
    def translation(self) -> Translation:
        """Its native form, with a note of every choice."""
        return translate(self.text, self.dialect)

    @property
    def expr(self) -> Expr:
        """Its native form."""
        return self.translation.expr

    @property
    def notes(self) -> tuple[str, ...]:
        """Its own note and those of the translation."""
        return (*([self.note] if self.note else []), *self.translation.notes)

    def lacks(self, panel: Panel) -> str:
        """Why `panel` can't carry it; "" where it can."""
        try:
            check(self.expr, panel)
        except ExpressionError as error:
            return error.message
        return ""


@cache
def library() -> Mapping[str, Formula]:
    """Every formula by its name, file by file in the order of the files."""
    found: dict[str, Formula] = {}
    shelf = [file for file in files("alphaswarm.dsl").joinpath("library").iterdir() if file.name.endswith(".toml")]
    for file in sorted(shelf, key=lambda file: file.name):
        for formula in _read(file.name.removesuffix(".toml"), file.read_text("utf-8")):
            if formula.name in found:
                raise ValueError(f"two formulas are called {formula.name!r}")
            found[formula.name] = formula
    return MappingProxyType(found)


def _read(name: str, text: str) -> list[Formula]:
    content = tomllib.loads(text)
    shared = {key: content[key] for key in ("dialect", "citation", "source")}
    return [Formula(**{**shared, **entry, "library": name}) for entry in content["formula"]]
