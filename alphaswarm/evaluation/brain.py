"""WorldQuant BRAIN's submission tests, as labels: many know them, nothing here is decided by them.

The thresholds are those of a delay of one day as its users report them; they differ by region and change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from alphaswarm.evaluation.evidence import Evidence

__all__ = ["BrainLabel", "SubUniverse", "brain_labels"]

MIN_SHARPE = 1.25
MIN_FITNESS = 1.0
MIN_TURNOVER, MAX_TURNOVER = 0.01, 0.70
MAX_WEIGHT = 0.10
SUB_UNIVERSE = 0.75


@dataclass(frozen=True)
class SubUniverse:
    """The rank book held among the most liquid half of the names only; None where undefined.

    Attributes:
        names: mean number of names it ranks on a day.
        of_names: mean number that the whole book ranks.
        sharpe: of its gross result, annualised.
        bound: ``0.75 sqrt(names / of_names)`` times the Sharpe ratio of the whole book.
        reason: why there is no Sharpe ratio; empty where there is one.
    """

    names: float | None = None
    of_names: float | None = None
    sharpe: float | None = None
    bound: float | None = None
    reason: str = ""

    @classmethod
    def of(cls, names: float, of_names: float, sharpe: float | None, whole: float | None) -> SubUniverse:
        """With the bound that follows from the Sharpe ratio of the whole book."""
        reason = "" if sharpe is not None else "the liquid half is never ranked, or its book does not vary"
        bound = None if whole is None or of_names <= 0 else SUB_UNIVERSE * math.sqrt(names / of_names) * whole
        return cls(names, of_names, sharpe, bound, reason)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True)
class BrainLabel:
    """One test: the figure, what is asked of it, and whether it holds (None where the figure is undefined)."""

    name: str
    value: float | None
    asked: str
    passed: bool | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def brain_labels(evidence: Evidence, max_weight: float | None, sub: SubUniverse) -> tuple[BrainLabel, ...]:
    """Sharpe ratio, fitness, turnover, largest weight and sub-universe against BRAIN's thresholds."""

    def label(name: str, value: float | None, asked: str, holds: bool) -> BrainLabel:
        return BrainLabel(name, value, asked, None if value is None else holds)

    sharpe, fitness, turnover = evidence.sharpe, evidence.fitness, evidence.turnover
    least = math.inf if sub.bound is None else sub.bound
    asked = f"at least {sub.bound:.2f}" if sub.bound is not None else "undefined"
    return (
        label("sharpe", sharpe, f"above {MIN_SHARPE:g}", (sharpe or 0.0) > MIN_SHARPE),
        label("fitness", fitness, f"above {MIN_FITNESS:g}", (fitness or 0.0) > MIN_FITNESS),
        label(
            "turnover",
            turnover,
            f"{MIN_TURNOVER:.0%} to {MAX_TURNOVER:.0%} a day",
            MIN_TURNOVER <= (turnover or 0.0) <= MAX_TURNOVER,
        ),
        label("max_weight", max_weight, f"below {MAX_WEIGHT:.0%}", (max_weight or 0.0) < MAX_WEIGHT),
        label("sub_universe", sub.sharpe, asked, (sub.sharpe or 0.0) >= least),
    )
