"""The Chroma index: a cache of the store's vectors that is checked, caught up and rebuilt.

Two processes with one Chroma directory damage it silently, even when each write is locked. So
one process holds a lock for as long as its client lives; the others search the store itself. Or a server has the
directory (``chroma run``, named by ``ALPHASWARM_CHROMA_URL``), and any number of processes ask it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from filelock import FileLock, Timeout

from alphaswarm.core import SpecInvalid, Store, StoreBusy, StoreError, atomic_write, canonical_json
from alphaswarm.rag.embedder import Embedder
from alphaswarm.rag.exact import Side
from alphaswarm.rag.index import SIDES, Damaged, VectorIndex, typed_errors
from alphaswarm.rag.orders import CORPORA

__all__ = ["CHROMA_VARIABLE", "ChromaIndex", "ServerIndex", "open_index"]

CHROMA_VARIABLE = "ALPHASWARM_CHROMA_URL"
SERVER_WAIT_SECONDS = 30.0
ANSWER_SECONDS = 10.0


def open_index(store: Store, directory: Path, embedder: Embedder) -> VectorIndex:
    """The index on the server that ``ALPHASWARM_CHROMA_URL`` names, else the one in `directory`.

    Raises:
        StoreBusy: another process has it open.
        StoreError: it can't be used at all.
        SpecInvalid: the variable holds no URL.
    """
    url = os.environ.get(CHROMA_VARIABLE)
    return ServerIndex(store, directory, embedder, url) if url else ChromaIndex(store, directory, embedder)


class ChromaIndex(VectorIndex):
    """The index in `directory`, open for as long as this object holds the lock.

    Attributes:
        aside: name of the directory that was set aside at opening, "" when none was.

    Raises:
        StoreBusy: another process has it open.
        StoreError: the directory can't be used at all.
    """

    kind = "chroma"

    def __init__(self, store: Store, directory: Path, embedder: Embedder) -> None:
        super().__init__(store, embedder)
        self.directory = directory / f"chroma-{embedder.name}"
        self.aside = ""
        # Not bound to a thread: whoever closes the memory gives the lock back.
        self._lock = FileLock(directory / "index.lock", thread_local=False)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            directory.chmod(0o700)  # Chroma's files may hold bytes of this process that are nobody's business
            self._lock.acquire(timeout=0)
        except Timeout:
            raise StoreBusy(f"another process has the index {directory} open") from None
        except OSError as error:
            raise StoreError(f"the index directory can't be used: {error}") from error
        try:
            self._set_others_aside()
            self._open_checked()
        except StoreError:
            self.close()
            raise

    def rebuild(self) -> None:
        """Set the directory aside (the last one set aside is kept) and index every document again."""
        self._close_client()
        if self.directory.exists():
            self._set_aside(self.directory)
        self._open()
        self._catch_up_all()

    def close(self) -> None:
        """Close the client, then let another process have the directory."""
        self._close_client()
        self._lock.release()

    def _open_checked(self) -> None:
        try:
            self._open()
        except Damaged:
            self.rebuild()
        else:
            self._open_or_rebuild()

    def _set_others_aside(self) -> None:
        """An index of another embedder holds vectors that mean nothing here."""
        for other in sorted(self.directory.parent.glob("chroma-*")):
            if other != self.directory and other.is_dir() and not other.name.endswith(".old"):
                self._set_aside(other)

    def _set_aside(self, directory: Path) -> None:
        aside = directory.with_name(f"{directory.name}.old")
        try:
            shutil.rmtree(aside, ignore_errors=True)
            directory.rename(aside)
        except OSError as error:
            raise StoreError(f"the index {directory.name} can't be set aside: {error}") from error
        self.aside = aside.name

    def _open(self) -> None:
        import chromadb
        from chromadb.api.shared_system_client import SharedSystemClient
        from chromadb.config import Settings

        # Chroma keeps a system by directory, even one that failed to start, and would hand it out again.
        SharedSystemClient._identifier_to_system.pop(str(self.directory), None)
        with typed_errors():
            self._client = chromadb.PersistentClient(self.directory, Settings(anonymized_telemetry=False))
            self._open_collections()

    def _close_client(self) -> None:
        client, self._client = self._client, None
        self._collections.clear()
        if client is not None:
            client.close()

    def _name(self, corpus: str, side: Side) -> str:
        return corpus if side == "structure" else f"{corpus}.{side}"

    def _writing(self) -> AbstractContextManager[object]:
        return nullcontext()

    @property
    def _state_file(self) -> Path:
        return self.directory / "state.json"

    def _state(self) -> dict[str, int]:
        try:
            read: Mapping[str, Any] = json.loads(self._state_file.read_bytes())
            if read["embedder"] != self._embedder.name:
                raise Damaged(f"the index was made by the embedder {read['embedder']}")
            return {corpus: int(read["last"].get(corpus, 0)) for corpus in CORPORA}
        except FileNotFoundError:
            return dict.fromkeys(CORPORA, 0)
        except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
            raise Damaged(f"the index's state can't be read: {error}") from error

    def _keep_state(self, state: Mapping[str, int]) -> None:
        atomic_write(self._state_file, canonical_json({"embedder": self._embedder.name, "last": dict(state)}))


class ServerIndex(VectorIndex):
    """The index on a Chroma server that any number of processes may use.

    Who writes into it holds a lock beside the store meanwhile: a server does not keep a slow writer from putting an
    old vector over a new one. Collections bear the store's key, so that workspaces can share a server.

    Raises:
        SpecInvalid: `url` is none.
        StoreError: the server can't be reached.
    """

    kind = "chroma server"

    def __init__(self, store: Store, directory: Path, embedder: Embedder, url: str) -> None:
        super().__init__(store, embedder)
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.path.strip("/"):
            raise SpecInvalid(f"{CHROMA_VARIABLE} must look like http://127.0.0.1:8000, got {parts.hostname or url!r}")
        self._key = hashlib.sha256(f"{_place_of(store)}|{embedder.name}".encode()).hexdigest()[:16]
        self._lock = FileLock(directory / "server.lock", thread_local=False)
        self.aside = ""
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the index directory can't be used: {error}") from error
        secure = parts.scheme == "https"
        try:
            self._connect(parts.hostname, parts.port or (443 if secure else 8000), secure=secure)
            self._open_or_rebuild()
        except StoreError:
            self.close()
            raise

    def _connect(self, host: str, port: int, *, secure: bool) -> None:
        import chromadb
        import httpx
        from chromadb.config import Settings

        with typed_errors():
            # the client itself waits for ever, so a server that hangs is found out before it is made
            scheme = "https" if secure else "http"
            httpx.get(f"{scheme}://{host}:{port}/api/v2/heartbeat", timeout=ANSWER_SECONDS).raise_for_status()
            settings = Settings(anonymized_telemetry=False)
            self._client = chromadb.HttpClient(host, port, ssl=secure, settings=settings)
            for session in _sessions(self._client):
                session.timeout = ANSWER_SECONDS
            self._open_collections()

    def _recover(self) -> None:
        """Look again first: another process may have rebuilt what this one found damaged."""
        try:
            with self._writing():
                with typed_errors():
                    self._open_collections()
                self._check()
                self._catch_up_all()
        except Damaged:
            self.rebuild()

    def rebuild(self) -> None:
        """Delete the collections of this store on the server and index every document again."""
        with self._writing():
            with typed_errors():
                known = {collection.name for collection in self._client.list_collections()}
                for name in (self._name(corpus, side) for corpus in CORPORA for side in SIDES):
                    if name in known:
                        self._client.delete_collection(name)
                self._open_collections()
            for corpus in CORPORA:
                self._catch_up(corpus)

    def close(self) -> None:
        """Let go of the connection."""
        self._collections.clear()
        client, self._client = self._client, None
        if client is not None:
            sessions = _sessions(client)
            client.close()
            for session in sessions:
                session.close()  # which Chroma forgets

    def _name(self, corpus: str, side: Side) -> str:
        return f"alphaswarm-{self._key}-{corpus}.{side}"

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with self._lock.acquire(timeout=SERVER_WAIT_SECONDS):
                yield
        except Timeout:
            raise StoreBusy("another process is writing into the index on the server") from None

    def _state(self) -> dict[str, int]:
        with typed_errors():
            every = {collection.name: collection.metadata or {} for collection in self._client.list_collections()}
        last = {}
        for corpus in CORPORA:
            kept = [every.get(self._name(corpus, side), {}).get("last", 0) for side in SIDES]
            last[corpus] = min(kept)
        return last

    def _keep_state(self, state: Mapping[str, int]) -> None:
        for (corpus, _), collection in self._collections.items():
            if (collection.metadata or {}).get("last") != state[corpus]:
                collection.modify(metadata={"last": state[corpus]})


def _sessions(client: Any) -> list[Any]:
    """The HTTP sessions of a client and of the one that it makes for administration."""
    return [one._server._session for one in (client, client._admin_client)]


def _place_of(store: Store) -> str:
    """What tells a store from others: its URL, or the whole path of its file."""
    file = store.url.removeprefix("sqlite:///")
    return store.url if file == store.url else str(Path(file).absolute())
