"""The state of a run: plain JSON, so that any checkpoint can be read without running code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

__all__ = ["Candidate", "RunState", "strength"]


class Candidate(TypedDict, total=False):
    """One proposal on its way through a round, and in the history afterwards.

    `status` goes from proposed over valid to evaluated or refused (too little to measure), or ends as
    failed (no expression came), invalid (no expression of the language) or duplicate (had already).
    """

    round: int
    text: str
    rationale: str
    source: str
    parents: list[str]
    status: str
    # said by proposers that say more than a formula
    hypothesis: str
    sign: int
    horizon: int
    refines: str
    program: str
    # from validation
    expression: str
    digest: str
    error: str
    nearest: dict[str, Any]
    # from evaluation
    id: str
    new: bool
    metrics: dict[str, Any]
    warnings: list[str]
    # from the critic
    critique: str
    advice: str


class RunState(TypedDict, total=False):
    """What the nodes pass on.

    `batch` is the present round, `candidates` the finished ones; `approval` is "yes" or "no" once a person said so.
    """

    config: dict[str, Any]
    facts: dict[str, Any]
    round: int
    memory: list[dict[str, Any]]
    lessons: list[dict[str, Any]]
    batch: list[Candidate]
    candidates: list[Candidate]
    seen: list[str]
    counts: dict[str, int]
    spent: dict[str, float]
    stale: int
    advice: str
    outcome: str
    message: str
    approval: str


def strength(metrics: Mapping[str, Any] | None) -> float | None:
    """The signed z-value that a search goes by: of the evidence on residual returns, else the t of the RankIC."""
    found = metrics or {}
    z: float | None = found.get("rank_ic_t") if found.get("evidence_z") is None else found["evidence_z"]
    return z
