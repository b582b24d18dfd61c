"""BM25 over hashed terms, in memory.

Robertson and Zaragoza, "The probabilistic relevance framework: BM25 and beyond" (2009), with
idf = ln(1 + (n - df + 1/2) / (df + 1/2)), which is never negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bm25"]

K1 = 1.2
B = 0.75
MOST_CHUNKS = 32

Terms = NDArray[np.uint32]


class Bm25:
    """Documents by number, from 0 on, in the order they were added; one that is dropped counts no more."""

    def __init__(self) -> None:
        self._postings: dict[int, list[tuple[NDArray[np.int64], NDArray[np.int64]]]] = {}
        self._frequency: dict[int, int] = {}
        self._terms: list[Terms] = []
        self._lengths: list[int] = []
        self._dropped: list[int] = []
        self._living = 0
        self._total = 0

    def add(self, documents: Sequence[Terms]) -> None:
        """Add documents, each the hashes of its terms with repetitions."""
        if not documents:
            return
        first = len(self._lengths)
        sizes = [terms.size for terms in documents]
        places = np.repeat(np.arange(first, first + len(documents), dtype=np.int64), sizes)
        every = np.concatenate(documents).astype(np.int64)
        pairs, counts = np.unique(every << 31 | places, return_counts=True)
        terms, starts = np.unique(pairs >> 31, return_index=True)
        where = pairs & (1 << 31) - 1
        ends = [*starts[1:].tolist(), pairs.size]
        for term, start, end in zip(terms.tolist(), starts.tolist(), ends[: terms.size], strict=True):
            its_places, its_counts = where[start:end], counts[start:end]
            chunks = self._postings.setdefault(term, [])
            chunks.append((its_places, its_counts))
            if len(chunks) > MOST_CHUNKS:
                chunks[:] = [(np.concatenate([c[0] for c in chunks]), np.concatenate([c[1] for c in chunks]))]
            self._frequency[term] = self._frequency.get(term, 0) + its_places.size
        self._terms.extend(documents)
        self._lengths.extend(sizes)
        self._living += len(documents)
        self._total += sum(sizes)

    def drop(self, place: int) -> None:
        """Forget a document: it has no score, and is not in any count."""
        for term in np.unique(self._terms[place]).tolist():
            self._frequency[term] -= 1
        self._living -= 1
        self._total -= self._lengths[place]
        self._terms[place] = np.empty(0, np.uint32)
        self._dropped.append(place)

    def scores(self, question: Terms) -> NDArray[np.float64]:
        """The score of each document, [n]; 0 where it has no term of the question, or was dropped."""
        size = len(self._lengths)
        total = np.zeros(size)
        if not self._living:
            return total
        lengths = np.asarray(self._lengths, np.float64)
        norm = K1 * (1.0 - B + B * lengths * self._living / max(self._total, 1))
        for term in question.tolist():
            found = self._postings.get(term)
            if found is None:
                continue
            df = self._frequency[term]
            idf = np.log1p((self._living - df + 0.5) / (df + 0.5))
            for places, counts in found:  # a document stands once under a term
                total[places] += idf * counts * (K1 + 1.0) / (counts + norm[places])
        total[self._dropped] = 0.0
        return total
