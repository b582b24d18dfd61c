"""Reading what a model wrote: it may be anything, and nothing in it is believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["first_object", "plain"]

TRIES = 20


def first_object(text: str, key: str) -> Mapping[str, Any] | None:
    """The first JSON object in `text` that has `key`, whatever stands around it; else the first of any kind."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    first: Mapping[str, Any] | None = None
    for _ in range(TRIES):
        if place < 0:
            break
        try:
            value, _ = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            if key in value:
                return value
            first = first or value
        place = text.find("{", place + 1)
    return first


def plain(value: object, length: int) -> str:
    """Printable text on one line, cut; empty where it is no text."""
    said = value if isinstance(value, str) else ""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in said).split())[:length]
