"""`RunSpec`: what a run is asked to do, from a file, from a command line, or from both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from alphaswarm.core.errors import SpecInvalid
from alphaswarm.core.spec import load_spec

__all__ = ["RunSpec", "read_intents"]

MAX_INTENTS = 1_000
MAX_INTENT_BYTES = 1 << 20


class RunSpec(BaseModel):
    """One run. What it does not say has the default of the command line."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    intent: str = ""
    proposer: str = "auto"
    budget: int = Field(default=60, ge=1, le=1_000_000)
    panel: str | None = None
    horizon: int = Field(default=5, ge=1, le=252)
    seed: int = Field(default=0, ge=0, le=2**63 - 1)
    approve: bool = False
    mcp: str | None = None

    @classmethod
    def of(cls, path: Path | None, given: Mapping[str, Any]) -> RunSpec:
        """The spec in the file at `path`, if there is one, with what is `given` in its place.

        Raises:
            SpecInvalid: the file can't be read, or names or holds what there is not.
        """
        stated = {} if path is None else load_spec(path)
        try:
            return cls.model_validate({**stated, **given})
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"])) or "the spec"
            valid = ", ".join(cls.model_fields)
            raise SpecInvalid(f"{name}: {first['msg']}; a run's spec may set {valid}") from None


def read_intents(path: Path) -> list[str]:
    """The intents in a file, one a line; empty lines and those that begin with ``#`` say nothing.

    Raises:
        SpecInvalid: it can't be read, or holds none or too many.
    """
    try:
        if path.stat().st_size > MAX_INTENT_BYTES:
            raise SpecInvalid(f"{path.name} must have at most {MAX_INTENT_BYTES} bytes")
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecInvalid(f"the intents can't be read: {error}") from None
    intents = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not 1 <= len(intents) <= MAX_INTENTS:
        raise SpecInvalid(f"{path.name} must hold 1 to {MAX_INTENTS} intents, one a line, got {len(intents)}")
    return intents
