"""Which published formula a factor is nearest to: a label, so that nobody takes an old idea for a new one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest.ranking import MIN_NAMES, rank_rows
from alphaswarm.core import EvidenceInvalid, ExpressionError, Panel
from alphaswarm.core.jit import jit
from alphaswarm.dsl import check, evaluate, library

__all__ = ["KNOWN", "KnownFormula", "KnownFormulas"]

# From this absolute rank correlation on, a factor goes by the name of the formula.
KNOWN = 0.7
# A year of days, of which every fifth is looked at: factors move slowly, and this is a label.
RECENT_ROWS = 250
EVERY = 5


@dataclass(frozen=True)
class KnownFormula:
    """A published formula, and how a factor correlates with it.

    Attributes:
        name: in the libraries of the language.
        citation: who published it.
        correlation: mean rank correlation by date, with its sign.
    """

    name: str
    citation: str
    correlation: float

    @property
    def label(self) -> str | None:
        """``known: NAME``, or None where the likeness is too small for that."""
        if abs(self.correlation) < KNOWN:
            return None
        return f"known: {self.name}" if self.correlation > 0 else f"known: {self.name}, sign turned"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "name": self.name,
            "citation": self.citation,
            "correlation": self.correlation,
            "label": self.label,
        }


class KnownFormulas:
    """The formulas of all libraries that a panel can carry, by their values on its last rows.

    Args:
        panel: up to the last row that may be looked at; its last 250 rows are compared.
    """

    def __init__(self, panel: Panel) -> None:
        rows = panel.shape[0]
        self._first = max(0, rows - RECENT_ROWS)
        self._rows = rows
        self._shelf = []
        trees = []
        for formula in library().values():
            try:
                trees.append(check(formula.expr, panel))
            except ExpressionError:  # it needs a field that is not here
                continue
            self._shelf.append(formula)
        lookback = max((tree.lookback or 0 for tree in trees), default=0)
        start = max(0, self._first - lookback)
        values = evaluate(trees, _rows_from(panel, start))
        sampled = [self._ranks(value, self._first - start) for value in values]
        self._known = np.stack(sampled) if sampled else np.empty((0, 0, panel.shape[1]), np.float32)

    def nearest(self, factor: ArrayLike) -> KnownFormula | None:
        """The formula whose ranks are most like those of `factor` [T, N], in either direction.

        None where no formula shares enough names with it on any of the days.

        Raises:
            EvidenceInvalid: a factor of other rows or symbols than the panel's.
        """
        values = np.asarray(factor, np.float64)
        if values.shape != (self._rows, self._known.shape[2]):
            raise EvidenceInvalid(
                f"a factor must have the panel's shape {(self._rows, self._known.shape[2])}, got {values.shape}"
            )
        if not self._shelf:
            return None
        found = _mean_correlations(self._known, self._ranks(values, self._first), MIN_NAMES)
        if not np.isfinite(found).any():
            return None
        place = int(np.nanargmax(np.abs(found)))
        formula = self._shelf[place]
        return KnownFormula(formula.name, formula.citation, float(found[place]))

    @staticmethod
    def _ranks(values: NDArray[Any], first: int) -> NDArray[np.float32]:
        """Ranks of every fifth row from the last one back to `first`; NaN where missing."""
        rows = np.ascontiguousarray(values[first:][::-1][::EVERY], np.float64)
        return rank_rows(rows).ranks.astype(np.float32)


def _rows_from(panel: Panel, start: int) -> Panel:
    """The panel without its first rows. What looks back further than these is missing, not wrong."""
    return replace(
        panel,
        fields=MappingProxyType({name: values[start:] for name, values in panel.fields.items()}),
        dates=panel.dates[start:],
        universe=panel.universe[start:],
        groups=MappingProxyType({name: labels[start:] for name, labels in panel.groups.items()}),
    )


@jit
def _mean_correlations(known: NDArray[np.float32], mine: NDArray[np.float32], min_names: int) -> NDArray[np.float64]:
    """Mean over rows of Pearson's correlation of ranks over common names, [F]; `known` is [F, R, N]."""
    formulas, rows, names = known.shape
    out = np.full(formulas, np.nan)
    for f in range(formulas):
        total = 0.0
        defined = 0
        for t in range(rows):
            n = 0
            a = 0.0
            b = 0.0
            ab = 0.0
            aa = 0.0
            bb = 0.0
            for i in range(names):
                x = float(known[f, t, i])
                y = float(mine[t, i])
                if not (np.isnan(x) or np.isnan(y)):
                    n += 1
                    a += x
                    b += y
                    ab += x * y
                    aa += x * x
                    bb += y * y
            if n < min_names:
                continue
            # sums of ranks up to some thousands are exact enough: whole and half numbers
            left = aa - a * a / n
            right = bb - b * b / n
            if left > 1e-9 and right > 1e-9:
                total += (ab - a * b / n) / np.sqrt(left * right)
                defined += 1
        if defined:
            out[f] = total / defined
    return out
