"""Typical forms: always expressions, over the panel's fields only."""

from __future__ import annotations

import pytest

from alphaswarm.agents.proposers.ideas import combined, fresh_idea
from alphaswarm.core import make_rng
from alphaswarm.dsl import parse


@pytest.mark.parametrize(
    "fields",
    [
        ("close", "dollar_volume", "returns", "sigma"),
        ("close", "high", "low", "open", "volume"),
        ("returns",),
        ("volume",),
        ("pe_ratio", "sentiment"),
    ],
)
def test_ideas_are_expressions_of_the_panel(fields: tuple[str, ...]) -> None:
    rng = make_rng(1, "ideas")
    offered = set(fields) | ({"returns"} if "close" in fields else set())
    seen = set()
    for _ in range(300):
        idea = parse(fresh_idea(rng, fields))
        assert set(idea.fields) <= offered
        assert idea.warmup <= 130
        text, how = combined(str(idea), rng, fields, ("sector",))
        assert how
        together = parse(text)
        assert set(together.fields) <= offered
        seen |= {idea.digest, together.digest}
    assert len(seen) > 60


def test_groups_are_used_only_where_there_are_any() -> None:
    rng = make_rng(1, "groups")
    used = [parse(combined("-returns", rng, ("returns",), groups)[0]).groups for groups in ((), ("sector",)) * 100]
    assert not any(used[::2])
    assert any(used[1::2])
