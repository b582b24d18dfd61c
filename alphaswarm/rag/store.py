"""The documents as rows of the one store: the truth from which any index is rebuilt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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
    inspect,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import RowMapping

from alphaswarm.core import ExpressionError, Store, canonical_json
from alphaswarm.core.store import metadata
from alphaswarm.dsl import canonical, parse
from alphaswarm.dsl.expr import Expr
from alphaswarm.rag.embed import EMBEDDER, VECTOR_SIZE, embed
from alphaswarm.rag.keys import document_terms, skeleton, spoken
from alphaswarm.rag.orders import Document

__all__ = [
    "Entry",
    "StoredDocument",
    "add_columns",
    "documents",
    "entries_after",
    "expression_of",
    "ids_until",
    "keep_text_vectors",
    "put",
    "rows_after",
    "rows_of",
    "rows_of_form",
    "rows_with_digest",
    "sizes",
    "text_vectors",
    "text_vectors_of",
    "vectors_of",
]

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
    Column("skeleton", String(64)),  # empty in the rows of earlier versions, as is `terms`
    Column("terms", LargeBinary),  # uint32
    Index("documents_by_id", "corpus", "id", unique=True),
    Index("documents_by_digest", "digest"),
    Index("documents_by_form", "corpus", "skeleton"),
    Index("documents_in_order", "corpus", "seq"),
    sqlite_autoincrement=True,
)

# Vectors that a language model made of texts: a cache, by the key of what the model was shown.
text_vectors = Table(
    "text_vectors",
    metadata,
    Column("embedder", String(40), primary_key=True),
    Column("key", String(64), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What finding a document needs beside its vectors.

    Attributes:
        seq: place in the order of writing.
        id: of the document.
        digest: of its expression, "" where there is none.
        skeleton: key of its expression's form, "" where there is none.
        terms: hashed, uint32.
        as_of: see `Document`.
        judged_as_of: last market date behind its verdict, None where there is none.
        facts: panel, universe, horizon and status, by which documents are filtered.
    """

    seq: int
    id: str
    digest: str
    skeleton: str
    terms: NDArray[np.uint32]
    as_of: str | None
    judged_as_of: str | None
    facts: Mapping[str, Any]


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

    @cached_property
    def spoken(self) -> str:
        """What a language model is shown of it."""
        return spoken(expression_of(self.document.expression), self.document.text)


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
    expression = expression_of(document.expression)
    row = {
        "corpus": document.corpus,
        "id": document.id,
        "embedder": EMBEDDER,
        "vector": embed(expression, document.text).astype("<f4").tobytes(),
        "skeleton": "" if expression is None else skeleton(expression),
        "terms": document_terms(expression, document.text).astype("<u4").tobytes(),
        **values,
    }
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


def entries_after(connection: Connection, corpus: str, seq: int, limit: int) -> list[Entry]:
    """Up to `limit` documents written after `seq`, in order of writing, without their vectors."""
    names = ("seq", "id", "digest", "skeleton", "terms", "as_of", "verdict", "summary", "embedder")
    light = [documents.c[name] for name in names]
    query = (
        select(*light).where(documents.c.corpus == corpus, documents.c.seq > seq).order_by(documents.c.seq).limit(limit)
    )
    found = connection.execute(query).all()
    old = [row.id for row in found if row.embedder != EMBEDDER or row.terms is None]
    renewed = {row.document.id: row.document for row in rows_of(connection, corpus, old)} if old else {}
    entries = []
    for row in found:
        form, terms = row.skeleton, row.terms
        if row.id in renewed:
            document = renewed[row.id]
            expression = expression_of(document.expression)
            form = "" if expression is None else skeleton(expression)
            terms = document_terms(expression, document.text).astype("<u4").tobytes()
        summary: dict[str, Any] = json.loads(row.summary)
        head, colon, _ = row.verdict.partition(":")
        facts = {name: summary.get(name) for name in ("panel", "universe", "horizon")}
        facts["verdict"] = head if colon else "not judged"
        words = np.frombuffer(terms, "<u4")
        entries.append(Entry(row.seq, row.id, row.digest, form, words, row.as_of, summary.get("judged_as_of"), facts))
    return entries


def vectors_of(connection: Connection, corpus: str, ids: Sequence[str]) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """(id, vector) of the documents with these ids, in no particular order; those of earlier embedders are left out."""
    asked = (documents.c.id, documents.c.vector)
    query = select(*asked).where(
        documents.c.corpus == corpus, documents.c.id.in_(ids), documents.c.embedder == EMBEDDER
    )
    for row in connection.execute(query):
        yield row.id, np.frombuffer(row.vector, "<f4")


def text_vectors_of(connection: Connection, embedder: str, texts: Iterable[str]) -> dict[str, NDArray[np.float32]]:
    """The vectors that are kept of these texts."""
    keys = {_text_key(text): text for text in texts}
    query = select(text_vectors.c.key, text_vectors.c.vector).where(
        text_vectors.c.embedder == embedder, text_vectors.c.key.in_(list(keys))
    )
    return {keys[row.key]: np.frombuffer(row.vector, "<f4") for row in connection.execute(query)}


def keep_text_vectors(connection: Connection, embedder: str, made: Mapping[str, NDArray[np.float32]]) -> None:
    """Keep the vectors of texts; those that are there stay as they are."""
    rows = [
        {"embedder": embedder, "key": _text_key(text), "vector": vector.astype("<f4").tobytes()}
        for text, vector in made.items()
    ]
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(dialect.insert(text_vectors).on_conflict_do_nothing(), rows)


def add_columns(store: Store) -> None:
    """Give a table that an earlier version made the columns that it lacks; they are empty in old rows."""
    with store.read() as connection:
        lacking = _lacking(connection)
    if lacking:
        with store.write() as connection:
            for name in _lacking(connection):  # unless somebody else came first
                kind = documents.c[name].type.compile(connection.dialect)
                connection.exec_driver_sql(f"ALTER TABLE documents ADD COLUMN {name} {kind}")
            for index in documents.indexes:
                index.create(connection, checkfirst=True)


def _lacking(connection: Connection) -> list[str]:
    there = {column["name"] for column in inspect(connection).get_columns(documents.name)}
    return [name for name in ("skeleton", "terms") if name not in there]


def _text_key(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def ids_until(connection: Connection, corpus: str, seq: int) -> list[str]:
    """The ids of all documents written up to `seq`, in order of writing."""
    query = select(documents.c.id).where(documents.c.corpus == corpus, documents.c.seq <= seq).order_by(documents.c.seq)
    return list(connection.execute(query).scalars())


def rows_of(connection: Connection, corpus: str, ids: Sequence[str]) -> list[StoredDocument]:
    """The documents of `corpus` with these ids, in no particular order."""
    query = select(documents).where(documents.c.corpus == corpus, documents.c.id.in_(ids))
    return [StoredDocument.of(row) for row in connection.execute(query).mappings()]


def rows_of_form(connection: Connection, corpus: str, form: str) -> list[StoredDocument]:
    """The documents of one form, in order of writing; those of earlier versions are not among them."""
    query = (
        select(documents).where(documents.c.corpus == corpus, documents.c.skeleton == form).order_by(documents.c.seq)
    )
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
