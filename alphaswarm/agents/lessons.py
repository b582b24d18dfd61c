"""What earlier runs taught, told apart from documents of the memory: works, fails, crowded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["LESSON_STATUSES", "lessons_of"]

# Asked of the memory once a run, each about all data of the panel; None asks for whatever is there.
LESSON_STATUSES = ("confirmed", "redundant", "rejected", None)
LESSONS_OF_A_KIND = 4
# Above the floor of every hurdle something may be there; under this |z| chance gives as much.
WORKS_Z, FAILS_Z = 3.0, 2.0
MAX_TEXT = 300
# Words of a verdict, in this order: "unconfirmed" holds "confirmed".
WORDS = (
    ("crowded", ("redundant", "crowded")),
    ("fails", ("unconfirmed", "rejected", "withheld")),
    ("works", ("confirmed",)),
)


def lessons_of(found: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Lessons from answers of the memory, a few of each kind, each expression once, in the order of the answers.

    A verdict decides what a document teaches; where none was given, the evidence on the search window does. What is
    neither strong nor weak teaches nothing.

    Args:
        found: documents with `expression`, `digest`, `verdict` and `summary`; untrusted data, quoted where shown.

    Returns:
        Records ``{kind, expression, digest, text, evidence_z, verdict}``.
    """
    kept: dict[str, dict[str, Any]] = {}
    counts = {kind: 0 for kind, _ in WORDS}
    for document in found:
        expression, digest = _text(document.get("expression")), _text(document.get("digest"))
        summary = document.get("summary")
        figures: Mapping[str, Any] = summary if isinstance(summary, Mapping) else {}
        z, verdict = _strength(figures), _text(document.get("verdict"))
        kind = _kind(verdict, z)
        if not expression or not digest or digest in kept or not kind or counts[kind] == LESSONS_OF_A_KIND:
            continue
        counts[kind] += 1
        said = _text(figures.get("critique")) or _text(document.get("text"))
        lesson = {"kind": kind, "expression": expression, "digest": digest, "text": said, "verdict": verdict}
        kept[digest] = lesson | ({} if z is None else {"evidence_z": z})
    return list(kept.values())


def _kind(verdict: str, z: float | None) -> str:
    # Only the first word or two name the status; the sentence after it may speak of others.
    status = verdict.lower()[:40]
    for kind, words in WORDS:
        if any(word in status for word in words):
            return kind
    if z is None:
        return ""
    return "works" if abs(z) >= WORKS_Z else "fails" if abs(z) < FAILS_Z else ""


def _strength(figures: Mapping[str, Any]) -> float | None:
    for name in ("evidence_z", "rank_ic_t"):
        value = figures.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    return None


def _text(value: Any) -> str:
    return value[:MAX_TEXT] if isinstance(value, str) else ""
