from __future__ import annotations

from typing import Any

import pytest

from alphaswarm.evaluation.gates import (
    BookFigures,
    GateResult,
    Thresholds,
    confirmation_gate,
    distinct_gate,
    economic_gates,
    search_gates,
    selection_gates,
)
from alphaswarm.evaluation.sharpe import SharpeMoments
from alphaswarm.evaluation.verdict import search_status, sentence

REAL: dict[str, Any] = {
    "ic": 0.02,
    "rank_ic": 0.03,
    "evidence": 0.02,
    "evidence_z": 5.25,
    "residual_rank_ic_t": 4.0,
    "ann_return": 0.1,
}


def gates(rows: int = 1500, **changed: Any) -> list[GateResult]:
    return search_gates({**REAL, **changed}, rows=rows, n_trials=60, synthetic=False)


def words(status: Any, found: list[GateResult], k: int | None = None, *, biased: bool = False) -> str:
    return sentence(status, found, n_trials=60, k=k, thresholds=Thresholds(), biased=biased)


@pytest.mark.parametrize(
    ("changed", "status", "said"),
    [
        ({"rows": 147}, "too short", "too short for a verdict: 147 rows in the search window, 504 are needed"),
        (
            {"evidence_z": None, "missing": {"evidence_z": "needs 252 rows of history"}},
            "too short",
            "too short for a verdict: needs 252 rows of history",
        ),
        ({"ic": 0.2, "evidence_z": 1.0}, "held", "held, leak alarm: a mean daily IC of 0.200 is more"),
        ({"evidence_z": -2.0, "ann_return": -1.0}, "rejected", "rejected: evidence z -2.00 is within reach of luck"),
        ({"ann_return": -0.1, "residual_rank_ic_t": 0.0}, "withheld", "verdict withheld, contradiction: RankIC +"),
        ({"residual_rank_ic_t": 1.0}, "rejected", "rejected: evidence z +5.25, but ranks on residual returns"),
        ({}, None, ""),
    ],
)
def test_what_search_alone_decides(changed: dict[str, Any], status: str | None, said: str) -> None:
    found = gates(**changed)
    assert search_status(found) == status
    if status is not None:
        assert words(status, found).startswith(said)


BOOK = BookFigures(3.0, 2.5, 20.0, 0.3, None, SharpeMoments(2.5 / 252**0.5, 1500, 0.0, 3.0))


def judged(book: BookFigures, t: float = 9.0, k: int = 4) -> list[GateResult]:
    economy = economic_gates(book, Thresholds(), n_trials=60, weight=0.01, capacity=1e6, likeness=None)
    return [*gates(), confirmation_gate(t, 1, k), *economy, *selection_gates(book, Thresholds())]


def test_what_the_selection_window_decides() -> None:
    lost = words("unconfirmed", [*gates(), confirmation_gate(0.0, 1, 1)], 1)
    assert lost == (
        "not confirmed: evidence z +5.25 beats the hurdle 3.34 of 60 trials, but it fails on rows that the search "
        "never saw (1 bet made there)"
    )
    real = "statistically real: evidence z +5.25 beats the hurdle 3.34 of 60 trials and holds on rows that the search"
    assert words("confirmed", judged(BOOK), 4) == f"{real} never saw (4 bets made there); tradable at 5 bp"
    assert words("confirmed", judged(BOOK), 4, biased=True).endswith("; tradable on a biased panel at 5 bp")
    thin = BookFigures(1.0, -0.5, 6.0, 0.3, None, None)
    assert words("confirmed", judged(thin), 4).endswith(
        "; not tradable at 5 bp: net Sharpe ratio -0.50 under 1, deflated Sharpe ratio undefined, break-even in bp "
        "6.00 under 7.5, break-even fails on the selection window, net result fails on the selection window"
    )


def test_who_is_crowded_out() -> None:
    alike = distinct_gate("cs_rank(close)", 0.91, kept=False)
    said = "not sent to the selection window: it moves with the stronger cs_rank(close)"
    assert words("redundant", [*gates(), alike]) == said
    assert (alike.value, alike.threshold, alike.passed) == (0.91, 0.7, False)
    late = distinct_gate(None, None, kept=False)
    assert "5 stronger ones" in words("redundant", [*gates(), late])
    assert distinct_gate(None, None, kept=True).passed
    assert words("in-sample", gates()).startswith("in-sample: ")
