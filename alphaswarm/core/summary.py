"""`Summary`: a result as canonical JSON whose key is its own hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from alphaswarm.core.errors import DataInvalid

__all__ = ["Summary", "canonical_json", "content_key"]


def canonical_json(value: Any) -> bytes:
    """UTF-8 JSON with sorted keys and no spaces: equal values give equal bytes.

    Raises:
        DataInvalid: NaN or infinity (write None and a reason), or a type JSON has not.
    """
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise DataInvalid(f"a summary must be finite plain JSON: {error}") from None
    return text.encode()


def content_key(value: Any) -> str:
    """sha256 of the canonical JSON of `value`: equal values have equal keys, in every process.

    Raises:
        DataInvalid: see `canonical_json`.
    """
    return hashlib.sha256(canonical_json(value)).hexdigest()


@dataclass(frozen=True)
class Summary:
    """What was computed, from what. Run ids, times and paths do not belong in `body`."""

    kind: str
    body: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        """Canonical bytes; the same in every process."""
        return canonical_json({"kind": self.kind, "body": dict(self.body)})

    @cached_property
    def digest(self) -> str:
        """sha256 of `to_bytes()`: the content key under which it is stored."""
        return hashlib.sha256(self.to_bytes()).hexdigest()
