"""`Memory`: remember documents and find them again, by meaning of a text or shape of an expression."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from alphaswarm.core import AlphaSwarmError, Reason, Store, StoreBusy, StoreError
from alphaswarm.dsl.expr import Expr
from alphaswarm.rag.chroma import ChromaIndex
from alphaswarm.rag.embed import EMBEDDER, VECTOR_SIZE, embed_question, names, prose, word_tokens
from alphaswarm.rag.exact import ExactIndex, day_number
from alphaswarm.rag.orders import CORPORA, Document, check_day, corpus_of
from alphaswarm.rag.store import StoredDocument, expression_of, put, rows_after, rows_of, rows_with_digest, sizes

__all__ = ["Found", "Memory", "QueryResult"]

MAX_RESULTS = 100
# Many more than are asked for come out of the index; the store's vectors then decide the order.
CANDIDATES = 200
BATCH = 200


@dataclass(frozen=True, slots=True)
class Found:
    """A document with its cosine similarity to the question, and what the two share."""

    corpus: str
    id: str
    expression: str
    summary: Mapping[str, Any]
    score: float
    why: str
    verdict: str
    as_of: str | None
    digest: str
    text: str


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Answers, best first.

    Attributes:
        embedder: what made the vectors.
        index: "chroma", or "exact" when the vectors in the store were searched.
        results: equal scores stand in order of id.
        notice: why Chroma was not used, "" when it was.
    """

    embedder: str
    index: str
    results: tuple[Found, ...] = ()
    notice: str = field(default="", compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


class Memory:
    """The corpora of one store.

    Rows in the store are the truth. The index opens at the first question, catches up with the
    rows, and falls back to an exact search of the rows wherever it can't be used.

    Args:
        store: where the documents are kept.
        index_dir: where the Chroma directory and its lock lie.
    """

    def __init__(self, store: Store, index_dir: Path) -> None:
        self._store = store
        self._directory = index_dir
        self._exact = ExactIndex(store)
        self._chroma: ChromaIndex | None = None
        self._notice = ""
        self._guard = threading.RLock()

    def remember(self, document: Document, connection: Connection | None = None) -> bool:
        """Keep a document, replacing the one of the same corpus and id; False if nothing changed.

        Args:
            document: what to keep.
            connection: an open transaction of the same store, to keep it together with other rows.

        Raises:
            StoreError: the store refused; nothing was kept.
        """
        if connection is not None:
            return put(connection, document)
        with self._store.write() as own:
            return put(own, document)

    def find(self, digest: str) -> tuple[Document, ...]:
        """Every document of one canonical expression, by corpus and id."""
        with self._store.read() as connection:
            return tuple(row.document for row in rows_with_digest(connection, digest, CORPORA))

    def query(self, text: str, *, corpus: str = "alpha_factors", k: int = 5, as_of: str | None = None) -> QueryResult:
        """The `k` documents nearest to a text or an expression.

        Args:
            text: words, or an expression; an expression is compared by its structure, and the
                document of the same canonical expression comes first.
            corpus: a name of `CORPORA`.
            k: at most this many, 1 to 100.
            as_of: YYYY-MM-DD; only documents whose evidence was knowable by then, whenever written.

        Raises:
            UnknownName: no such corpus.
            DataInvalid: not a date.
            AlphaSwarmError: `k` out of range.
        """
        corpus_of(corpus)
        if not 1 <= k <= MAX_RESULTS:
            raise AlphaSwarmError(f"k must be 1 to {MAX_RESULTS}, got {k}", Reason.ARGUMENT_INVALID)
        day = None if as_of is None else day_number(check_day(as_of))
        question = _Question.of(text)
        with self._guard:
            rows, index = self._near(corpus, question, k, day)
        scored = (_found(row, question) for row in rows)
        found = sorted((item for item in scored if item.score > 0.0), key=lambda item: (-item.score, item.id))
        return QueryResult(EMBEDDER, index, tuple(found[:k]), "" if index == "chroma" else self._notice)

    def reindex(self) -> dict[str, Any]:
        """Make every vector and the whole index anew from the documents; what `stats` then says.

        Raises:
            StoreBusy: another process has the index open.
        """
        with self._guard:
            self._chroma = self._chroma or ChromaIndex(self._store, self._directory)
            for corpus in CORPORA:
                self._renew(corpus)
            self._chroma.rebuild()
        return self.stats()

    def stats(self) -> dict[str, Any]:
        """Documents by corpus, what embeds them, and which index would answer."""
        with self._guard:
            index = "chroma" if self._use_chroma() else "exact"
        with self._store.read() as connection:
            counts = {corpus: sizes(connection, corpus)[0] for corpus in CORPORA}
        return {
            "embedder": EMBEDDER,
            "dimensions": VECTOR_SIZE,
            "index": index,
            "notice": self._notice,
            "documents": sum(counts.values()),
            "corpora": counts,
        }

    def close(self) -> None:
        """Let another process have the index."""
        with self._guard:
            if self._chroma is not None:
                self._chroma.close()
                self._chroma = None

    def _near(self, corpus: str, question: _Question, k: int, day: int | None) -> tuple[list[StoredDocument], str]:
        n = max(CANDIDATES, 4 * k)
        ids: list[str] | None = None
        if self._use_chroma() and self._chroma is not None:
            try:
                ids = self._chroma.candidates(corpus, question.vector, n, day)
            except StoreError as error:
                self._notice = str(error)
                self.close()
        index = "exact" if ids is None else "chroma"
        if ids is None:
            ids = self._exact.candidates(corpus, question.vector, n, day)
        with self._store.read() as connection:
            rows = rows_of(connection, corpus, ids)
            if question.expression is not None:
                seen = {row.document.id for row in rows}
                same = rows_with_digest(connection, question.expression.digest, [corpus])
                rows += [row for row in same if row.document.id not in seen]
        # A document may have changed since it was indexed: its date is asked of the store again.
        return [row for row in rows if day is None or day_number(row.document.as_of) <= day], index

    def _use_chroma(self) -> bool:
        if self._chroma is None:
            try:
                self._chroma = ChromaIndex(self._store, self._directory)
                self._notice = ""
            except StoreBusy:
                self._notice = "another process has the index open; the vectors in the store were searched"
            except StoreError as error:
                self._notice = str(error)
        return self._chroma is not None

    def _renew(self, corpus: str) -> None:
        last, (_, end) = 0, self._sizes(corpus)
        while last < end:
            with self._store.write() as connection:
                rows = [row for row in rows_after(connection, corpus, last, BATCH) if row.seq <= end]
                for row in rows:
                    if row.stale:
                        put(connection, row.document, again=True)
            last = rows[-1].seq if rows else end

    def _sizes(self, corpus: str) -> tuple[int, int]:
        with self._store.read() as connection:
            return sizes(connection, corpus)


@dataclass(frozen=True, slots=True)
class _Question:
    """A query as an expression, words, or both; `scale` makes its dot products cosines."""

    expression: Expr | None
    words: str
    vector: NDArray[np.float32]
    scale: float

    @classmethod
    def of(cls, text: str) -> _Question:
        parsed = expression_of(text)
        expression = parsed if parsed is not None and parsed.kind == "call" else None
        # "mean-reversion" is also a difference of two fields: without a bracket, ask both ways.
        words = "" if expression is not None and "(" in text else text
        vector = embed_question(expression, words)
        # A block of a vector has length sqrt(1/2): one block alone gives half a cosine.
        scale = 2.0 if expression is None or not words else 1.0
        return cls(expression, words, vector, scale)


def _found(row: StoredDocument, question: _Question) -> Found:
    document = row.document
    score = float(np.dot(row.vector.astype(np.float64), question.vector.astype(np.float64))) * question.scale
    why = _shared(document, question)
    if question.expression is not None and document.digest == question.expression.digest:
        score, why = 1.0, "the same canonical expression"
    return Found(
        document.corpus,
        document.id,
        document.expression,
        document.summary,
        round(score, 6),
        why,
        document.verdict,
        document.as_of,
        document.digest,
        document.text,
    )


def _shared(document: Document, question: _Question) -> str:
    """What question and document have in common, in the question's order."""
    expression = expression_of(document.expression)
    parts = []
    if question.expression is not None and expression is not None:
        theirs = names(expression)
        parts += [name for name in names(question.expression) if name in theirs]
    if question.words:
        have = {token for token, weight in word_tokens(_words_of(document, expression)) if weight >= 1.0}
        asked = dict.fromkeys(token for token, weight in word_tokens(question.words) if weight >= 1.0)
        parts += [token for token in asked if token in have and token not in parts]
    return f"shares {', '.join(parts[:8])}" if parts else "shares no name or word; near by form"


def _words_of(document: Document, expression: Expr | None) -> str:
    named = "" if expression is None else prose(expression)
    return f"{document.text} {named}"
