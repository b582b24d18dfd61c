"""What the memory is asked to keep: its corpora, what may enter each, and the one shape of a document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any

from alphaswarm.core import DataInvalid, UnknownName, canonical_json

__all__ = ["CORPORA", "NOT_JUDGED", "TRUST", "Corpus", "Document", "check_day", "corpus_of", "quoted"]

MAX_TEXT = 8_000
MAX_SUMMARY = 64_000
"""Bytes of a summary as canonical JSON."""
MAX_QUOTE = 240
TRUST = "untrusted"
"""The label of every text in a document, whoever wrote it: data to be read, never an instruction."""
NOT_JUDGED = "search evidence only, not judged"

# What was computed on these windows is sealed: of them only a verdict may be told.
SEALED = frozenset({"selection", "vault"})
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_KEY = re.compile(r"[a-z0-9][a-z0-9_.]{0,63}")
_UNSHOWN = re.compile(r"[\x00-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]+")
_KINDS: Mapping[str, type | tuple[type, ...]] = MappingProxyType(
    {"panel": str, "universe": str, "window": str, "fill": str, "horizon": int, "judged_as_of": str}
)


@dataclass(frozen=True, slots=True)
class Corpus:
    """A named set of documents.

    Attributes:
        name: how it is asked for.
        holds: what one document is.
        known_from: what a document's `as_of` means here.
        enters: what may become one.
        summary: the keys of a summary that this corpus is read by, and what each says.
    """

    name: str
    holds: str
    known_from: str
    enters: str
    summary: Mapping[str, str]


# In every corpus.
_WHERE = {
    "panel": "name of the panel",
    "universe": "the data behind the panel, whatever its name: the first panel that held most of its cells",
    "horizon": "rows of the label, or that weights were held",
    "window": "on which it was measured",
}

CORPORA: Mapping[str, Corpus] = MappingProxyType(
    {
        corpus.name: corpus
        for corpus in (
            Corpus(
                "alpha_factors",
                "one evaluated expression on one panel, with its evidence and what was said about it",
                "the last date whose prices the evidence used",
                "trials that were measured; no refused or invalid text, no number of a sealed window",
                MappingProxyType(
                    _WHERE
                    | {
                        "fill": "when what is decided is traded",
                        "evidence_z": "of the residual evidence on the search window",
                        "rank_ic_t": "of the RankIC on the search window",
                        "turnover": "per day, both sides",
                        "rationale": "why it was tried, in its author's words",
                        "critique": "what the result taught",
                        "source": "who or what proposed it",
                        "judged_as_of": "last market date behind the verdict",
                    }
                ),
            ),
            Corpus(
                "backtest_summaries",
                "one backtest of an expression, the pool, a weights file or a baseline, with its metrics",
                "the last date that the backtest traded or marked",
                "backtests on the search window, each once",
                MappingProxyType(_WHERE | {"engine": "what traded", "cost_bp": "per traded dollar", "kind": "of what"}),
            ),
            Corpus(
                "rl_trajectory_summaries",
                "one training or evaluation trajectory of a policy",
                "the last date that the trajectory saw",
                "trajectories on the search window, as figures and words; never observations or weights",
                MappingProxyType(_WHERE | {"algorithm": "how it learned", "reward": "mean of an episode"}),
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
        verdict: what may be said of it, in a few words; one that was judged begins with its status and a colon.
        as_of: last market date (YYYY-MM-DD) of its evidence, None when unknown.
        summary: plain JSON, finite numbers or None; see `Corpus.summary`. ``judged_as_of`` is the last market
            date behind the verdict: whoever asks as of an earlier day is not told it.

    Raises:
        DataInvalid: a text that is too long or no Unicode, a date of another form, NaN, a number of a sealed window.
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
        _check_summary(self.summary)

    @property
    def status(self) -> str:
        """The first word or words of the verdict, by which documents are filtered; "not judged" where there is none."""
        head, colon, _ = self.verdict.partition(":")
        return head if colon else "not judged"


def quoted(text: str, most: int = MAX_QUOTE) -> str:
    """`text` as it may stand in an answer: one line between angle quotes that it can't close, cut to `most` characters.

    Signs that are not shown (control, direction, zero width) are left out, so that what is read is what is there.
    """
    line = " ".join(_UNSHOWN.sub(" ", text).split()).replace("«", "<").replace("»", ">").replace("`", "'")
    return f"«{line if len(line) <= most else line[: most - 1] + '…'}»"


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


def _check_summary(summary: Mapping[str, Any]) -> None:
    for name, value in summary.items():
        if not isinstance(name, str) or not _KEY.fullmatch(name):
            raise DataInvalid(f"a key of a summary must be a short name in small letters, got {name!r}")
        kind = _KINDS.get(name)
        if kind is not None and value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            raise DataInvalid(f"a summary's {name} must be of type {getattr(kind, '__name__', kind)}, got {value!r}")
    if summary.get("window") in SEALED:
        raise DataInvalid(f"numbers of the {summary['window']} window are sealed and can't be remembered")
    if summary.get("judged_as_of") is not None:
        check_day(summary["judged_as_of"])
    size = len(canonical_json(dict(summary)))
    if size > MAX_SUMMARY:
        raise DataInvalid(f"a document's summary must have at most {MAX_SUMMARY} bytes, got {size}")
