"""Other windows and constants of what is strongest."""

from __future__ import annotations

from typing import Any

import pytest

from alphaswarm.agents import ProposalRequest
from alphaswarm.agents.proposers.refine import neighbours, refine
from alphaswarm.agents.proposers.surrogate import SAME_IDEA
from alphaswarm.dsl import parse
from alphaswarm.dsl.behaviour import behaviour

FIELDS = ("close", "returns", "volume")


def request(*formulas: tuple[str, float], **more: Any) -> ProposalRequest:
    history = []
    for text, t in formulas:
        parsed = parse(text)
        history.append({"text": text, "expression": str(parsed), "digest": parsed.digest, "metrics": {"evidence_z": t}})
    basis = {"seed": 1, "round": 3, "count": 5, "fields": FIELDS, "groups": ("sector",), "rows": 1500, "horizon": 5}
    return ProposalRequest(**(basis | {"history": tuple(history)} | more))


def test_neighbours_differ_in_one_literal() -> None:
    found = [str(one) for one in neighbours(parse("ts_sum(delay(returns, 3), 10)"))]
    assert found == [
        *(f"ts_sum(delay(returns, {d}), 10)" for d in (2, 4, 6)),
        *(f"ts_sum(delay(returns, 3), {d})" for d in (5, 7, 14, 20)),
    ]
    assert [str(one) for one in neighbours(parse("cs_winsorize(returns, 0.1)"))] == [
        "cs_winsorize(returns, 0.05)",
        "cs_winsorize(returns, 0.2)",
    ]
    assert neighbours(parse("cs_rank(close)")) == []


def test_what_the_language_refuses_is_left_out() -> None:
    assert all(one.args[1].value >= 3 for one in neighbours(parse("ts_skew(returns, 4)")))
    assert all(one.args[1].value <= 504 for one in neighbours(parse("ts_mean(returns, 400)")))


def test_options_stay() -> None:
    assert all("min_obs=3" in str(one) for one in neighbours(parse("ts_mean(returns, 20, min_obs=3)")))


def test_what_evidence_says_most_for_comes_first() -> None:
    """The longer window was worth more: so look at longer ones."""
    longer = refine(request(("ts_std(returns, 10)", 2.0), ("ts_std(returns, 20)", 5.0), ("ts_mean(volume, 7)", 0.1)), 2)
    shorter = refine(
        request(("ts_std(returns, 10)", 5.0), ("ts_std(returns, 20)", 2.0), ("ts_mean(volume, 7)", 0.1)), 2
    )
    windows = [[parse(one.expression).args[1].value for one in made] for made in (longer, shorter)]
    assert windows[0][0] > 20
    assert windows[1][0] < 10


def test_children_are_new_and_name_their_parent() -> None:
    asked = request(("ts_corr(returns, volume, 10)", 5.0), ("-ts_sum(returns, 20)", -4.0), ("ts_mean(close, 9)", 0.1))
    made = refine(asked, 5)
    assert made
    assert refine(asked, 5) == made
    digests = {candidate["digest"] for candidate in asked.history}
    for one in made:
        assert one.source == "refine"
        assert one.parents == (one.refines,)
        assert one.refines in digests
    vectors = behaviour(
        [parse(text) for text in [*(c["expression"] for c in asked.history), *(one.expression for one in made)]],
        FIELDS,
        ("sector",),
    )
    likeness = abs(vectors @ vectors.T)
    for place in range(3, len(vectors)):
        assert likeness[place, :place].max() < SAME_IDEA


@pytest.mark.parametrize("formulas", [(), (("cs_rank(close)", 5.0),), (("ts_std(returns, 20)", 3.0),)])
def test_where_there_is_nothing_to_refine(formulas: tuple[tuple[str, float], ...]) -> None:
    assert refine(request(*formulas), 5) == []


def test_a_short_panel_keeps_windows_short() -> None:
    made = refine(request(("ts_std(returns, 20)", 5.0), rows=100), 5)
    assert made
    assert all(parse(one.expression).warmup <= 25 for one in made)
