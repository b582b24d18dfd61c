"""Which proposer a run gets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from alphaswarm.agents.proposers import hybrid, llm, random, search  # noqa: F401 - they enter the register
from alphaswarm.agents.proposers.base import PROPOSERS, Proposer
from alphaswarm.core.errors import UnknownName

__all__ = ["make_proposer", "resolve_proposer"]

CONFIGURED = ("ALPHASWARM_LLM_BASE_URL", "ALPHASWARM_LLM_MODEL", "ALPHASWARM_LLM_API_KEY")


def resolve_proposer(name: str, environ: Mapping[str, str]) -> str:
    """The name of a proposer, with ``auto`` decided by the settings.

    ``auto`` is ``llm`` when one of the package's own model settings is there, else ``search``. A lone
    ``OPENAI_API_KEY`` does not count: it may be there for another program, and its owner pays.

    Raises:
        UnknownName: there is no such proposer.
    """
    if name == "auto":
        return "llm" if any(environ.get(key) for key in CONFIGURED) else "search"
    if name not in PROPOSERS:
        raise UnknownName.of("proposer", name, ["auto", *PROPOSERS])
    return name


def make_proposer(name: str, environ: Mapping[str, str], directory: Path) -> Proposer:
    """The proposer called `name` (or ``auto``).

    Args:
        name: as in `resolve_proposer`.
        environ: of the process, for its settings.
        directory: of the run; what the proposer keeps lies there.

    Raises:
        UnknownName: there is no such proposer.
    """
    return PROPOSERS[resolve_proposer(name, environ)](environ, directory)
