"""Exact search over the vectors in the store: needs no lock, so any number of processes may do it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Store
from alphaswarm.rag.embed import BLOCK, STRUCTURE_SIZE
from alphaswarm.rag.embedder import Embedder
from alphaswarm.rag.shelf import Shelf
from alphaswarm.rag.store import rows_after

__all__ = ["ExactIndex", "Side"]

BATCH = 500
Side = Literal["structure", "text"]


class ExactIndex:
    """Every vector of a corpus in memory (some 4 kB each), read from the store as documents arrive.

    Args:
        store: where the documents are kept.
        corpus: whose they are.
        embedder: what makes the text vectors.
    """

    def __init__(self, store: Store, corpus: str, embedder: Embedder) -> None:
        self._store = store
        self._corpus = corpus
        self._embedder = embedder
        self._last = 0
        self._sides: dict[Side, NDArray[np.float32]] = {
            "structure": np.zeros((BATCH, STRUCTURE_SIZE), np.float32),
            "text": np.zeros((BATCH, embedder.text_size), np.float32),
        }

    def candidates(
        self, shelf: Shelf, side: Side, vector: NDArray[np.float32], n: int, allowed: NDArray[np.bool_]
    ) -> list[str]:
        """Ids of at least the `n` nearest documents at the `allowed` places, fewer only if there are fewer."""
        self._catch_up(shelf)
        places = np.flatnonzero(allowed)
        if places.size > n:
            scores = self._sides[side][: len(shelf.ids)] @ vector
            scores = scores[places]
            nth = np.partition(scores, places.size - n)[places.size - n]
            places = places[scores >= nth - 1e-5]  # equals at the edge are all let through
        return [shelf.ids[place] for place in places]

    def _catch_up(self, shelf: Shelf) -> None:
        while self._last < shelf.last:
            with self._store.read() as connection:
                rows = rows_after(connection, self._corpus, self._last, BATCH)
            if not rows:
                return
            texts = self._embedder.texts(self._store, rows)
            self._grow(len(shelf.ids))
            for row, text in zip(rows, texts, strict=True):
                place = shelf.place(row.document.id)
                if place is not None:  # what the shelf has not seen yet comes next time
                    self._sides["structure"][place] = row.vector[:STRUCTURE_SIZE] / np.float32(BLOCK)
                    self._sides["text"][place] = text
            self._last = min(rows[-1].seq, shelf.last)

    def _grow(self, size: int) -> None:
        for side, matrix in self._sides.items():
            if matrix.shape[0] < size:
                larger = np.zeros((max(size, 2 * matrix.shape[0]), matrix.shape[1]), np.float32)
                larger[: matrix.shape[0]] = matrix
                self._sides[side] = larger
