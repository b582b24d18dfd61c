"""`Memory`: remember documents and find them again, by meaning of a text or shape of an expression.

Several keys find what is near, and their orders are fused by reciprocal rank (Cormack, Clarke and Buettcher, SIGIR
2009): the canonical hash, the skeleton without constants, the vector of the structure, the vector of the text, and
BM25 over words.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from alphaswarm.core import AlphaSwarmError, Reason, Store, StoreBusy, StoreError
from alphaswarm.dsl import canonical
from alphaswarm.dsl.expr import Expr, call
from alphaswarm.rag.answer import answer, link
from alphaswarm.rag.chroma import open_index
from alphaswarm.rag.embed import BLOCK, STRUCTURE_SIZE, VECTOR_SIZE, embed_question
from alphaswarm.rag.embedder import Embedder, chosen_embedder
from alphaswarm.rag.exact import ExactIndex, Side
from alphaswarm.rag.index import VectorIndex
from alphaswarm.rag.keys import skeleton, unscaled
from alphaswarm.rag.orders import CORPORA, NOT_JUDGED, TRUST, Document, check_day, corpus_of
from alphaswarm.rag.question import EXACT, Question
from alphaswarm.rag.shelf import Filters, Shelf, day_number
from alphaswarm.rag.store import (
    StoredDocument,
    add_columns,
    expression_of,
    put,
    rows_after,
    rows_of,
    rows_of_form,
    rows_with_digest,
    sizes,
    vectors_of,
)

__all__ = ["Found", "Memory", "QueryResult"]

MAX_RESULTS = 100
# Many more than are asked for come out of the index; the store's vectors then decide the order.
CANDIDATES = 200
RANKED = 50
RANK_CONSTANT = 60
# Shared words say more than a likeness of texts does; measured in `benchmarks/memory`.
WEIGHTS = {"skeleton": 1.0, "structure": 1.0, "text": 1.0, "words": 2.0}
# Cosine of structures below which two formulas have little in common.
STRUCTURE_FLOOR = 0.3
# Below 1, which is kept for the same canonical expression.
BEST_FUSED = 0.99
BATCH = 200


@dataclass(frozen=True, slots=True)
class Found:
    """A document near a question.

    Attributes:
        corpus: it belongs to this one.
        id: its id.
        expression: canonical text, "" where it has none.
        summary: plain JSON; see `Corpus.summary`.
        score: 0 to 1, fused over all keys; 1 for the same canonical expression only.
        why: what it shares with the question.
        verdict: what may be said of it.
        as_of: last market date of its evidence.
        digest: hash of the canonical expression.
        text: words that were said about it. Data, of unknown origin.
        likeness: cosine of the structures, or of the texts where nothing was asked of a structure.
        keys: what found it, the best first: digest, skeleton, structure, text, words.
        link: where to read it, "" where it has no page.
        trust: label of its texts.
    """

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
    likeness: float = 0.0
    keys: tuple[str, ...] = ()
    link: str = ""
    trust: str = TRUST


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Answers, best first.

    Attributes:
        embedder: what made the vectors.
        index: "chroma", "chroma server", or "exact" when the vectors in the store were searched.
        results: equal scores stand in order of id.
        notice: why Chroma was not used, "" when it was.
        answer: the results in plain words, each with its number and link.
    """

    embedder: str
    index: str
    results: tuple[Found, ...] = ()
    notice: str = field(default="", compare=False)
    answer: str = ""

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
        embedder: "auto", "words" or "minilm"; by default what ``ALPHASWARM_EMBEDDER`` says.

    Raises:
        StoreError: the store can't be brought up to date.
    """

    def __init__(self, store: Store, index_dir: Path, embedder: str | None = None) -> None:
        self._store = store
        self._directory = index_dir
        self._kind = embedder
        self._chosen: Embedder | None = None
        self._shelves: dict[str, Shelf] = {}
        self._exact: dict[str, ExactIndex] = {}
        self._index: VectorIndex | None = None
        self._notice = ""
        self._guard = threading.RLock()
        add_columns(store)

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

    def of_form(self, expression: Expr, *, universe: str) -> list[tuple[Document, float, str]]:
        """Factors of the same form on these data: (document, cosine of the structures, in words), the nearest first.

        Blind to signs, scale, shifts and the numbers in the formula. Asks the rows only, so that no index is opened.
        """
        mine, turned = (
            embed_question(tree, "")[:STRUCTURE_SIZE].astype(np.float64) / BLOCK
            for tree in (canonical(expression), canonical(call("neg", expression)))
        )
        with self._store.read() as connection:
            rows = rows_of_form(connection, "alpha_factors", skeleton(expression))
        found = []
        for row in rows:
            theirs = expression_of(row.document.expression)
            if theirs is None or row.document.summary.get("universe") != universe:
                continue
            same = unscaled(expression) is unscaled(theirs)
            vector = row.vector[:STRUCTURE_SIZE].astype(np.float64) / BLOCK
            cosine = 1.0 if same else max(float(vector @ mine), float(vector @ turned), 0.0)
            why = "the same up to sign, scale or a constant" if same else "the same form with other numbers"
            found.append((row.document, round(min(cosine, 1.0), 6), why))
        return sorted(found, key=lambda entry: (-entry[1], entry[0].id))

    def query(
        self,
        text: str,
        *,
        corpus: str = "alpha_factors",
        k: int = 5,
        as_of: str | None = None,
        panel: str | None = None,
        universe: str | None = None,
        horizon: int | None = None,
        verdict: str | None = None,
    ) -> QueryResult:
        """The `k` documents nearest to a text or an expression.

        Args:
            text: words, or an expression in any dialect; an expression is compared by its structure, and the
                document of the same canonical expression comes first.
            corpus: a name of `CORPORA`.
            k: at most this many, 1 to 100.
            as_of: YYYY-MM-DD; only documents whose evidence was knowable by then, whenever written, and no verdict
                that came of later prices.
            panel: only those on this panel.
            universe: only those on these data, whatever the panel's name.
            horizon: only those of this horizon.
            verdict: only those of this status, such as "confirmed" or "not judged".

        Raises:
            UnknownName: no such corpus, or embedder.
            DataInvalid: not a date.
            AlphaSwarmError: `k` out of range.
        """
        corpus_of(corpus)
        if not 1 <= k <= MAX_RESULTS:
            raise AlphaSwarmError(f"k must be 1 to {MAX_RESULTS}, got {k}", Reason.ARGUMENT_INVALID)
        day = None if as_of is None else day_number(check_day(as_of))
        filters = Filters(day, panel, universe, horizon, verdict)
        with self._guard:
            embedder = self._embedder()
            question = Question.of(text, embedder)
            ranks, likeness, index = self._ranks(corpus, question, filters, max(CANDIDATES, 4 * k))
            found = self._read(corpus, _fused(ranks, question.keys)[:k], likeness, question, filters)
        notice = "" if index != "exact" else self._notice
        return QueryResult(embedder.name, index, found, notice, answer(text, corpus, found))

    def reindex(self) -> dict[str, Any]:
        """Make every vector and the whole index anew from the documents; what `stats` then says.

        Raises:
            StoreBusy: another process has the index open.
        """
        with self._guard:
            self._index = self._index or open_index(self._store, self._directory, self._embedder())
            for corpus in CORPORA:
                self._renew(corpus)
            self._index.rebuild()
        return self.stats()

    def stats(self) -> dict[str, Any]:
        """Documents by corpus, what embeds them, and which index would answer."""
        with self._guard:
            embedder = self._embedder()
            index = self._opened()
        with self._store.read() as connection:
            counts = {corpus: sizes(connection, corpus)[0] for corpus in CORPORA}
        return {
            "embedder": embedder.name,
            "dimensions": STRUCTURE_SIZE + embedder.text_size,
            "index": "exact" if index is None else index.kind,
            "notice": self._notice,
            "documents": sum(counts.values()),
            "corpora": counts,
        }

    def close(self) -> None:
        """Let another process have the index."""
        with self._guard:
            if self._index is not None:
                self._index.close()
                self._index = None

    def _embedder(self) -> Embedder:
        if self._chosen is None:
            self._chosen = chosen_embedder(self._kind)
        return self._chosen

    def _shelf(self, corpus: str) -> Shelf:
        return self._shelves.setdefault(corpus, Shelf(self._store, corpus))

    def _ranks(
        self, corpus: str, question: Question, filters: Filters, n: int
    ) -> tuple[dict[str, dict[str, int]], dict[str, float], str]:
        """For each key the rank of each document that it finds; the likeness of each; and which index was asked."""
        shelf = self._shelf(corpus)
        shelf.catch_up()
        if not shelf.ids:  # nothing is remembered yet: no index need be opened for that
            return {}, {}, "exact"
        allowed = shelf.allowed(filters)
        index = self._opened()
        ranks: dict[str, dict[str, int]] = {}
        near: dict[Side, dict[str, float]] = {}
        for side in question.sides:
            ids, index = self._near(shelf, corpus, question.vector(side), n, filters, allowed, side, index)
            near[side] = self._cosines(corpus, ids, question, side)
        words = shelf.words.scores(question.terms) if question.terms.size else np.zeros(len(shelf.ids))
        if question.terms.size:
            ranks["words"] = _ranked({shelf.ids[place]: words[place] for place in _best(words, allowed)})
        if "structure" in near:
            likeness = {key: value for key, value in near["structure"].items() if value >= STRUCTURE_FLOOR}
            ranks["structure"] = _ranked(likeness)
            for key, places in (("digest", question.same(shelf)), ("skeleton", question.alike(shelf))):
                ids = [shelf.ids[place] for place in places if allowed[place]]
                # of one form the nearest in structure comes first
                missing = [identifier for identifier in ids if identifier not in near["structure"]]
                near["structure"] |= self._cosines(corpus, missing, question, "structure")
                ranks[key] = _ranked({identifier: near["structure"][identifier] for identifier in ids})
        if "text" in near:
            likeness = {key: value for key, value in near["text"].items() if value >= question.embedder.floor}
            if question.embedder.lexical:
                likeness = {key: value for key, value in likeness.items() if _scored(shelf, words, key)}
            ranks["text"] = _ranked(likeness)
        return ranks, near.get("text", {}) | near.get("structure", {}), "exact" if index is None else index.kind

    def _near(
        self,
        shelf: Shelf,
        corpus: str,
        vector: NDArray[np.float32],
        n: int,
        filters: Filters,
        allowed: NDArray[np.bool_],
        side: Side,
        index: VectorIndex | None,
    ) -> tuple[list[str], VectorIndex | None]:
        ids: list[str] | None = None
        if index is not None:
            try:
                found = index.candidates(corpus, side, vector, n, filters)
                places = [shelf.place(identifier) for identifier in found]
                ids = [shelf.ids[place] for place in places if place is not None and allowed[place]]
            except StoreError as error:
                self._notice, index = str(error), None
                self.close()
        if ids is None or len(ids) < min(n, int(allowed.sum())):  # an approximate search may fall short
            exact = self._exact.setdefault(corpus, ExactIndex(self._store, corpus, self._embedder()))
            ids = exact.candidates(shelf, side, vector, n, allowed)
        return ids, index

    def _cosines(self, corpus: str, ids: Sequence[str], question: Question, side: Side) -> dict[str, float]:
        """The cosine of each document's whole vector with the question's, from the store."""
        if not ids:
            return {}
        asked = question.vector(side).astype(np.float64)
        if side == "text" and not question.embedder.lexical:
            with self._store.read() as connection:
                rows = rows_of(connection, corpus, ids)
            vectors = dict(
                zip((row.document.id for row in rows), question.embedder.texts(self._store, rows), strict=True)
            )
        else:
            part = slice(0, STRUCTURE_SIZE) if side == "structure" else slice(STRUCTURE_SIZE, VECTOR_SIZE)
            with self._store.read() as connection:
                whole = dict(vectors_of(connection, corpus, ids))
                old = [identifier for identifier in ids if identifier not in whole]
                whole |= {row.document.id: row.vector for row in rows_of(connection, corpus, old)} if old else {}
            vectors = {identifier: vector[part] / np.float32(BLOCK) for identifier, vector in whole.items()}
        if not vectors:
            return {}
        cosines = np.stack(list(vectors.values())).astype(np.float64) @ asked
        return dict(zip(vectors, np.round(cosines, 6).tolist(), strict=True))

    def _read(
        self,
        corpus: str,
        fused: Sequence[tuple[str, float, tuple[str, ...]]],
        likeness: Mapping[str, float],
        question: Question,
        filters: Filters,
    ) -> tuple[Found, ...]:
        with self._store.read() as connection:
            rows = {row.document.id: row for row in rows_of(connection, corpus, [entry[0] for entry in fused])}
        return tuple(
            _found(rows[identifier], score, keys, likeness.get(identifier, 0.0), question, filters.day)
            for identifier, score, keys in fused
            # a document may have changed since it was read: its date is asked of the store again
            if identifier in rows and _known(rows[identifier].document, filters.day)
        )

    def _opened(self) -> VectorIndex | None:
        if self._index is None:
            try:
                self._index = open_index(self._store, self._directory, self._embedder())
                self._notice = ""
            except StoreBusy:
                self._notice = "another process has the index open; the vectors in the store were searched"
            except StoreError as error:
                self._notice = str(error)
        return self._index

    def _renew(self, corpus: str) -> None:
        with self._store.read() as connection:
            last, end = 0, sizes(connection, corpus)[1]
        while last < end:
            with self._store.read() as connection:
                rows = [row for row in rows_after(connection, corpus, last, BATCH) if row.seq <= end]
            if any(row.stale for row in rows):
                with self._store.write() as connection:
                    for row in rows_of(connection, corpus, [row.document.id for row in rows if row.stale]):
                        put(connection, row.document, again=True)
            last = rows[-1].seq if rows else end


def _scored(shelf: Shelf, words: NDArray[np.float64], identifier: str) -> bool:
    place = shelf.place(identifier)
    return place is not None and place < words.size and words[place] > 0.0


def _best(scores: NDArray[np.float64], allowed: NDArray[np.bool_]) -> list[int]:
    """Places of the best scores, with all that equal the last of them."""
    places = np.flatnonzero(allowed & (scores > 0.0))
    if places.size > RANKED:
        nth = np.partition(scores[places], places.size - RANKED)[places.size - RANKED]
        places = places[scores[places] >= nth]
    return [int(place) for place in places]


def _ranked(values: Mapping[str, float]) -> dict[str, int]:
    """1 for the largest value; equals (to a millionth) share a rank; at most `RANKED` ranks."""
    ranks: dict[str, int] = {}
    rank, before = 0, None
    for identifier, value in sorted(values.items(), key=lambda item: (-item[1], item[0])):
        if before is None or before - value > 1e-6:
            rank, before = len(ranks) + 1, value
        if rank > RANKED:
            break
        ranks[identifier] = rank
    return ranks


def _fused(ranks: Mapping[str, Mapping[str, int]], keys: Iterable[str]) -> list[tuple[str, float, tuple[str, ...]]]:
    """(id, score, keys that found it), the best score first, then by id."""
    best = sum(WEIGHTS[key] / (RANK_CONSTANT + 1) for key in keys if key != EXACT)
    total: dict[str, float] = {}
    by: dict[str, list[tuple[int, str]]] = {}
    for key, found in ranks.items():
        for identifier, rank in found.items():
            if key != EXACT:
                total[identifier] = total.get(identifier, 0.0) + WEIGHTS[key] / (RANK_CONSTANT + rank)
            by.setdefault(identifier, []).append((0 if key == EXACT else rank, key))
    fused = []
    for identifier, places in by.items():
        same = identifier in ranks.get(EXACT, {})
        score = 1.0 if same else round(BEST_FUSED * total[identifier] / best, 6)
        fused.append((identifier, score, tuple(key for _, key in sorted(places))))
    return sorted(fused, key=lambda entry: (-entry[1], entry[0]))


def _known(document: Document, day: int | None) -> bool:
    return day is None or day_number(document.as_of) <= day


def _found(
    row: StoredDocument, score: float, keys: tuple[str, ...], likeness: float, question: Question, day: int | None
) -> Found:
    document = row.document
    verdict, summary = document.verdict, document.summary
    judged = summary.get("judged_as_of")
    if judged is not None and day is not None and day_number(judged) > day:
        # that it was judged at all is known only after the rows that judged it
        verdict = NOT_JUDGED
        summary = {name: value for name, value in summary.items() if name != "judged_as_of"}
    return Found(
        document.corpus,
        document.id,
        document.expression,
        summary,
        score,
        question.shared(document),
        verdict,
        document.as_of,
        document.digest,
        document.text,
        round(max(likeness, 0.0), 6),
        keys,
        link(document.corpus, document.id),
    )
