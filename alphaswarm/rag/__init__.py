"""Memory of what was tried: documents in the store, and an index that finds them again."""

from alphaswarm.rag.orders import CORPORA, NOT_JUDGED, TRUST, Corpus, Document, quoted
from alphaswarm.rag.retrieve import Found, Memory, QueryResult

__all__ = ["CORPORA", "NOT_JUDGED", "TRUST", "Corpus", "Document", "Found", "Memory", "QueryResult", "quoted"]
