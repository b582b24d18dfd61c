"""Where candidates come from: a language model, a genetic search, or chance."""

from alphaswarm.agents.proposers.base import PROPOSERS, Proposal, ProposalRequest, Proposer
from alphaswarm.agents.proposers.choose import make_proposer, resolve_proposer

__all__ = ["PROPOSERS", "Proposal", "ProposalRequest", "Proposer", "make_proposer", "resolve_proposer"]
