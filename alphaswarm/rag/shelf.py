"""What is known of the documents of one corpus without opening them: in memory, caught up from the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Store
from alphaswarm.rag.bm25 import Bm25
from alphaswarm.rag.store import Entry, entries_after

__all__ = ["Filters", "Shelf", "day_number"]

BATCH = 5_000
UNKNOWN_DAY = 99_999_999  # later than any day that can be asked for
FACTS = ("panel", "universe", "horizon", "verdict")


def day_number(as_of: str | None) -> int:
    """YYYY-MM-DD as the number YYYYMMDD; what is known since an unknown day never passes a filter."""
    return UNKNOWN_DAY if as_of is None else int(as_of.replace("-", ""))


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may be found; None lets all through.

    Attributes:
        day: only those known by this day, as a number; verdicts that came later count as none.
        panel: name of the panel.
        universe: the data behind it.
        horizon: rows.
        verdict: status, such as "confirmed", or "not judged".
    """

    day: int | None = None
    panel: str | None = None
    universe: str | None = None
    horizon: int | None = None
    verdict: str | None = None

    @property
    def active(self) -> bool:
        """Whether anything is asked of a document."""
        return any(getattr(self, part.name) is not None for part in fields(self))


class Shelf:
    """Documents by place, in the order in which they were read.

    A document that changed stands at a new place; its old place is empty from then on.
    """

    def __init__(self, store: Store, corpus: str) -> None:
        self._store = store
        self._corpus = corpus
        self.last = 0
        self.ids: list[str] = []
        self.words = Bm25()
        self._place: dict[str, int] = {}
        self._digests: dict[str, list[int]] = {}
        self._skeletons: dict[str, list[int]] = {}
        self._rows: list[tuple[int, int, tuple[Any, ...]]] = []
        self._columns: dict[str, NDArray[Any]] = {}

    def catch_up(self) -> None:
        """Read what was written since."""
        while True:
            with self._store.read() as connection:
                entries = entries_after(connection, self._corpus, self.last, BATCH)
            self._add(entries)
            if len(entries) < BATCH:
                return

    def place(self, identifier: str) -> int | None:
        """Where a document stands."""
        return self._place.get(identifier)

    def with_digest(self, digest: str) -> list[int]:
        """Places of the documents of one canonical expression."""
        return [place for place in self._digests.get(digest, ()) if self._alive(place)]

    def with_skeleton(self, skeleton: str) -> list[int]:
        """Places of the documents of one form."""
        return [place for place in self._skeletons.get(skeleton, ()) if self._alive(place)]

    def allowed(self, filters: Filters) -> NDArray[np.bool_]:
        """[n]: whether the document at each place is there and may be found."""
        passes = self._column("alive").copy()
        if filters.day is not None:
            passes &= self._column("day") <= filters.day
        for name in ("panel", "universe", "horizon"):
            wanted = getattr(filters, name)
            if wanted is not None:
                passes &= self._column(name) == wanted
        if filters.verdict is not None:
            told = self._column("verdict")
            if filters.day is not None:
                told = np.where(self._column("judged") <= filters.day, told, "not judged")
            passes &= told == filters.verdict
        return passes

    def _add(self, entries: Sequence[Entry]) -> None:
        if not entries:
            return
        for entry in entries:
            old = self._place.get(entry.id)
            if old is not None and old < len(self._rows):
                self._forget(old)
            place = len(self.ids)
            self._place[entry.id] = place
            self.ids.append(entry.id)
            if entry.digest:
                self._digests.setdefault(entry.digest, []).append(place)
            if entry.skeleton:
                self._skeletons.setdefault(entry.skeleton, []).append(place)
            facts: Mapping[str, Any] = entry.facts
            # what was not judged has no day from which its verdict is known, and needs none
            judged = 0 if entry.judged_as_of is None else day_number(entry.judged_as_of)
            self._rows.append((day_number(entry.as_of), judged, tuple(facts[name] for name in FACTS)))
            self.last = entry.seq
        self.words.add([entry.terms for entry in entries])
        self._columns.clear()

    def _forget(self, place: int) -> None:
        self.words.drop(place)
        self.ids[place] = ""

    def _alive(self, place: int) -> bool:
        return bool(self.ids[place])

    def _column(self, name: str) -> NDArray[Any]:
        if name not in self._columns:
            values: list[Any]
            if name == "alive":
                values = [bool(identifier) for identifier in self.ids]
            elif name in FACTS:
                values = [row[2][FACTS.index(name)] for row in self._rows]
            else:
                values = [row[("day", "judged").index(name)] for row in self._rows]
            kind = {"alive": np.bool_, "day": np.int64, "judged": np.int64}.get(name, object)
            self._columns[name] = np.array(values, kind)
        return self._columns[name]
