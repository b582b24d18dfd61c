"""The documents as rows of the one store: the truth from which any index is rebuilt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)
from sqlalchemy.engine import RowMapping

from alphaswarm.core import ExpressionError, canonical_json
from alphaswarm.core.store import metadata
from alphaswarm.dsl import canonical, parse
from alphaswarm.dsl.expr import Expr
from alphaswarm.rag.embed import EMBEDDER, VECTOR_SIZE, embed
from alphaswarm.rag.orders import Document

__all__ = ["StoredDocument", "documents", "ids_until", "put", "rows_after", "rows_of", "rows_with_digest", "sizes"]

# `seq` only grows (AUTOINCREMENT never gives a number twice) and a changed document gets a new one,
# so that an index catches up by asking for what lies after the last `seq` it saw.
documents = Table(
    "documents",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("corpus", String(40), nullable=False),
    Column("id", String(128), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("expression", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("as_of", String(10)),
    Column("summary", Text, nullable=False),
    Column("embedder", String(40), nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Index("documents_by_id", "corpus", "id", unique=True),
    Index("documents_by_digest", "digest"),
    Index("documents_in_order", "corpus", "seq"),
    sqlite_autoincrement=True,
)


@dataclass(frozen=True)
class StoredDocument:
    """A document with its place in the order of writing and its vector (float32)."""

    seq: int
    document: Document
    embedder: str
    blob: bytes

    @classmethod
    def of(cls, row: RowMapping) -> StoredDocument:
        """From a row of `documents`."""
        document = Document(
            row["corpus"],
            row["id"],
            row["expression"],
            row["digest"],
            row["text"],
            row["verdict"],
            row["as_of"],
            json.loads(row["summary"]),
        )
        return cls(row["seq"], document, row["embedder"], row["vector"])

    @property
    def stale(self) -> bool:
        """Whether an earlier embedder made the stored vector."""
        return self.embedder != EMBEDDER or len(self.blob) != 4 * VECTOR_SIZE

    @cached_property
    def vector(self) -> NDArray[np.float32]:
        """The vector of today's embedder: as stored, or made anew when another one made it."""
        return vector_of(self.document) if self.stale else np.frombuffer(self.blob, "<f4").astype(np.float32)


def vector_of(document: Document) -> NDArray[np.float32]:
    """What the embedder makes of a document."""
    return embed(expression_of(document.expression), document.text)


def expression_of(text: str) -> Expr | None:
    """`text` as a canonical tree, or None when it is no expression."""
    try:
        return canonical(parse(text)) if text else None
    except ExpressionError:
        return None


def put(connection: Connection, document: Document, *, again: bool = False) -> bool:
    """Keep `document`, in the caller's transaction; False when the same one is there already.

    Args:
        connection: an open write transaction.
        document: replaces the one of the same corpus and id.
        again: write even when nothing changed, to renew its vector.
    """
    values = {
        "digest": document.digest,
        "expression": document.expression,
        "text": document.text,
        "verdict": document.verdict,
        "as_of": document.as_of,
        "summary": canonical_json(dict(document.summary)).decode(),
    }
    here = (documents.c.corpus == document.corpus) & (documents.c.id == document.id)
    old = connection.execute(select(*(documents.c[name] for name in values)).where(here)).mappings().one_or_none()
    if old is not None:
        if dict(old) == values and not again:
            return False
        connection.execute(delete(documents).where(here))
    vector = vector_of(document).astype("<f4").tobytes()
    row = {"corpus": document.corpus, "id": document.id, "embedder": EMBEDDER, "vector": vector, **values}
    connection.execute(insert(documents).values(row))
    return True


def rows_after(connection: Connection, corpus: str, seq: int, limit: int) -> list[StoredDocument]:
    """Up to `limit` documents written after `seq`, in order of writing."""
    query = (
        select(documents)
        .where(documents.c.corpus == corpus, documents.c.seq > seq)
        .order_by(documents.c.seq)
        .limit(limit)
    )
    return [StoredDocument.of(row) for row in connection.execute(query).mappings()]


def ids_until(connection: Connection, corpus: str, seq: int) -> list[str]:
    """The ids of all documents written up to `seq`, in order of writing."""
    query = select(documents.c.id).where(documents.c.corpus == corpus, documents.c.seq <= seq).order_by(documents.c.seq)
    return list(connection.execute(query).scalars())


def rows_of(connection: Connection, corpus: str, ids: Sequence[str]) -> list[StoredDocument]:
    """The documents of `corpus` with these ids, in no particular order."""
    query = select(documents).where(documents.c.corpus == corpus, documents.c.id.in_(ids))
    return [StoredDocument.of(row) for row in connection.execute(query).mappings()]


def rows_with_digest(connection: Connection, digest: str, corpora: Iterable[str]) -> list[StoredDocument]:
    """The documents of one canonical expression, by corpus and id."""
    query = (
        select(documents)
        .where(documents.c.digest == digest, documents.c.corpus.in_(list(corpora)))
        .order_by(documents.c.corpus, documents.c.id)
    )
    return [StoredDocument.of(row) for row in connection.execute(query).mappings()]


def sizes(connection: Connection, corpus: str) -> tuple[int, int]:
    """(number of documents, last `seq`) of a corpus."""
    query = select(func.count(), func.coalesce(func.max(documents.c.seq), 0)).where(documents.c.corpus == corpus)
    count, last = connection.execute(query).one()
    return int(count), int(last)
