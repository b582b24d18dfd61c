"""What every Chroma index does: check that it holds the store's vectors, catch up with the rows, name the nearest.

For each corpus there are two collections: of structures, and of texts. Structures are folded to a third of their
length, which costs the index little and builds it in a third of the time: candidates come from here, but order and
scores always come from the whole vectors in the store.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Store, StoreError
from alphaswarm.rag.embed import BLOCK, STRUCTURE_SIZE
from alphaswarm.rag.embedder import Embedder
from alphaswarm.rag.exact import Side
from alphaswarm.rag.orders import CORPORA
from alphaswarm.rag.shelf import Filters, day_number
from alphaswarm.rag.store import StoredDocument, ids_until, rows_after, rows_of, sizes

__all__ = ["Damaged", "VectorIndex", "typed_errors"]

BATCH = 500  # Chroma takes at most 5,461 at once
SAMPLE = 48
FOLD = 3
# A wider search and one thread: the same writes give the same graph, and small corpora miss nothing.
GRAPH = {
    "space": "ip",
    "ef_search": 400,
    "ef_construction": 80,
    "max_neighbors": 16,
    "num_threads": 1,
    "batch_size": 500,
    "sync_threshold": 10_000,
}
SIDES: tuple[Side, ...] = ("structure", "text")


class Damaged(StoreError):
    """The index doesn't hold what it should; it will be rebuilt."""


class VectorIndex(ABC):
    """An index over a Chroma client. Subclasses say where it is and how it begins anew.

    Args:
        store: whose rows are indexed.
        embedder: what makes the text vectors.
    """

    kind: ClassVar[str]

    def __init__(self, store: Store, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._client: Any = None
        self._collections: dict[tuple[str, Side], Any] = {}
        self._reached: dict[str, int] = {}

    def candidates(self, corpus: str, side: Side, vector: NDArray[np.float32], n: int, filters: Filters) -> list[str]:
        """Ids of some `n` of the nearest documents that day, panel, universe and horizon let through.

        Raises:
            StoreError: the index failed and could not be rebuilt.
        """
        try:
            return self._candidates(corpus, side, vector, n, filters)
        except Damaged:
            self._recover()
            return self._candidates(corpus, side, vector, n, filters)

    @abstractmethod
    def rebuild(self) -> None:
        """Begin anew and index every document again."""

    def _recover(self) -> None:
        """What is done about damage."""
        self.rebuild()

    @abstractmethod
    def close(self) -> None:
        """Let go of it."""

    @abstractmethod
    def _state(self) -> dict[str, int]:
        """The last `seq` indexed of each corpus, 0 where none is."""

    @abstractmethod
    def _keep_state(self, state: Mapping[str, int]) -> None:
        """Remember how far the index came."""

    @abstractmethod
    def _name(self, corpus: str, side: Side) -> str:
        """What a collection is called."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[object]:
        """Held while rows are written into the index."""

    def _open_collections(self) -> None:
        for corpus in CORPORA:
            for side in SIDES:
                self._collections[corpus, side] = self._client.get_or_create_collection(
                    self._name(corpus, side), embedding_function=None, configuration={"hnsw": GRAPH}
                )

    def _open_or_rebuild(self) -> None:
        try:
            self._check()
            self._catch_up_all()
        except Damaged:
            self._recover()

    def _catch_up_all(self) -> None:
        with self._writing():
            for corpus in CORPORA:
                self._catch_up(corpus)

    def _check(self) -> None:
        """Ask for vectors spread over all that should be there, and compare them with the store's."""
        for corpus, seq in self._state().items():
            with self._store.read() as connection:
                ids = ids_until(connection, corpus, seq)
                rows = rows_of(connection, corpus, ids[:: max(1, len(ids) // SAMPLE)])
            if not rows:
                continue
            for side, vectors in self._vectors(rows).items():
                sample = dict(zip((row.document.id for row in rows), vectors, strict=True))
                with typed_errors():
                    found = self._collections[corpus, side].get(ids=list(sample), include=["embeddings"])
                if len(found["ids"]) != len(sample):
                    raise Damaged(f"the index lost {len(sample) - len(found['ids'])} of {len(sample)} documents")
                for identifier, vector in zip(found["ids"], found["embeddings"], strict=True):
                    if len(vector) != len(sample[identifier]) or not np.allclose(vector, sample[identifier], atol=1e-6):
                        raise Damaged(f"the index holds another vector for {identifier}")

    def _catch_up(self, corpus: str) -> None:
        state = self._state()
        while True:
            with self._store.read() as connection:
                rows = rows_after(connection, corpus, state[corpus], BATCH)
                count, last = sizes(connection, corpus)
            if rows:
                for side, vectors in self._vectors(rows).items():
                    with typed_errors():
                        self._collections[corpus, side].upsert(
                            ids=[row.document.id for row in rows],
                            embeddings=list(vectors),
                            metadatas=[_metadata(row) for row in rows],
                        )
                state[corpus] = rows[-1].seq
                with typed_errors():
                    self._keep_state(state)
            if state[corpus] >= last:
                break
        for side in SIDES:
            with typed_errors():
                indexed = self._collections[corpus, side].count()
            if indexed != count or state[corpus] > last:
                raise Damaged(f"the index holds {indexed} documents of {corpus}, the store {count}")
        self._reached[corpus] = state[corpus]

    def _vectors(self, rows: Sequence[StoredDocument]) -> dict[Side, NDArray[np.float32]]:
        structures = np.stack([row.vector[:STRUCTURE_SIZE] for row in rows]) / np.float32(BLOCK)
        return {"structure": _folded(structures), "text": self._embedder.texts(self._store, rows)}

    def _candidates(self, corpus: str, side: Side, vector: NDArray[np.float32], n: int, filters: Filters) -> list[str]:
        if self._behind(corpus):
            with self._writing():
                self._catch_up(corpus)
        collection = self._collections[corpus, side]
        asked = _folded(vector[None])[0] if side == "structure" else vector
        with typed_errors():
            found = collection.query(query_embeddings=[asked], n_results=n, where=_where(filters), include=[])["ids"][0]
        return [str(identifier) for identifier in found]

    def _behind(self, corpus: str) -> bool:
        with self._store.read() as connection:
            return sizes(connection, corpus)[1] != self._reached.get(corpus)


def _folded(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """[n, STRUCTURE_SIZE] to [n, STRUCTURE_SIZE / FOLD], as if tokens had been hashed to fewer places."""
    return np.asarray(vectors.reshape(len(vectors), FOLD, -1).sum(axis=1), np.float32)


def _metadata(row: StoredDocument) -> dict[str, str | int]:
    # Chroma drops what is None, so that a document that lacks a fact passes no filter on it
    summary = row.document.summary
    facts = {name: summary.get(name) for name in ("panel", "universe", "horizon")}
    return {"day": day_number(row.document.as_of), **{name: fact for name, fact in facts.items() if fact is not None}}


def _where(filters: Filters) -> dict[str, Any] | None:
    parts: list[dict[str, Any]] = [
        {name: {"$eq": getattr(filters, name)}}
        for name in ("panel", "universe", "horizon")
        if getattr(filters, name) is not None
    ]
    if filters.day is not None:
        parts.append({"day": {"$lte": filters.day}})
    return {"$and": parts} if len(parts) > 1 else next(iter(parts), None)


@contextmanager
def typed_errors() -> Iterator[None]:
    """Turn what Chroma raises into `Damaged`."""
    import httpx
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, httpx.HTTPError, OSError, ValueError, RuntimeError) as error:
        raise Damaged(f"the index failed: {error}") from error
