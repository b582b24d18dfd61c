"""AlphaResearcher: proposes, evaluates, criticises and remembers factors, as an MCP client only."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

# Before the graph library is loaded: its checkpoints may then hold plain values only.
os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")

if TYPE_CHECKING:
    from alphaswarm.agents.proposers import Proposal, ProposalRequest, Proposer, make_proposer, resolve_proposer
    from alphaswarm.agents.researcher import AlphaResearcher
    from alphaswarm.agents.tools import connected

__all__ = [
    "AlphaResearcher",
    "Proposal",
    "ProposalRequest",
    "Proposer",
    "connected",
    "make_proposer",
    "resolve_proposer",
]


def __getattr__(name: str) -> Any:
    """Load on first use: the graph library takes a moment."""
    if name == "AlphaResearcher":
        from alphaswarm.agents.researcher import AlphaResearcher

        return AlphaResearcher
    if name == "connected":
        from alphaswarm.agents.tools import connected

        return connected
    if name in __all__:
        from alphaswarm.agents import proposers

        return getattr(proposers, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
