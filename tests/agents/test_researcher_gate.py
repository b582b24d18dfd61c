"""The gate before anything is sent to the selection window: a person says yes or no, and nothing else does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from alphaswarm.agents.researcher import SHOWN_FOR_APPROVAL
from alphaswarm.core import SpecInvalid


def test_a_gated_run_waits_and_goes_on_as_it_is_told(new_study: Callable[[], Any]) -> None:
    plain_study = new_study()
    plain = plain_study.research(plain_study.start(budget=5))
    for said, outcome in (("yes", "complete"), ("no", "declined")):
        study = new_study()
        run = study.start(budget=5)
        events: list[dict[str, Any]] = []
        waiting = study.research(run, gate=True, watch=lambda _, event, events=events: events.append(event))
        assert waiting["outcome"] == "waiting"
        assert "nothing was sent" in waiting["message"]
        assert waiting["candidates"] == plain["candidates"]
        assert not [event for event in events if event["phase"] == "approve"]
        assert study.research(run, gate=True) == waiting  # who says nothing changes nothing
        told: list[dict[str, Any]] = []
        result = study.research(run, gate=True, approval=said, watch=lambda _, event, told=told: told.append(event))
        assert result["outcome"] == outcome
        assert result["counts"] == plain["counts"]
        assert [event["phase"] for event in told] == ["start", "approve"]
        # Once said it is said.
        assert study.research(run, gate=True, approval="no" if said == "yes" else "yes") == result


def test_a_gated_run_that_was_stopped_comes_to_its_gate(study: Any) -> None:
    def stop(researcher: Any, event: dict[str, Any]) -> None:
        if event["phase"] == "decide" and event["outcome"]:
            researcher.stop()

    run = study.start(budget=5)
    assert study.research(run, gate=True, watch=stop)["outcome"] == "stopped"
    assert study.research(run, gate=True)["outcome"] == "waiting"
    assert study.research(run, gate=True, approval="yes")["outcome"] == "complete"


def test_approval_before_the_gate_is_not_taken_for_it(study: Any) -> None:
    run = study.start(budget=5)
    assert study.research(run, gate=True, approval="yes")["outcome"] == "waiting"


def test_only_yes_and_no_are_answers(study: Any) -> None:
    with pytest.raises(SpecInvalid, match="yes or no, got 'maybe'"):
        study.research(study.start(budget=1), gate=True, approval="maybe")


def test_the_person_is_shown_the_strongest(study: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, Any]] = []

    def asked(value: dict[str, Any]) -> str:
        shown.append(value)
        return "no"

    monkeypatch.setattr("alphaswarm.agents.researcher.interrupt", asked)
    study.research(study.start(budget=10), gate=True)
    (value,) = shown
    strengths = [one["z"] for one in value["strongest"]]
    assert len(strengths) == SHOWN_FOR_APPROVAL
    assert strengths == sorted(strengths, reverse=True)
    assert value["new"] == 10
