"""What a run shows: a table that moves on a terminal, plain lines elsewhere, with all that is left of the budget."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from alphaswarm.cli.agent_live import LAST_SHOWN, SECONDS_BETWEEN_LINES, Story, watched
from alphaswarm.core import FixedClock
from alphaswarm.research import Run

RUN = Run(
    id="r0001",
    status="running",
    panel="tiny",
    panel_digest="d",
    horizon=5,
    fill="close_t1",
    proposer="llm",
    budget=20,
    seed=0,
    intent="",
    config={},
    started="2020-01-01",
    finished=None,
    outcome=None,
    trials=0,
    trials_total=None,
)
LIMITS = {"calls": 1000, "tokens": 2_000_000, "money": 1.5, "seconds": 3600.0}


def event(phase: str, new: int = 0, **more: Any) -> dict[str, Any]:
    return {"phase": phase, "run": "r0001", "round": 0, "budget": {"new": new, "total": 20}, "spent": {}} | more


def candidate(expression: str, z: float | None, status: str = "evaluated") -> dict[str, Any]:
    metrics = {} if z is None else {"evidence_z": z, "rank_ic_t": 9.0, "rank_ic": 0.0123, "turnover": 0.4}
    return {"expression": expression, "source": "llm", "status": status, "metrics": metrics}


def story() -> list[dict[str, Any]]:
    spent = {"calls": 14, "tokens": 8000, "money": 0.25, "seconds": 35.5}
    return [
        event("start", notice="LLM m", resumed=False),
        event("recall", memory=5, lessons=3),
        event("critique", 1, candidate=candidate("-returns", -3.5)),
        event("critique", 2, candidate=candidate("close", 1.0), spent=spent),
        event("critique", 3, candidate=candidate("[bold]x[/bold]\x1b[31m", None, "invalid")),
        event("decide", 3, outcome="", counts={}, spent=spent),
    ]


def test_a_story_in_one_line() -> None:
    told = Story(RUN, LIMITS)
    assert told.line() == (
        "r0001: 0/20 trials, nothing measured yet, 0/1,000 calls, 0/2,000,000 tokens, 0/1.5 money, "
        "0/3,600 model seconds"
    )
    for one in story():
        told.hear(one)
    assert told.line() == (
        "r0001: 3/20 trials, best z -3.50 -returns, 14/1,000 calls, 8,000/2,000,000 tokens, 0.25/1.5 money, "
        "35.5/3,600 model seconds, memory 5 hits, 3 lessons"
    )


def test_a_run_without_a_model_has_no_limits_to_show() -> None:
    told = Story(RUN, {})
    told.hear(event("evaluate", 1, candidate=candidate("close", 2.0)))
    assert told.line() == "r0001: 1/20 trials, best z +2.00 close"


def test_a_pipe_gets_plain_lines_at_a_pace() -> None:
    out, clock = StringIO(), FixedClock()
    with watched(RUN, {}, console=Console(file=out, width=200), clock=clock) as on_event:
        for one in story():
            on_event(one)
        clock.advance(SECONDS_BETWEEN_LINES)
        on_event(event("decide", 4, outcome="", counts={}))
        on_event(event("decide", 5, outcome="", counts={}))
        on_event(event("decide", 6, outcome="complete", counts={}))
    lines = out.getvalue().splitlines()
    assert lines[0] == "run r0001 on tiny: LLM m"
    assert [line.split(",")[0] for line in lines[1:]] == ["r0001: 4/20 trials", "r0001: 6/20 trials"]
    assert "\x1b" not in out.getvalue()


@pytest.mark.parametrize("width", [40, 120])
def test_a_terminal_gets_a_table_that_fits(width: int) -> None:
    out = StringIO()
    screen = Console(file=out, width=width, force_terminal=True, color_system=None)
    with watched(RUN, LIMITS, console=screen, clock=FixedClock()) as on_event:
        for one in story():
            on_event(one)
        for number in range(LAST_SHOWN):
            on_event(event("critique", 4, candidate=candidate(f"ts_mean(close, {number + 2})", 0.5)))
    shown = out.getvalue()
    assert "RankIC" in shown
    if width == 120:
        assert "invalid: [bold]x[/bold] [31m" in shown  # as text: neither markup nor a terminal's commands
        assert "best z -3.50  -returns" in shown
        assert "14/1,000 calls | 8,000/2,000,000 tokens | 0.25/1.5 money" in shown
        last = shown.rpartition("candidate")[2]
        assert "ts_mean(close, 7)" in last
        assert "-returns" not in last.split("best z")[0]  # only the last few


def test_a_resumed_run_says_so() -> None:
    out = StringIO()
    with watched(RUN, {}, console=Console(file=out), clock=FixedClock()) as on_event:
        on_event(event("start", notice="LLM m", resumed=True))
    assert out.getvalue().startswith("run r0001 on tiny, resumed: LLM m")
