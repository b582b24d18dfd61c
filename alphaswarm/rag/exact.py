"""Exact search over the vectors in the store: needs no lock, so any number of processes may do it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Store
from alphaswarm.rag.embed import VECTOR_SIZE
from alphaswarm.rag.store import rows_after

__all__ = ["ExactIndex", "day_number"]

BATCH = 500
UNKNOWN_DAY = 99_999_999  # later than any day that can be asked for


def day_number(as_of: str | None) -> int:
    """YYYY-MM-DD as the number YYYYMMDD; what is known since an unknown day never passes a filter."""
    return UNKNOWN_DAY if as_of is None else int(as_of.replace("-", ""))


class _Matrix:
    """The vectors of one corpus, in arrays that double when they are full."""

    def __init__(self) -> None:
        self.last = 0
        self.ids: list[str] = []
        self.places: dict[str, int] = {}
        self.days = np.zeros(BATCH, np.int64)
        self.vectors = np.zeros((BATCH, VECTOR_SIZE), np.float32)

    def put(self, identifier: str, day: int, vector: NDArray[np.float32]) -> None:
        place = self.places.setdefault(identifier, len(self.ids))
        if place == len(self.ids):
            self.ids.append(identifier)
            if place == self.days.size:
                self.days = np.concatenate([self.days, np.zeros_like(self.days)])
                self.vectors = np.concatenate([self.vectors, np.zeros_like(self.vectors)])
        self.days[place] = day
        self.vectors[place] = vector


class ExactIndex:
    """Every vector of a corpus in memory (4 kB each), read from the store as documents arrive."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._matrices: dict[str, _Matrix] = {}

    def candidates(self, corpus: str, vector: NDArray[np.float32], n: int, day: int | None) -> list[str]:
        """Ids of at least the `n` nearest documents known by `day`, fewer only if there are fewer."""
        matrix = self._caught_up(corpus)
        size = len(matrix.ids)
        allowed = np.arange(size) if day is None else np.flatnonzero(matrix.days[:size] <= day)
        if allowed.size > n:
            scores = matrix.vectors[:size][allowed] @ vector
            nth = np.partition(scores, allowed.size - n)[allowed.size - n]
            allowed = allowed[scores >= nth - 1e-5]  # equals at the edge are all let through
        return [matrix.ids[place] for place in allowed]

    def _caught_up(self, corpus: str) -> _Matrix:
        matrix = self._matrices.setdefault(corpus, _Matrix())
        while True:
            with self._store.read() as connection:
                rows = rows_after(connection, corpus, matrix.last, BATCH)
            for row in rows:
                matrix.put(row.document.id, day_number(row.document.as_of), row.vector)
                matrix.last = row.seq
            if len(rows) < BATCH:
                return matrix
