"""What the memory is asked to keep: its corpora, and the one shape of a document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any

from alphaswarm.core import DataInvalid, UnknownName, canonical_json

__all__ = ["CORPORA", "Corpus", "Document", "corpus_of"]

MAX_TEXT = 8_000
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Corpus:
    """A named set of documents.

    Attributes:
        name: how it is asked for.
        holds: what one document is.
        known_from: what a document's `as_of` means here.
    """

    name: str
    holds: str
    known_from: str


CORPORA: Mapping[str, Corpus] = MappingProxyType(
    {
        corpus.name: corpus
        for corpus in (
            Corpus(
                "alpha_factors",
                "one evaluated expression on one panel, with its evidence and what was said about it",
                "the last date whose prices the evidence used",
            ),
            Corpus(
                "backtest_summaries",
                "one backtest of an expression, the pool, a weights file or a baseline, with its metrics",
                "the last date that the backtest traded or marked",
            ),
            Corpus(
                "rl_trajectory_summaries",
                "one training or evaluation trajectory of a policy",
                "the last date that the trajectory saw",
            ),
        )
    }
)


def corpus_of(name: str) -> Corpus:
    """The corpus called `name`, or `UnknownName`."""
    if name not in CORPORA:
        raise UnknownName.of("corpus", name, CORPORA)
    return CORPORA[name]


@dataclass(frozen=True, slots=True)
class Document:
    """What is remembered. Its texts are data: kept and given back as they are, never obeyed.

    Attributes:
        corpus: a name of `CORPORA`.
        id: unique in its corpus; remembering the same id again replaces the document.
        expression: canonical text, "" where a document has none.
        digest: hash of the canonical expression, "" where there is none.
        text: words to find it by, such as rationale and critique.
        verdict: what may be said of it, in a few words.
        as_of: last market date (YYYY-MM-DD) of its evidence, None when unknown.
        summary: plain JSON, finite numbers or None.

    Raises:
        DataInvalid: a text that is too long or no Unicode, a date of another form, NaN.
        UnknownName: no such corpus.
    """

    corpus: str
    id: str
    expression: str = ""
    digest: str = ""
    text: str = ""
    verdict: str = ""
    as_of: str | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        corpus_of(self.corpus)
        if not self.id:
            raise DataInvalid("a document needs an id, got an empty text")
        for name in ("id", "expression", "digest", "text", "verdict"):
            _check_text(name, getattr(self, name))
        if self.as_of is not None:
            check_day(self.as_of)
        canonical_json(dict(self.summary))


def check_day(text: str) -> str:
    """`text` if it is a calendar date YYYY-MM-DD, else `DataInvalid`."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text).isoformat()
    except ValueError:
        pass
    raise DataInvalid(f"a date must look like 2012-12-31, got {text!r}")


def _check_text(name: str, text: str) -> None:
    if len(text) > MAX_TEXT:
        raise DataInvalid(f"a document's {name} must have at most {MAX_TEXT} characters, got {len(text)}")
    if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise DataInvalid(f"a document's {name} must be Unicode text without null characters, got {text[:40]!r}")
