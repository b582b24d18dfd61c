"""The Chroma index: a cache of the store's vectors that is checked, caught up and rebuilt.

Two processes with one Chroma directory damage it silently, even when each write is locked. So
one process holds a lock for as long as its client lives; the others search the store itself.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from alphaswarm.core import Store, StoreBusy, StoreError, atomic_write, canonical_json
from alphaswarm.rag.embed import EMBEDDER, VECTOR_SIZE
from alphaswarm.rag.exact import day_number
from alphaswarm.rag.orders import CORPORA
from alphaswarm.rag.store import ids_until, rows_after, rows_of, sizes

__all__ = ["ChromaIndex"]

BATCH = 500  # Chroma takes at most 5,461 at once
SAMPLE = 48
# A wider search and one thread: the same writes give the same graph, and small corpora miss nothing.
GRAPH = {"space": "ip", "ef_search": 400, "ef_construction": 200, "max_neighbors": 32, "num_threads": 1}


class _Damaged(StoreError):
    """The index doesn't hold what it should; it will be rebuilt."""


class ChromaIndex:
    """The index in `directory`, open for as long as this object holds the lock.

    Raises:
        StoreBusy: another process has it open.
        StoreError: the directory can't be used at all.
    """

    def __init__(self, store: Store, directory: Path) -> None:
        self._store = store
        self.directory = directory / f"chroma-{EMBEDDER}-{VECTOR_SIZE}"
        # Not bound to a thread: whoever closes the memory gives the lock back.
        self._lock = FileLock(directory / "index.lock", thread_local=False)
        self._client: Any = None
        self._collections: dict[str, Any] = {}
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreBusy(f"another process has the index {directory} open") from None
        except OSError as error:
            raise StoreError(f"the index directory can't be used: {error}") from error
        try:
            self._open_or_rebuild()
        except StoreError:
            self.close()
            raise

    def candidates(self, corpus: str, vector: NDArray[np.float32], n: int, day: int | None) -> list[str] | None:
        """Ids of the `n` nearest documents known by `day`; None when the index fell short of them.

        Raises:
            StoreError: the index failed and could not be rebuilt.
        """
        try:
            return self._candidates(corpus, vector, n, day)
        except _Damaged:
            self.rebuild()
            return self._candidates(corpus, vector, n, day)

    def rebuild(self) -> None:
        """Set the directory aside (the last one set aside is kept) and index every document again."""
        self._close_client()
        aside = self.directory.with_name(f"{self.directory.name}.old")
        try:
            if self.directory.exists():
                shutil.rmtree(aside, ignore_errors=True)
                self.directory.rename(aside)
        except OSError as error:
            raise StoreError(f"the damaged index can't be set aside: {error}") from error
        self._open()
        for corpus in CORPORA:
            self._catch_up(corpus)

    def close(self) -> None:
        """Close the client, then let another process have the directory."""
        self._close_client()
        self._lock.release()

    def _open_or_rebuild(self) -> None:
        try:
            self._open()
            self._check()
            for corpus in CORPORA:
                self._catch_up(corpus)
        except _Damaged:
            self.rebuild()

    def _open(self) -> None:
        import chromadb
        from chromadb.api.shared_system_client import SharedSystemClient
        from chromadb.config import Settings

        # Chroma keeps a system by directory, even one that failed to start, and would hand it out again.
        SharedSystemClient._identifier_to_system.pop(str(self.directory), None)
        with _typed_errors():
            self._client = chromadb.PersistentClient(self.directory, Settings(anonymized_telemetry=False))
            for corpus in CORPORA:
                self._collections[corpus] = self._client.get_or_create_collection(
                    corpus,
                    embedding_function=None,
                    configuration={"hnsw": GRAPH},
                )

    def _close_client(self) -> None:
        client, self._client = self._client, None
        self._collections.clear()
        if client is not None:
            client.close()

    def _check(self) -> None:
        """Ask for vectors spread over all that should be there, and compare them with the store's."""
        for corpus, seq in self._state().items():
            with self._store.read() as connection:
                ids = ids_until(connection, corpus, seq)
                rows = rows_of(connection, corpus, ids[:: max(1, len(ids) // SAMPLE)])
            if not rows:
                continue
            sample = {row.document.id: row.vector for row in rows}
            with _typed_errors():
                found = self._collections[corpus].get(ids=list(sample), include=["embeddings"])
            if len(found["ids"]) != len(sample):
                raise _Damaged(f"the index lost {len(sample) - len(found['ids'])} of {len(sample)} documents")
            for identifier, vector in zip(found["ids"], found["embeddings"], strict=True):
                if not np.allclose(vector, sample[identifier], atol=1e-6):
                    raise _Damaged(f"the index holds another vector for {identifier}")

    def _catch_up(self, corpus: str) -> None:
        collection = self._collections[corpus]
        state = self._state()
        while True:
            with self._store.read() as connection:
                rows = rows_after(connection, corpus, state[corpus], BATCH)
                count, last = sizes(connection, corpus)
            if rows:
                with _typed_errors():
                    collection.upsert(
                        ids=[row.document.id for row in rows],
                        embeddings=[row.vector for row in rows],
                        metadatas=[{"day": day_number(row.document.as_of)} for row in rows],
                    )
                    state[corpus] = rows[-1].seq
                    atomic_write(self._state_file, canonical_json(state))
            if state[corpus] >= last:
                break
        with _typed_errors():
            indexed = collection.count()
        if indexed != count or state[corpus] > last:
            raise _Damaged(f"the index holds {indexed} documents of {corpus}, the store {count}")

    def _candidates(self, corpus: str, vector: NDArray[np.float32], n: int, day: int | None) -> list[str] | None:
        self._catch_up(corpus)
        collection = self._collections[corpus]
        where = None if day is None else {"day": {"$lte": day}}
        with _typed_errors():
            found = collection.query(query_embeddings=[vector], n_results=n, where=where, include=[])["ids"][0]
            if len(found) < n:  # an approximate search may fall short; then the store is searched
                known = collection.count() if where is None else len(collection.get(where=where, include=[])["ids"])
                if len(found) < min(n, known):
                    return None
        return [str(identifier) for identifier in found]

    @property
    def _state_file(self) -> Path:
        return self.directory / "state.json"

    def _state(self) -> dict[str, int]:
        """The last `seq` indexed of each corpus, 0 where none is."""
        try:
            read: Mapping[str, Any] = json.loads(self._state_file.read_bytes())
            return {corpus: int(read.get(corpus, 0)) for corpus in CORPORA}
        except FileNotFoundError:
            return dict.fromkeys(CORPORA, 0)
        except (OSError, ValueError, AttributeError, TypeError) as error:
            raise _Damaged(f"the index's state can't be read: {error}") from error


@contextmanager
def _typed_errors() -> Iterator[None]:
    from chromadb.errors import ChromaError

    try:
        yield
    except (ChromaError, OSError, ValueError, RuntimeError) as error:
        raise _Damaged(f"the index failed: {error}") from error
