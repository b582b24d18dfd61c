"""Selection windows: those that finalists are judged on, and new ones on rows that nobody has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import func, select

from alphaswarm.core import Clock, EvidenceInvalid, Store
from alphaswarm.research.lineage import Cells, Lineages
from alphaswarm.research.tables import finalists, insert_once, selections, vault_reads

if TYPE_CHECKING:
    from alphaswarm.evaluation import Window
    from alphaswarm.research.panels import OpenPanel

__all__ = ["LEAST_ROWS", "Selection", "Selections"]

# A quarter: less would confirm nothing, and each window spends rows for ever.
LEAST_ROWS = 63


@dataclass(frozen=True)
class Selection:
    """One selection window of a lineage.

    Attributes:
        number: 1 for the one fixed at first use; later ones hold later rows.
        window: role "selection". The first row of number 1 follows the search window at once; a later
            one begins after its embargo.
        opened: when.
        reason: why.
        finalists: K so far, every distinct finalist that was ever judged on it.
    """

    number: int
    window: Window
    opened: str
    reason: str
    finalists: int

    def judged(self, dates: NDArray[np.datetime64]) -> Window:
        """The days of a panel with these dates on which something is decided: those after the embargo."""
        return self.window.after_embargo(dates) if self.number == 1 else self.window

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "number": self.number,
            **_span(self.window),
            "opened": self.opened,
            "reason": self.reason,
            "finalists": self.finalists,
        }


class Selections:
    """The selection windows of a workspace."""

    def __init__(self, store: Store, clock: Clock, lineages: Lineages) -> None:
        self._store = store
        self._clock = clock
        self._lineages = lineages

    def all(self, lineage: str) -> list[Selection]:
        """Those of a lineage, in order; the last is the one that finalists are sent to."""
        from alphaswarm.evaluation import Window

        counted = select(finalists.c.selection, func.count()).where(finalists.c.lineage == lineage)
        query = select(selections).where(selections.c.lineage == lineage).order_by(selections.c.number)
        with self._store.read() as connection:
            sent = {row[0]: row[1] for row in connection.execute(counted.group_by(finalists.c.selection))}
            return [
                Selection(
                    row["number"],
                    Window("selection", row["start"], row["end"]),
                    row["opened"],
                    row["reason"],
                    sent.get(row["number"], 0),
                )
                for row in connection.execute(query).mappings()
            ]

    def vault_reads(self, lineage: str) -> int:
        """How often the vault of a lineage was read."""
        query = select(func.count()).select_from(vault_reads).where(vault_reads.c.lineage == lineage)
        with self._store.read() as connection:
            return int(connection.execute(query).scalar_one())

    def forward_rows(self, opened: OpenPanel) -> slice:
        """The unseen rows of a panel less the embargo at their begin."""
        from alphaswarm.evaluation.windows import EMBARGO_ROWS

        rows = opened.panel.shape[0]
        return slice(min(rows - self.unseen_rows(opened) + EMBARGO_ROWS, rows), rows)

    def unseen_rows(self, opened: OpenPanel) -> int:
        """How many rows of a panel lie after all of its windows; in an unsealed workspace none do."""
        days = opened.panel.dates.astype("datetime64[D]")
        ends = [opened.window.end, opened.windows.vault.end, *(each.window.end for each in self.all(opened.lineage))]
        return int(days.size - np.searchsorted(days, max(ends), "right"))

    def state(self, opened: OpenPanel) -> dict[str, Any]:
        """All windows of a panel, what was sent to them and read of them, and what rows are left; plain JSON."""
        rows = self.forward_rows(opened)
        days = np.datetime_as_string(opened.panel.dates[rows], "D").tolist()
        return {
            "panel": opened.name,
            "lineage": opened.lineage,
            "sealed": opened.window.role == "search",
            "search": _span(opened.window),
            "selections": [each.to_dict() for each in self.all(opened.lineage)],
            "vault": {**_span(opened.windows.vault), "reads": self.vault_reads(opened.lineage)},
            "forward": {
                "rows": len(days),
                "start": days[0] if days else None,
                "end": days[-1] if days else None,
                "needed": LEAST_ROWS,
            },
        }

    def open(self, opened: OpenPanel, reason: str) -> Selection:
        """A new window on the forward rows, from now on the one that finalists are sent to; logged for ever.

        Raises:
            EvidenceInvalid: too few forward rows, or most of them were seen under another lineage.
        """
        from alphaswarm.evaluation.windows import EMBARGO_ROWS, Window

        rows = self.forward_rows(opened)
        count = rows.stop - rows.start
        if count < LEAST_ROWS:
            raise EvidenceInvalid(
                f"a new selection window needs {LEAST_ROWS} rows that nobody has seen, after an embargo of "
                f"{EMBARGO_ROWS}; panel {opened.name!r} has {count}, so {LEAST_ROWS - count} are missing: "
                f"add later bars with `alphaswarm data append {opened.name} FILE`"
            )
        first, last = opened.panel.dates[[rows.start, rows.stop - 1]].astype("datetime64[D]")
        seen = self._lineages.seen_elsewhere(opened.lineage, Cells.of(opened.panel).between(first, last))
        if seen is not None:
            raise EvidenceInvalid(
                f"the rows from {first} to {last} lie in the search window of panel {seen!r}: they were seen"
            )
        number = 1 + len(self.all(opened.lineage))
        row = {
            "lineage": opened.lineage,
            "number": number,
            "start": str(first),
            "end": str(last),
            "opened": self._clock.now().isoformat(),
            "reason": reason,
        }
        with self._store.write() as connection:
            added = insert_once(connection, selections, row)
        if not added:
            raise EvidenceInvalid(f"somebody else opened selection window {number} of {opened.lineage!r} just now")
        return Selection(number, Window("selection", first, last), str(row["opened"]), reason, 0)


def _span(window: Window) -> dict[str, str]:
    return {"start": str(window.start), "end": str(window.end)}
