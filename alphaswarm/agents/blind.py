"""What of a candidate a language model is shown: its words and its evidence, and nothing that tells when or where.

A model may have read what happened to a company or in a year. So no date goes into a prompt, and tickers are known
to nobody who makes one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["ID_LENGTH", "QUOTED", "blind", "evidence_of", "quoted"]

QUOTED = 240
# Of a digest; enough to tell the trials of a workspace apart.
ID_LENGTH = 12
EVIDENCE = ("evidence_z", "rank_ic", "rank_ic_t", "turnover", "coverage", "breakeven_bp")
_DATE = re.compile(r"\b(?:19|20)[0-9]{2}(?:[-/.]?[0-9]{1,2}){0,2}\b")


def evidence_of(candidate: Mapping[str, Any]) -> dict[str, Any]:
    """What a model may know of a candidate: its words, and its evidence on the search window."""
    metrics = candidate.get("metrics") or {}
    shown: dict[str, Any] = {}
    if candidate.get("digest"):
        shown["id"] = str(candidate["digest"])[:ID_LENGTH]
    shown["expression"] = str(candidate.get("expression") or candidate.get("text", ""))[:QUOTED]
    for name in ("hypothesis", "critique", "error"):
        if candidate.get(name):
            shown[name] = blind(str(candidate[name]))[:QUOTED]
    if candidate.get("sign"):
        shown["expected_sign"] = candidate["sign"]
    return shown | _figures(metrics)


def quoted(text: str, length: int = QUOTED) -> str:
    """Another's text as one line of JSON, cut, without dates."""
    return json.dumps(blind(text)[:length])


def blind(text: str) -> str:
    """The text without its dates and years."""
    return _DATE.sub("[date]", text)


def _figures(values: Mapping[str, Any]) -> dict[str, float]:
    found = {name: values.get(name) for name in EVIDENCE}
    return {name: round(value, 4 if name == "rank_ic" else 2) for name, value in found.items() if value is not None}
