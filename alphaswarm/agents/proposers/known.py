"""Published formulas: where a search without knowledge of its own begins.

They are proposed, evaluated and counted like any other candidate, and labelled as known. Their texts and
sources are those of the language's formula libraries.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from alphaswarm.core.errors import ExpressionError
from alphaswarm.dsl import library, parse

__all__ = ["KnownFormula", "formulas", "known_formulas"]

# A formula that looks back over more than this part of the panel would have no evidence.
LOOKBACK_SHARE = 4


@dataclass(frozen=True)
class KnownFormula:
    """A formula from the literature.

    Attributes:
        name: short and stable; the proposal's source is ``known:<name>``.
        expression: in the sign in which the source expects high values to earn more.
        idea: what it measures.
        citation: where it was published.
    """

    name: str
    expression: str
    idea: str
    citation: str

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields that a panel must offer."""
        return tuple(sorted(parse(self.expression).fields))


# In the order in which they are offered: the most different ideas first.
ORDER = (
    "reversal_5",
    "wq009",
    "wq101",
    "wq012",
    "wq034",
    "wq019",
    "max_20",
    "momentum_12_1",
    "amihud_20",
    "low_volatility_20",
    "reversal_20",
    "decay_reversal_10",
    "size_20",
    "high_52w",
)


@cache
def formulas() -> tuple[KnownFormula, ...]:
    """The published formulas that a search begins with, from the libraries of the language."""
    held = library()
    chosen = [held[name] for name in ORDER]
    return tuple(KnownFormula(one.name, str(one.expr), one.idea, one.citation) for one in chosen)


def known_formulas(fields: Collection[str], rows: int, limit: int = 10) -> list[KnownFormula]:
    """The first `limit` formulas that a panel with these fields and rows can carry.

    `returns` is at hand wherever `close` is; traded value is taken as close times volume where the
    panel has both and no field of its own.
    """
    offered = set(fields) | ({"returns"} if "close" in fields else set())
    traded = "dollar_volume" in offered or not {"close", "volume"} <= offered
    fitting = []
    for formula in formulas():
        text = formula.expression if traded else re.sub(r"\bdollar_volume\b", "(close * volume)", formula.expression)
        adapted = KnownFormula(formula.name, text, formula.idea, formula.citation)
        try:
            expression = parse(text)
        except ExpressionError:  # the language has no such operator here
            continue
        if set(adapted.fields) <= offered and expression.warmup <= rows // LOOKBACK_SHARE:
            fitting.append(adapted)
    return fitting[:limit]
