"""Vectors without a model: hashed structure of an expression beside hashed words of its text.

Feature hashing after Weinberger et al., "Feature hashing for large scale multitask learning"
(ICML 2009): each token adds a signed weight at two places that its own hash gives. The same input
gives the same vector on every machine, nothing is downloaded, and a formula and its negation
lie apart, which they do not for a language model's embedding of the formula text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from alphaswarm.dsl.expr import Expr

__all__ = [
    "EMBEDDER",
    "STRUCTURE_SIZE",
    "VECTOR_SIZE",
    "embed",
    "embed_question",
    "names",
    "prose",
    "spans",
    "structure_tokens",
    "word_tokens",
]

EMBEDDER = "ast-words-2"  # part of the index's name: another id never meets these vectors
STRUCTURE_SIZE = 768
WORDS_SIZE = 256
VECTOR_SIZE = STRUCTURE_SIZE + WORDS_SIZE
BLOCK = math.sqrt(0.5)  # the length of each block, so that a whole vector has length one

MAX_WORDS = 600
_UNORDERED = frozenset({"add", "mul", "eq", "ne", "and", "or", "max", "min"})
_STOP = frozenset(
    {"a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "in", "is", "it", "of", "on", "or", "over"}
    | {"that", "the", "this", "to", "which", "with"}
)
# What operators are called in prose; other names speak for themselves once split at "_".
_PROSE = {
    "abs": "absolute magnitude",
    "adv": "average dollar volume liquidity",
    "argmax": "days since highest peak",
    "argmin": "days since lowest bottom",
    "beta": "market sensitivity systematic",
    "cap": "company size capitalisation",
    "cs": "cross section",
    "close": "price",
    "corr": "correlation relation together",
    "cov": "covariance",
    "decay": "smooth recent weighted",
    "delay": "lag past earlier",
    "delta": "change difference momentum",
    "ema": "exponential moving average smooth",
    "high": "price top",
    "industry": "peers",
    "kurt": "kurtosis tail",
    "low": "price bottom",
    "mad": "deviation dispersion",
    "max": "highest",
    "mean": "average moving",
    "min": "lowest",
    "neutralize": "relative neutral within peers",
    "open": "price",
    "pct": "percent return",
    "rank": "ordering",
    "returns": "return performance gain",
    "sector": "industry peers",
    "resid": "residual unexplained",
    "skew": "skewness asymmetry lottery",
    "std": "volatility risk deviation",
    "sum": "cumulative total",
    "var": "variance volatility",
    "volume": "trading activity shares traded",
    "vwap": "price",
    "zscore": "standardised unusual normal",
}
# What windows of about so many trading days are called.
_SPANS = (
    (1, 1, "one day yesterday"),
    (2, 3, "few days"),
    (4, 6, "week"),
    (8, 12, "two weeks fortnight"),
    (18, 24, "month"),
    (38, 46, "two months"),
    (55, 70, "three months quarter"),
    (110, 140, "six months half year"),
    (230, 270, "twelve months year"),
    (480, 520, "two years"),
)


def embed(expression: Expr | None, text: str) -> NDArray[np.float32]:
    """A document's vector, float32 [VECTOR_SIZE]; its words include the names of the expression."""
    words = list(word_tokens(text))
    if expression is None:
        return _vector((), words)
    words += [(token, weight / 2) for token, weight in word_tokens(prose(expression))]
    return _vector(structure_tokens(expression), words)


def embed_question(expression: Expr | None, text: str) -> NDArray[np.float32]:
    """A question's vector: the structure of an expression and the words of a text, nothing added."""
    return _vector(() if expression is None else structure_tokens(expression), word_tokens(text))


def structure_tokens(expression: Expr) -> Iterator[tuple[str, float]]:
    """Names, edges, paths of three, shapes of subtrees and sizes of windows, each with a weight.

    Arguments of operators that commute carry no position.
    """
    yield f"root {_label(expression)}", 2.0
    for argument in expression.args:
        yield f"root {_label(expression)} {_label(argument)}", 1.0
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        waiting.extend(node.args)
        label = _label(node)
        yield label, 1.0
        if node.kind != "call":
            continue
        yield f"shape {_shape(node)}", 1.0
        for name, value in node.options:
            yield f"{label} {name} {value:g}", 0.3
        for place, child in _places(node):
            edge = f"{label} {place} {_label(child)}"
            yield edge, 1.0
            if child.kind == "number":
                yield f"{label} {place} = {child.value:g}", 0.3
                yield f"{label} {place} ~ {_size(child.value)}", 0.5
            for below, grandchild in _places(child):
                yield f"{edge} {below} {_label(grandchild)}", 0.7


def word_tokens(text: str) -> Iterator[tuple[str, float]]:
    """Words, word pairs and five-letter beginnings (so that reversal meets reverting)."""
    words = [word for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _STOP][:MAX_WORDS]
    before = ""
    for word in words:
        stem = word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
        yield stem, 1.0
        if len(stem) > 5:
            yield f"{stem[:5]}-", 0.7
        if before:
            yield f"{before} {stem}", 0.5
        before = stem


def names(expression: Expr) -> list[str]:
    """The operators, fields and groups of an expression, each once, from the root down."""
    seen: dict[str, None] = {}
    waiting = [expression]
    while waiting:
        node = waiting.pop()
        waiting.extend(reversed(node.args))
        if node.kind != "number":
            seen[node.op or node.name] = None
    return list(seen)


def prose(expression: Expr) -> str:
    """The names of an expression as words, and what its windows are called, each once."""
    words: dict[str, None] = {}
    for name in names(expression):
        for part in name.split("_"):
            words[part] = None
            words.update(dict.fromkeys(_PROSE.get(part, "").split()))
    words.update(dict.fromkeys(" ".join(spans(expression)).split()))
    return " ".join(words)


def spans(expression: Expr) -> list[str]:
    """What people call the windows of an expression, such as "month" for 21 days; the longest first."""
    windows = {node.args[-1].value for node in expression.walk() if node.args and node.args[-1].kind == "number"}
    called = []
    for days in sorted(windows, reverse=True):
        called += [name for least, most, name in _SPANS if least <= days <= most]
    return called


def _vector(structure: Iterable[tuple[str, float]], words: Iterable[tuple[str, float]]) -> NDArray[np.float32]:
    """A block for the structure, one for the words; one without tokens is zero."""
    vector = np.zeros(VECTOR_SIZE)
    _fill(vector[:STRUCTURE_SIZE], structure)
    _fill(vector[STRUCTURE_SIZE:], words)
    return vector.astype(np.float32)


def _fill(block: NDArray[np.float64], tokens: Iterable[tuple[str, float]]) -> None:
    total: dict[str, float] = {}
    for token, weight in tokens:
        total[token] = total.get(token, 0.0) + weight
    for token, weight in total.items():
        for place, sign in _hashed(token, block.size):
            block[place] += sign * math.log1p(weight)  # the tenth repetition says less than the first
    length = math.sqrt(math.fsum(block * block))
    if length > 0.0:
        block *= BLOCK / length


@lru_cache(maxsize=65_536)
def _hashed(token: str, size: int) -> tuple[tuple[int, float], tuple[int, float]]:
    # Two places each: two tokens that share one are still told apart by the other.
    key = hashlib.blake2b(token.encode("utf-8", "replace"), digest_size=8).digest()
    one, other = int.from_bytes(key[:4], "little"), int.from_bytes(key[4:], "little")
    return ((one >> 1) % size, 1.0 - 2.0 * (one & 1)), ((other >> 1) % size, 1.0 - 2.0 * (other & 1))


def _label(node: Expr) -> str:
    if node.kind == "number":
        return "#"
    return node.op if node.kind == "call" else f"{node.kind}:{node.name}"


def _places(node: Expr) -> Iterator[tuple[str, Expr]]:
    for place, child in enumerate(node.args):
        yield ("*" if node.op in _UNORDERED else str(place)), child


def _size(value: float) -> str:
    return f"{'-' if value < 0 else ''}{round(2 * math.log2(abs(value))) if value else 0}"


def _shape(node: Expr) -> str:
    """The subtree without its numbers, to a depth of three."""
    return _shape_to(node, 3)


def _shape_to(node: Expr, depth: int) -> str:
    if depth == 0 or not node.args:
        return _label(node)
    parts = [_shape_to(child, depth - 1) for child in node.args]
    return f"{node.op}({','.join(sorted(parts) if node.op in _UNORDERED else parts)})"
