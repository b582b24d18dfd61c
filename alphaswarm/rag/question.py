"""`Question`: a query read as an expression, as words, or as both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import AlphaSwarmError
from alphaswarm.dsl import canonical, parse
from alphaswarm.dsl.expr import Expr
from alphaswarm.rag.embed import BLOCK, STRUCTURE_SIZE, embed_question, names, prose, word_tokens
from alphaswarm.rag.exact import Side
from alphaswarm.rag.keys import question_terms, skeleton, unscaled
from alphaswarm.rag.orders import Document
from alphaswarm.rag.store import expression_of

if TYPE_CHECKING:
    from alphaswarm.rag.embedder import Embedder
    from alphaswarm.rag.shelf import Shelf

__all__ = ["EXACT", "Question"]

EXACT = "digest"
_DIALECTS = ("native", "worldquant", "qlib")
MAX_SHARED = 8


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        expression: canonical; None where the text is none.
        words: what is to be compared with words; "" where a formula leaves nothing to be.
        terms: hashed terms of the words.
        embedder: what makes text vectors.
        structure: vector of the expression, of length one or zero.
        text: vector of the words, of length one or zero.
    """

    expression: Expr | None
    words: str
    terms: NDArray[np.uint32]
    embedder: Embedder
    structure: NDArray[np.float32]
    text: NDArray[np.float32]

    @classmethod
    def of(cls, text: str, embedder: Embedder) -> Question:
        """Read a text; a formula may be written in any dialect."""
        expression = _read(text)
        # "mean-reversion" is also a difference of two fields: without a bracket, ask both ways.
        words = "" if expression is not None and any(sign in text for sign in "($") else _plain(text)
        return cls(
            expression,
            words,
            question_terms(words),
            embedder,
            embed_question(expression, "")[:STRUCTURE_SIZE] / np.float32(BLOCK),
            embedder.question(words) if words else np.zeros(embedder.text_size, np.float32),
        )

    @property
    def sides(self) -> tuple[Side, ...]:
        """The vectors that say something."""
        sides: list[Side] = []
        if self.expression is not None:
            sides.append("structure")
        if self.text.any():
            sides.append("text")
        return tuple(sides)

    @property
    def keys(self) -> tuple[str, ...]:
        """What can find an answer."""
        formula = () if self.expression is None else (EXACT, "skeleton", "structure")
        return (*formula, *(("text",) if self.text.any() else ()), *(("words",) if self.terms.size else ()))

    def vector(self, side: Side) -> NDArray[np.float32]:
        """The vector of one side."""
        return self.structure if side == "structure" else self.text

    def same(self, shelf: Shelf) -> list[int]:
        """Places of documents of the same canonical expression."""
        return [] if self.expression is None else shelf.with_digest(self.expression.digest)

    def alike(self, shelf: Shelf) -> list[int]:
        """Places of documents of the same form."""
        return [] if self.expression is None else shelf.with_skeleton(skeleton(self.expression))

    def shared(self, document: Document) -> str:
        """What question and document have in common, in the question's order."""
        theirs = expression_of(document.expression)
        parts: list[str] = []
        if self.expression is not None and theirs is not None:
            if self.expression.digest == document.digest:
                return "the same canonical expression"
            if unscaled(self.expression) is unscaled(theirs):
                return "the same up to sign, scale or a constant"
            if skeleton(self.expression) == skeleton(theirs):
                return "the same form with other numbers"
            known = names(theirs)
            parts += [name for name in names(self.expression) if name in known]
        if self.words:
            said = document.text if theirs is None else f"{document.text} {prose(theirs)}"
            have = {token for token, weight in word_tokens(said) if weight >= 1.0}
            asked = dict.fromkeys(token for token, weight in word_tokens(self.words) if weight >= 1.0)
            parts += [token for token in asked if token in have and token not in parts]
        return f"shares {', '.join(parts[:MAX_SHARED])}" if parts else "shares no name or word; near by form or meaning"


def _read(text: str) -> Expr | None:
    """The first dialect in which the text is a formula; one that is a single name is a word."""
    if not text.isascii():
        return None
    for dialect in _DIALECTS:
        try:
            tree = canonical(parse(text, dialect))
        except AlphaSwarmError:
            continue
        if tree.kind == "call":
            return tree
    return None


def _plain(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
