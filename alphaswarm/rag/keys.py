"""Two keys of a document beside its digest and its vector: the skeleton of its expression, and its terms."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from alphaswarm.dsl import canonical
from alphaswarm.dsl.expr import Expr, call
from alphaswarm.dsl.words import in_words
from alphaswarm.rag.embed import prose, word_tokens

__all__ = ["document_terms", "question_terms", "skeleton", "spoken", "unscaled"]

# Operators that hand the sign of their first argument on, or only turn round the order that they give.
_ODD = frozenset(
    {"cs_demean", "cs_rank", "cs_rank01", "cs_scale", "cs_zscore", "decay_exp", "decay_linear", "delay", "delta", "ema"}
    | {"group_neutralize", "group_zscore", "sign", "sma_cn", "tanh"}
    | {"ts_mean", "ts_median", "ts_rank", "ts_sum", "ts_zscore"}
)
_SHIFTING = frozenset({"add", "sub"})
_SCALING = frozenset({"mul", "div"})


def skeleton(expression: Expr) -> str:
    """Key of the form of an expression: equal for those that differ in numbers, scale, shift or sign only; hex."""
    form = _form(unscaled(expression))
    return hashlib.sha256(f"form:{form}".encode()).hexdigest()[:32]


def unscaled(expression: Expr) -> Expr:
    """The canonical expression without what leaves the order of the names alone or turns it round.

    Factors, constants that are added and signs are taken away from the outside inwards, through operators that
    hand a sign on. ``2 - cs_rank(-close)`` and ``cs_rank(close)`` give the same.
    """
    node = canonical(expression)
    while True:
        inner = _without_outer(node)
        if inner is node:
            return node
        node = canonical(inner)


def document_terms(expression: Expr | None, text: str) -> NDArray[np.uint32]:
    """Hashed terms of a document, one entry for each time that it says one: of its text, names and windows.

    What was said counts twice, what only the names of the formula say once.
    """
    said = _hashed(text)
    return np.concatenate([said, said, _hashed("" if expression is None else prose(expression))])


def question_terms(text: str) -> NDArray[np.uint32]:
    """Hashed terms of a question, each once."""
    return np.unique(_hashed(text))


def spoken(expression: Expr | None, text: str) -> str:
    """What a language model is shown of a document: its text, the formula as a person would say it, and its names."""
    return text if expression is None else f"{text} {in_words(expression)}. {prose(expression)}".strip()


def _hashed(text: str) -> NDArray[np.uint32]:
    digests = [hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=4).digest() for term in _terms(text)]
    return np.frombuffer(b"".join(digests), "<u4").astype(np.uint32)


def _terms(text: str) -> Iterator[str]:
    # single words and their beginnings; pairs are for vectors, where they weigh less than what they are made of
    for token, weight in word_tokens(text):
        if weight >= 0.7:
            yield token


def _without_outer(node: Expr) -> Expr:
    if node.op == "neg":
        return node.args[0]
    if node.op in _SHIFTING | _SCALING:
        series = [arg for arg in node.args if arg.constant is None]
        divided = node.op == "div" and node.args[1].constant is None
        if len(series) == 1 and not divided:
            return series[0]
    if node.op in _ODD and node.args[0].op == "neg":
        return call(node.op, node.args[0].args[0], *node.args[1:], **dict(node.options))
    return node


def _form(expression: Expr) -> str:
    """The tree as text, each number as "#"; arguments of sums and products in order of their own text."""
    done: dict[Expr, str] = {}
    for node in expression.walk():
        if node.kind == "number":
            done[node] = "#"
        elif node.kind == "call":
            parts = [done[arg] for arg in node.args]
            if node.op in {"add", "mul", "max", "min", "and", "or", "eq", "ne"} or (
                node is expression and node.op == "sub"  # a difference turned round is the other sign
            ):
                parts.sort()
            done[node] = f"{node.op}({','.join(parts)})"
        else:
            done[node] = f"{node.kind}:{node.name}"
    return done[expression]
