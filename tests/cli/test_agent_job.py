"""Runs that wait for a person, are begun from files, are several at once, and are set side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from alphaswarm.cli.agent_job import _checked, work
from alphaswarm.core import ProviderError
from alphaswarm.research import Workspace

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

RUN = ("agent", "run", "--panel", "tiny", "--horizon", "2", "--budget", "3")


def test_a_run_waits_for_a_person(shell: Shell, tiny: str) -> None:
    waiting = shell(*RUN, "--approve")
    assert waiting.code == 5
    assert "alphaswarm agent resume r0001 --approve yes, or no" in waiting.err
    assert "not judged" in waiting.out
    assert shell("agent", "list", "--json").json["runs"][0]["status"] == "interrupted"
    still = shell("agent", "resume", "r0001", "--json")
    assert (still.code, still.json["outcome"]) == (5, "waiting")
    done = shell("agent", "resume", "r0001", "--approve", "yes", "--json")
    assert (done.code, done.json["outcome"]) == (0, "complete")
    assert done.json["verdicts"]


def test_a_run_that_is_declined_is_not_judged(shell: Shell, tiny: str) -> None:
    shell(*RUN, "--approve")
    done = shell("agent", "resume", "r0001", "--approve", "no", "--json")
    assert (done.code, done.json["outcome"]) == (0, "declined")
    assert done.json["verdicts"] == []
    assert "not judged" in done.json["verdict"]
    assert shell("agent", "resume", "r0001").code == 3  # it has finished
    assert shell("agent", "replay", "r0001", "--json").json["same"] is True


def test_approval_is_for_runs_that_wait(shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("alphaswarm.research.Workspace.finish_run", _interrupted)
        assert shell(*RUN).code == 5
    assert shell("agent", "resume", "r0001", "--approve", "maybe").code == 2
    refused = shell("agent", "resume", "r0001", "--approve", "yes")
    assert refused.code == 2
    assert "waits for nobody" in refused.err
    assert shell("agent", "resume", "r0001").code == 0


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_spec_file_says_what_is_not_typed(shell: Shell, tiny: str) -> None:
    Path("run.yaml").write_text("panel: tiny\nbudget: 3\nhorizon: 2\nseed: 4\nproposer: random\n")
    body = shell("agent", "run", "--spec", "run.yaml", "--budget", "2", "--json").json
    assert (body["budget"], body["seed"], body["proposer"], body["horizon"]) == (2, 4, "random", 2)
    Path("run.yaml").write_text("panel: tiny\nbudgets: 3\n")
    outcome = shell("agent", "run", "--spec", "run.yaml")
    assert outcome.code == 2
    assert "a run's spec may set" in outcome.err


def test_a_file_of_intents_is_a_batch_in_one_ledger(shell: Shell, tiny: str) -> None:
    Path("intents.txt").write_text("# two\nreversal\nwhat volume says\n")
    outcome = shell(*RUN, "--intents", "intents.txt", "--seed", "7", "--json")
    assert outcome.code == 0, outcome.err
    runs = outcome.json["runs"]
    assert [(one["run_id"], one["intent"], one["seed"]) for one in runs] == [
        ("r0001", "reversal", 7),
        ("r0002", "what volume says", 8),
    ]
    assert [one["code"] for one in runs] == [0, 0]
    assert all(Path(one["report"]).exists() for one in runs)
    assert runs[1]["trials_total"] == 6
    table = shell(*RUN, "--intents", "intents.txt").out
    assert "r0003" in table
    assert "what volume says" in table
    for wrong in (("--intent", "x"), ("--executor", "dask"), ("--jobs", "2")):
        assert shell(*RUN, "--intents", "intents.txt", *wrong).code == 2
    assert shell(*RUN, "--executor", "process").code == 2


def test_the_pool_of_processes_makes_the_same_runs(shell: Shell, tiny: str) -> None:
    Path("intents.txt").write_text("one\ntwo\n")
    outcome = shell(*RUN, "--intents", "intents.txt", "--executor", "process", "--jobs", "2", "--json")
    assert outcome.code == 0, outcome.err
    assert [one["run_id"] for one in outcome.json["runs"]] == ["r0001", "r0002"]
    assert max(one["trials_total"] for one in outcome.json["runs"]) == 6
    assert {one["status"] for one in shell("agent", "list", "--json").json["runs"]} == {"finished"}


def test_the_code_of_a_batch_is_the_highest(shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("intents.txt").write_text("one\ntwo\n")
    answers = iter([{"run_id": "r0001", "error": {"reason": "PROVIDER", "message": "gone"}, "code": 3}, None])
    monkeypatch.setattr("alphaswarm.cli.agent.work", lambda _: next(answers) or {"run_id": "r0002", "code": 0})
    outcome = shell(*RUN, "--intents", "intents.txt", "--json")
    assert outcome.code == 3
    assert outcome.json["runs"][0]["error"]["message"] == "gone"


def test_work_answers_with_its_error(tmp_path: Path) -> None:
    answer = work({"workspace": str(tmp_path / "ws"), "run": "r0009"})
    assert answer["code"] == 2
    assert answer["error"]["reason"] == "UNKNOWN_NAME"


def test_a_server_of_another_project_is_found_out(tmp_path: Path) -> None:
    heard: list[Any] = []
    with Workspace.open(tmp_path / "ws") as project:
        listen = _checked(project, "http://there/mcp", heard.append)
        listen({"phase": "evaluate", "candidate": {"status": "invalid"}})
        with pytest.raises(ProviderError, match="serves another project"):
            listen({"phase": "evaluate", "candidate": {"id": "f" * 64}})
    assert len(heard) == 1


def test_an_unreachable_server_exits_3_and_the_run_goes_on_without_it(shell: Shell, tiny: str) -> None:
    outcome = shell(*RUN, "--mcp", "http://127.0.0.1:9/mcp", "--json")
    assert outcome.code == 3
    assert "127.0.0.1:9/mcp" in outcome.json["error"]["message"]
    assert shell("agent", "list", "--json").json["runs"][0]["config"] == {"mcp": "http://127.0.0.1:9/mcp"}
    assert shell(*RUN, "--mcp", "nowhere").code == 2


def test_runs_side_by_side(shell: Shell, tiny: str) -> None:
    shell(*RUN)
    shell(*RUN[:-1], "5", "--proposer", "random", "--seed", "2")
    body = shell("agent", "compare", "r0001", "r0002", "--json").json
    first, second = body["runs"]
    assert (first["proposer"], second["proposer"]) == ("search", "random")
    assert body["equal_trials"] == len(first["curve"]) == 3
    assert first["curve"] == sorted(first["curve"])
    assert second["best_at_equal"] == second["curve"][2]
    assert body["shared"][0][0] == 3
    assert body["shared"][0][1] == body["shared"][1][0]
    assert body["warnings"] == []
    assert "z at 3" in shell("agent", "compare", "r0001", "r0002").out
    shell("agent", "run", "--panel", "tiny", "--horizon", "3", "--budget", "1")
    text = shell("agent", "compare", "r0001", "r0003").out
    assert "note: their horizon differs" in text
    assert shell("agent", "compare", "r0001").code == 2
    assert shell("agent", "compare", "r0001", "r0001").code == 2
    assert json.loads(shell("agent", "compare", "r0001", "r0009", "--json").out)["error"]["reason"] == "UNKNOWN_NAME"
