"""Memory of what was tried: documents in the store, and an index that finds them again."""

from alphaswarm.rag.orders import CORPORA, Corpus, Document
from alphaswarm.rag.retrieve import Found, Memory, QueryResult

__all__ = ["CORPORA", "Corpus", "Document", "Found", "Memory", "QueryResult"]
