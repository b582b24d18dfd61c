"""What is wrong with a panel: every finding with its date and symbol; nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from alphaswarm.core import Panel
from alphaswarm.data import check_days, check_names, check_values
from alphaswarm.data.finding import Finding, FindingKind
from alphaswarm.data.observed import Observed

__all__ = ["CheckReport", "Finding", "FindingKind", "check_panel"]


@dataclass(frozen=True)
class CheckReport:
    """The findings on one panel.

    Attributes:
        findings: by kind, then date, then symbol.
        notes: what could not be checked, and why.
    """

    panel: str
    digest: str
    rows: int
    symbols: int
    start: str
    end: str
    calendar: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]

    def by_kind(self) -> dict[FindingKind, list[Finding]]:
        """Kinds that were found, in their order, with their findings."""
        kinds: dict[FindingKind, list[Finding]] = {}
        for finding in self.findings:
            kinds.setdefault(finding.kind, []).append(finding)
        return kinds

    @property
    def counts(self) -> Mapping[str, int]:
        """Findings of every kind, 0 where there are none."""
        found = self.by_kind()
        return {kind.value: len(found.get(kind, ())) for kind in FindingKind}

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self) | {"counts": dict(self.counts), "notes": list(self.notes)}


def check_panel(panel: Panel, calendar: str = "XNYS") -> CheckReport:
    """Look for faults of the kinds in `FindingKind`.

    Args:
        panel: any panel; what it lacks (open, volume, ...) is not checked and noted.
        calendar: exchange (ISO 10383 code) whose sessions a daily panel should have. When its days
            plainly belong to no such calendar, that is noted instead of one finding a day.

    Raises:
        UnknownName: no such calendar.
    """
    observed = Observed.of(panel)
    notes: list[str] = []
    found = chain(
        check_days.sessions(observed, calendar, notes),
        check_days.days(observed, notes),
        check_values.prices(observed, notes),
        check_values.returns(observed, notes),
        check_values.volumes(observed, notes),
        check_names.lives(observed),
        check_names.twins(observed, notes),
    )
    rank = {kind: place for place, kind in enumerate(FindingKind)}
    findings = sorted(found, key=lambda item: (rank[item.kind], item.date or "", item.symbol or ""))
    start, end = (str(day) for day in panel.dates[[0, -1]].astype("datetime64[D]"))
    return CheckReport(
        panel=str(panel.meta.get("name", "")),
        digest=panel.digest,
        rows=panel.shape[0],
        symbols=panel.shape[1],
        start=start,
        end=end,
        calendar=calendar,
        findings=tuple(findings),
        notes=tuple(notes),
    )
