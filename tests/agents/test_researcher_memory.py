"""What a run learns from earlier ones, what it is told, and what it says: lessons, twins, reviewer, advice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from alphaswarm.agents import Proposal
from alphaswarm.agents.researcher import _same_behaviour
from alphaswarm.agents.reviewer import Review
from alphaswarm.core import BudgetExceeded

# The second and third are weak here, the first is between weak and strong.
IDEAS = ["-returns", "ts_mean(volume, 20)", "-ts_mean(returns, 8)"]


class Reader:
    """Makes the fixed proposer one that reads advice, with a reviewer."""

    def __init__(self, proposer: Any, reviewer: Any = None) -> None:
        self._proposer = proposer
        self.uses_memory = True
        self.reviewer = reviewer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._proposer, name)


class OneVoice:
    """A reviewer that says the same of everything, for one call each; it fails where it is told to."""

    def __init__(self, fails_at: int = 0) -> None:
        self.asked: list[tuple[str, dict[str, float]]] = []
        self._fails_at = fails_at

    async def review(self, candidate: Any, critique: Any, spent: Any) -> Review:
        self.asked.append((candidate["expression"], dict(spent)))
        if len(self.asked) == self._fails_at:
            raise BudgetExceeded("the limit of 2 model calls was met")
        return Review("the effect may be a bid-ask bounce", "skip a day", {"calls": 1})


def test_lessons_are_of_earlier_runs_only_and_asked_once(study: Any, fixed: Any) -> None:
    first = fixed(IDEAS[:2], [IDEAS[2]])
    study.research(study.start("fixed", budget=3), first)
    assert [request.lessons for request in first.requests] == [(), ()]
    second = fixed([IDEAS[0]], ["ts_mean(close, 5) / close"])
    study.research(study.start("fixed", budget=1), second)
    told = [lesson["expression"] for lesson in second.requests[0].lessons]
    assert sorted(told) == ["-ts_mean(returns, 8)", "ts_mean(volume, 20)"]
    assert {lesson["kind"] for lesson in second.requests[0].lessons} == {"fails"}
    assert second.requests[1].lessons == second.requests[0].lessons
    assert all(request.memory == () for request in second.requests)  # who does not read is not read to


def test_what_later_data_taught_is_not_recalled(study: Any, fixed: Any) -> None:
    study.research(study.start("fixed", budget=3), fixed(IDEAS))
    trial = study.workspace.trial(study.workspace.trials(limit=1)[0].id)
    for day, seen in ((trial.as_of, True), ("1990-01-01", False)):
        proposer = fixed([IDEAS[0]])
        study.research(study.start("fixed", budget=1), proposer, as_of=day)
        assert bool(proposer.requests[0].lessons) is seen


def test_what_the_memory_answered_is_kept_and_read_again(study: Any, fixed: Any) -> None:
    study.research(study.start("fixed", budget=2), fixed(IDEAS[:2]))
    run = study.start("fixed", budget=1)
    proposer = Reader(fixed([IDEAS[0]], [IDEAS[2]]))
    study.research(run, proposer, intent="")
    place = study.workspace.path / "runs" / run / "recalled"
    assert sorted(path.name for path in place.iterdir()) == ["00000.json", "00001.json"]
    kept = json.loads((place / "00000.json").read_text())
    assert list(proposer.requests[0].lessons) == kept["lessons"]
    assert list(proposer.requests[0].memory) == kept["memory"]
    # Begun again, with a memory that holds more by now, it reads what it read.
    (study.workspace.path / "runs" / run / "checkpoint.sqlite").unlink()
    again = Reader(fixed([IDEAS[0]], [IDEAS[2]]))
    study.research(run, again, intent="")
    assert [request.lessons for request in again.requests] == [request.lessons for request in proposer.requests]
    assert [request.memory for request in again.requests] == [request.memory for request in proposer.requests]


def test_what_a_proposal_says_stays_with_it(study: Any, fixed: Any) -> None:
    first = Proposal(IDEAS[0], "because", "test")
    digest = study.workspace.evaluate(IDEAS[0], panel="tiny").digest
    said = {"hypothesis": "losers recover", "sign": 1, "horizon": 5, "refines": digest, "program": "alpha = -returns"}
    second = Proposal(IDEAS[1], "because", "test", (digest,), **said)
    proposer = fixed([first], [second], [IDEAS[2]])
    result = study.research(study.start("fixed", budget=2), proposer)
    plain, child = result["candidates"][:2]
    assert not {"hypothesis", "sign", "horizon", "refines", "program", "nearest"} & set(plain)
    assert {name: child[name] for name in said} == said
    assert child["parents"] == [digest]
    assert proposer.requests[2].history[1]["hypothesis"] == "losers recover"


def test_who_reads_advice_gets_the_whole_critique_and_it_is_stored(new_study: Callable[[], Any], fixed: Any) -> None:
    reviewer = OneVoice()
    study, bare = new_study(), new_study()
    odd = Proposal("close + volume", "why not", "test", spent={"calls": 2})
    run = study.start("fixed", budget=2)
    result = study.research(run, Reader(fixed([odd], [IDEAS[0]]), reviewer))
    critique = result["candidates"][0]["critique"]
    assert "doubtful units: + needs one unit" in critique
    assert "; reviewer: the effect may be a bid-ask bounce. Advice: " in critique
    assert critique.endswith("skip a day")
    assert result["spent"] == {"calls": 4}
    assert reviewer.asked == [("close + volume", {"calls": 2}), ("-returns", {"calls": 3})]
    assert study.workspace.trials(run, order="proposed")[0].critique == critique
    other = bare.start("fixed", budget=1)
    silent = bare.research(other, fixed([odd]))["candidates"][0]
    assert "units" not in silent["critique"]
    assert "Advice" not in silent["critique"]


def test_a_reviewer_that_meets_a_limit_is_asked_again_later(study: Any, fixed: Any) -> None:
    run = study.start("fixed", budget=1)
    limited = study.research(run, Reader(fixed([IDEAS[0]]), OneVoice(fails_at=1)))
    assert limited["outcome"] == "limit"
    assert limited["spent"] == {}
    result = study.research(run, Reader(fixed([IDEAS[0]]), OneVoice()))
    assert result["outcome"] == "complete"
    assert result["spent"] == {"calls": 1}


@pytest.mark.parametrize(
    ("nearest", "twin"),
    [
        ({"digest": "b", "of": "behaviour", "likeness": 0.99}, "b"),
        ({"digest": "b", "of": "behaviour", "likeness": 0.97}, ""),
        ({"digest": "b", "of": "structure", "likeness": 1.0}, ""),
        ({"digest": "a", "of": "behaviour", "likeness": 1.0}, ""),  # itself: recalled free
        (None, ""),
    ],
)
def test_what_behaves_like_a_stored_trial_is_a_twin(nearest: Any, twin: str) -> None:
    assert _same_behaviour({"digest": "a", "nearest": nearest}) == twin
