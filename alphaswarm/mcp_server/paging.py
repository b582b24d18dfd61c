"""Answers that fit: clients cut off long tool results, and models pay for every byte."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

__all__ = ["MAX_ANSWER", "cut", "size"]

T = TypeVar("T")
# Bytes of JSON in one answer, leaving room for what stands around the list.
MAX_ANSWER = 7_000


def size(value: Any) -> int:
    """Bytes of `value` as JSON."""
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def cut(items: Sequence[T], limit: int, offset: int, room: int = MAX_ANSWER) -> tuple[list[T], str]:
    """As many items from `offset` on as `limit` and `room` allow, at least one, and how to get the rest.

    Returns:
        (items, note); the note is empty when nothing is left.
    """
    shown: list[T] = []
    used = 0
    for item in items[offset : offset + limit]:
        used += size(item) + 1
        if shown and used > room:
            break
        shown.append(item)
    end = offset + len(shown)
    if offset >= len(items) > 0:
        return shown, f"offset {offset} is past the last of {len(items)}"
    if end < len(items):
        return shown, f"{offset + 1} to {end} of {len(items)} shown; offset={end} gives the next"
    return shown, ""
