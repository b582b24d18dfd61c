"""How other systems write formulas; `parse` and `translate` read them by name."""

from alphaswarm.dsl.dialects.dialect import NATIVE, Dialect, Infix, Leaf
from alphaswarm.dsl.dialects.known import DIALECTS, dialect_of
from alphaswarm.dsl.dialects.qlib import QLIB
from alphaswarm.dsl.dialects.word import Word, table_of
from alphaswarm.dsl.dialects.worldquant import WORLDQUANT

__all__ = [
    "DIALECTS",
    "NATIVE",
    "QLIB",
    "WORLDQUANT",
    "Dialect",
    "Infix",
    "Leaf",
    "Word",
    "dialect_of",
    "table_of",
]
