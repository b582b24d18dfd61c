"""The value that a search goes by."""

from __future__ import annotations

from alphaswarm.agents.state import strength


def test_evidence_goes_before_the_rank_ic() -> None:
    assert strength({"evidence_z": -2.0, "rank_ic_t": 5.0}) == -2.0
    assert strength({"evidence_z": None, "rank_ic_t": 5.0}) == 5.0
    assert strength({"rank_ic_t": None}) is None
    assert strength(None) is None
