"""The loop on a real project: budget, order, endings, and what is kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from alphaswarm.agents import AlphaResearcher, Proposal
from alphaswarm.agents.researcher import NODES
from alphaswarm.core import BudgetExceeded, ProviderError, SpecInvalid

IDEAS = ["-returns", "-ts_sum(returns, 3)", "-ts_mean(returns, 8)"]


def told(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Everything about the candidates."""
    return json.loads(json.dumps(result["candidates"]))


def test_the_same_seed_gives_the_same_run_and_another_one_does_not(new_study: Callable[[], Any]) -> None:
    results, digests = [], []
    for seed in (7, 7, 8):
        study = new_study()
        run = study.start(budget=14, seed=seed)
        results.append(study.research(run))
        digests.append(study.workspace.run_summary(run).digest)
        study.workspace.finish_run(run, "complete")
    assert told(results[0]) == told(results[1])
    assert digests[0] == digests[1]
    assert told(results[0]) != told(results[2])
    counts = results[0]["counts"]
    assert results[0]["outcome"] == "complete"
    assert counts["new"] == 14
    sources = [candidate["source"] for candidate in results[0]["candidates"]]
    assert [source.split(":")[0] for source in sources] == ["known"] * 10 + ["search"] * 4
    assert study.workspace.trials_total("tiny") == 14


def test_what_is_known_is_recalled_free(study: Any) -> None:
    first = study.research(study.start(budget=6))
    again = study.research(study.start(budget=4))
    assert again["counts"]["recalled"] == 6
    assert again["counts"]["new"] == 4
    assert [c["digest"] for c in again["candidates"]][:6] == [c["digest"] for c in first["candidates"]]
    assert study.workspace.trials_total("tiny") == 10


def test_each_candidate_is_stored_with_what_was_said(study: Any, fixed: Any) -> None:
    first = study.research(study.start("fixed", budget=1), fixed([IDEAS[0]]))["candidates"][0]
    run = study.start("fixed", budget=1)
    child = Proposal(IDEAS[1], "as before, longer", "test:child", (first["digest"],))
    study.research(run, fixed([child]))
    (trial,) = study.workspace.trials(run)
    assert trial.first_run == run
    assert trial.rationale == "as before, longer"
    assert trial.source == "test:child"
    assert trial.parents == [first["digest"]]
    assert "RankIC t" in trial.critique or "no fault" in trial.critique


def test_invalid_and_thin_ideas_are_trials_and_cost_the_budget(study: Any, fixed: Any) -> None:
    bad = ["__import__('os')", "delay(close, -5)", "no_such_field", "ts_mean(returns, 155)", "cs_rank(", IDEAS[0]]
    run = study.start("fixed", budget=6)
    result = study.research(run, fixed(bad))
    assert [c["status"] for c in result["candidates"]] == ["invalid"] * 3 + ["refused", "invalid", "evaluated"]
    assert [c["new"] for c in result["candidates"]] == [True] * 6
    assert result["counts"] == {
        "new": 6,
        "recalled": 0,
        "evaluated": 1,
        "refused": 1,
        "invalid": 4,
        "failed": 0,
        "duplicate": 0,
    }
    assert result["outcome"] == "complete"
    assert study.workspace.trials_total("tiny") == 6
    kept = study.workspace.trials(run, status=None, order="proposed")
    assert [trial.status for trial in kept] == [c["status"] for c in result["candidates"]]
    assert all(trial.critique for trial in kept)
    assert "LOOKAHEAD" in result["candidates"][1]["error"]
    # The ledger knows them now: the same again costs nothing.
    again = study.research(study.start("fixed", budget=1), fixed(*([text] for text in bad), [IDEAS[1]]))
    assert again["counts"]["recalled"] == 6
    assert again["counts"]["new"] == 1


def test_repeats_are_dropped_before_they_are_evaluated(study: Any, fixed: Any) -> None:
    proposer = fixed([IDEAS[0], " - returns ", IDEAS[1]], [IDEAS[1], IDEAS[2]])
    result = study.research(study.start("fixed", budget=5), proposer)
    assert result["counts"]["duplicate"] == 2
    assert result["counts"]["new"] == 3
    assert [c["text"] for c in result["candidates"]] == IDEAS
    assert [c["digest"] for c in proposer.requests[1].history] == [c["digest"] for c in result["candidates"][:2]]


def test_a_failure_to_propose_costs_one(study: Any, fixed: Any) -> None:
    failure = Proposal("", source="test", failure="the model said nothing", spent={"calls": 3, "tokens": 90})
    result = study.research(study.start("fixed", budget=2), fixed([failure], [IDEAS[0]]))
    assert result["counts"]["failed"] == 1
    assert result["counts"]["new"] == 2
    assert result["spent"] == {"calls": 3, "tokens": 90}
    assert study.workspace.trials_total("tiny") == 1


def test_it_ends_when_nothing_new_comes(study: Any, fixed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    study.research(study.start("fixed", budget=3), fixed(IDEAS))
    rounds = [[idea] for idea in IDEAS]
    result = study.research(study.start("fixed", budget=5), fixed(*rounds, [], [IDEAS[0]]), patience=9)
    assert result["outcome"] == "exhausted"
    assert "nothing left to try" in result["message"]
    assert result["counts"]["recalled"] == 3
    result = study.research(study.start("fixed", budget=5), fixed(*[rounds[0]] * 9), patience=3)
    assert result["outcome"] == "exhausted"
    assert "3 rounds in a row" in result["message"]
    assert result["counts"]["new"] == 0
    assert result["rounds"] == 4
    monkeypatch.setattr("alphaswarm.agents.researcher.RECALLED_PER_TRIAL", 0.1)
    result = study.research(study.start("fixed", budget=5), fixed(*rounds, [IDEAS[0]]))
    assert result["outcome"] == "exhausted"
    assert "3 candidates were known" in result["message"]


def test_a_stopped_run_goes_on_as_if_it_had_not_been(new_study: Callable[[], Any]) -> None:
    whole_study, study = new_study(), new_study()
    whole = whole_study.research(whole_study.start(budget=12))

    def stop(researcher: Any, event: dict[str, Any]) -> None:
        if event["phase"] == "evaluate" and event["round"] == 1:
            researcher.stop()

    run = study.start(budget=12)
    stopped = study.research(run, watch=stop)
    assert stopped["outcome"] == "stopped"
    assert stopped["counts"]["new"] == 5
    assert study.workspace.trials_total("tiny") == 10  # the node at work was finished
    resumed = study.research(run)
    assert resumed["outcome"] == "complete"
    assert told(resumed) == told(whole)
    assert study.research(run) == resumed  # a finished run just says so


@pytest.mark.parametrize("budget", [12, 5])
@pytest.mark.parametrize("node", NODES)
def test_a_crash_between_writes_and_checkpoint_changes_nothing(
    new_study: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, node: str, budget: int
) -> None:
    whole_study, study = new_study(), new_study()
    whole_run = whole_study.start(budget=budget)
    whole = whole_study.research(whole_run)
    run = study.start(budget=budget)
    work = getattr(AlphaResearcher, f"_{node}")

    async def worked(researcher: Any, state: Any) -> Any:
        researcher.stop()
        return await work(researcher, state)

    with monkeypatch.context() as patch:
        patch.setattr(AlphaResearcher, f"_{node}", worked)
        study.research(run)
    # As a kill leaves it at that moment: what the node wrote is there, the checkpoint made of it is not.
    rows = sqlite3.connect(study.workspace.path / "runs" / run / "checkpoint.sqlite")
    rows.execute("DELETE FROM writes WHERE checkpoint_id=(SELECT max(checkpoint_id) FROM checkpoints)")
    rows.execute("DELETE FROM checkpoints WHERE checkpoint_id=(SELECT max(checkpoint_id) FROM checkpoints)")
    pending = "SELECT count(*) FROM writes WHERE checkpoint_id=(SELECT max(checkpoint_id) FROM checkpoints)"
    assert rows.execute(pending).fetchone()[0] > 0
    rows.commit()
    rows.close()
    result = study.research(run)
    assert (result["outcome"], result["counts"]) == (whole["outcome"], whole["counts"])
    assert told(result) == told(whole)
    for one, name in ((study, run), (whole_study, whole_run)):
        one.workspace.finish_run(name, "complete")
    assert study.workspace.run_summary(run).digest == whole_study.workspace.run_summary(whole_run).digest


DAMAGED = {
    "a blob": "UPDATE checkpoints SET checkpoint=x'c1ff00'",
    "another value": "UPDATE checkpoints SET checkpoint=x'80'",
    "a number": "UPDATE checkpoints SET checkpoint=x'01'",
    "no bytes": "UPDATE checkpoints SET checkpoint=NULL",
    "another kind": "UPDATE checkpoints SET type='pickle'",
    "metadata": "UPDATE checkpoints SET metadata=x'ff'",
    "writes": "DELETE FROM checkpoints WHERE checkpoint_id=(SELECT max(checkpoint_id) FROM checkpoints);"
    "UPDATE writes SET value=x'c1'",
    "another table": "ALTER TABLE checkpoints RENAME COLUMN checkpoint TO other",
}


@pytest.mark.parametrize("damage", [*DAMAGED, "no database", "half a file", "zeros inside"])
def test_a_damaged_checkpoint_is_set_aside_and_nothing_is_evaluated_twice(
    new_study: Callable[[], Any], damage: str
) -> None:
    whole_study, study = new_study(), new_study()
    whole = whole_study.research(whole_study.start(budget=12))

    def stop(researcher: Any, event: dict[str, Any]) -> None:
        if event["phase"] == "critique" and event["round"] == 1:
            researcher.stop()

    run = study.start(budget=12)
    study.research(run, watch=stop)
    place = study.workspace.path / "runs" / run
    path = place / "checkpoint.sqlite"
    if damage in DAMAGED:
        rows = sqlite3.connect(path)
        rows.executescript(DAMAGED[damage])
        rows.commit()
        rows.close()
    else:
        whole_file = path.read_bytes()
        middle = len(whole_file) // 2
        path.write_bytes(
            {
                "no database": b"this is no database, but long enough to look like a file of some kind" * 20,
                "half a file": whole_file[:middle],
                "zeros inside": whole_file[:4096] + bytes(middle) + whole_file[4096 + middle :],
            }[damage]
        )
    before = study.workspace.trials_total("tiny")
    events: list[dict[str, Any]] = []
    result = study.research(run, watch=lambda _, event: events.append(event))
    assert "checkpoint.sqlite.damaged" in events[0]["notice"]
    assert events[0]["resumed"] is False
    assert (place / "checkpoint.sqlite.damaged").exists()
    assert told(result) == told(whole)
    assert result["counts"] == whole["counts"]
    assert before < study.workspace.trials_total("tiny") == 12


def test_a_limit_ends_the_run_and_a_higher_one_goes_on(study: Any, fixed: Any) -> None:
    run = study.start("fixed", budget=2)
    limited = study.research(run, fixed([IDEAS[0]], [BudgetExceeded("the limit of 9 model calls was met")]))
    assert limited["outcome"] == "limit"
    assert limited["message"].startswith("the limit of 9 model calls was met")
    assert limited["counts"]["new"] == 1
    assert study.research(run, fixed([IDEAS[0]], [IDEAS[1]]))["outcome"] == "complete"


def test_a_failing_provider_is_raised_and_the_run_can_be_resumed(study: Any, fixed: Any) -> None:
    run = study.start("fixed", budget=2)
    with pytest.raises(ProviderError, match="endpoint is gone"):
        study.research(run, fixed([IDEAS[0]], [ProviderError("the endpoint is gone")]))
    result = study.research(run, fixed([], [IDEAS[1]]))
    assert [c["text"] for c in result["candidates"]] == IDEAS[:2]


def test_a_run_is_resumed_as_it_was_started(study: Any, fixed: Any) -> None:
    run = study.start("fixed", budget=1)
    study.research(run, fixed([IDEAS[0]]))
    with pytest.raises(SpecInvalid, match=r"seed=7, not 8"):
        study.research(run, fixed([IDEAS[0]]), seed=8)
    with pytest.raises(SpecInvalid, match="at least 1"):
        study.research(run, fixed([IDEAS[0]]), budget=0)


def test_the_checkpoint_holds_plain_values_only(study: Any) -> None:
    run = study.start(budget=12)
    study.research(run)
    path = study.workspace.path / "runs" / run / "checkpoint.sqlite"
    with sqlite3.connect(path) as rows:
        kinds = {kind for (kind,) in rows.execute("SELECT type FROM checkpoints UNION SELECT type FROM writes")}
        steps = rows.execute("SELECT count(*) FROM checkpoints").fetchone()[0]
    rows.close()
    assert kinds <= {"msgpack", "null"}
    assert steps < 30  # old steps are forgotten


def test_events_tell_the_story(study: Any, fixed: Any) -> None:
    events: list[dict[str, Any]] = []
    study.research(
        study.start("fixed", budget=3), fixed(IDEAS[:2], [IDEAS[2]]), watch=lambda _, event: events.append(event)
    )
    assert events[0]["phase"] == "start"
    assert events[0]["notice"] == "no LLM: a fixed list"
    phases = [event["phase"] for event in events if event["round"] == 0]
    order = ["start", "recall", "propose", "deduplicate", "evaluate", "critique", "store", "decide"]
    assert list(dict.fromkeys(phases)) == order
    budgets = [event["budget"]["new"] for event in events if event["phase"] == "evaluate"]
    assert budgets == [1, 2, 3]
    best = [event["candidate"]["metrics"]["rank_ic_t"] for event in events if event["phase"] == "evaluate"]
    assert all(isinstance(t, float) for t in best)
    assert events[-1]["outcome"] == "complete"
    assert events[-1]["budget"] == {"new": 3, "total": 3}
    json.dumps(events, allow_nan=False)
