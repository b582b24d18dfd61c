"""`alphaswarm agent`: a whole run, its documents, and its picture."""

from __future__ import annotations

import json
import re
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from alphaswarm.agents.critic import criticise

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


# Users' scripts rely on these.
KEYS = {
    "run_id",
    "panel",
    "panel_digest",
    "seed",
    "proposer",
    "trials",
    "candidates",
    "finalists",
    "accepted",
    "report",
}
RUN = ("agent", "run", "--panel", "tiny", "--budget", "8", "--seed", "3", "--horizon", "2")


@pytest.fixture
def body(shell: Shell, tiny: str) -> dict[str, Any]:
    outcome = shell(*RUN, "--json")
    assert outcome.code == 0, outcome.err
    return dict(outcome.json)


def test_a_run_reports_what_it_tried(shell: Shell, body: dict[str, object]) -> None:
    assert body.keys() >= KEYS
    assert body["proposer"] == "search"
    assert body["trials"] == 8
    assert body["accepted"] == []
    assert "too short for a verdict: 120 rows" in str(body["verdict"])
    assert [one["status"] for one in body["verdicts"]] == ["too short"] * len(body["verdicts"])
    page = Path(str(body["report"])).read_text("utf-8")
    assert "<svg" in page
    assert not re.search(r"(?:src|href)=[\"']https?:", page)
    shown = shell("agent", "show", str(body["run_id"]), "--json").json
    assert shown["summary"] == body["summary"]
    assert str(body["run_id"]) in shell("agent", "list").out
    assert shell("agent", "list", "--json").json["runs"][0]["status"] == "finished"
    shown = shell("agent", "show", str(body["run_id"])).out
    assert shown.splitlines()[1] == body["verdict"]
    assert "by the t of the RankIC" in shown
    assert len(shell("alpha", "list", "--run", str(body["run_id"]), "--json").json["trials"]) > 0


def test_a_second_run_recalls_what_is_known(shell: Shell, body: dict[str, object]) -> None:
    again = shell(*RUN, "--json").json
    assert again["run_id"] != body["run_id"]
    assert again["trials"] == 8
    assert again["counts"]["recalled"] > 0


def test_the_same_seed_elsewhere_is_the_same_run(
    shell: Shell, body: dict[str, object], market_file: Path, tmp_path: Path
) -> None:
    elsewhere = str(tmp_path / "other")
    assert shell("data", "import", str(market_file), "--name", "tiny", "--workspace", elsewhere).code == 0
    other = shell(*RUN, "--workspace", elsewhere, "--json").json
    assert other["summary"] == body["summary"]
    assert other["candidates"] == body["candidates"]


def test_text_goes_to_stdout_and_progress_to_stderr(shell: Shell, tiny: str) -> None:
    outcome = shell(*RUN)
    assert outcome.code == 0
    assert "no LLM" in outcome.err
    assert "report: " in outcome.out
    assert "\x1b" not in outcome.out + outcome.err


def test_report_is_drawn_again(shell: Shell, body: dict[str, object]) -> None:
    path = Path(str(body["report"]))
    before = path.read_bytes()
    path.unlink()
    outcome = shell("report", str(body["run_id"]), "--json")
    assert outcome.json["report"] == str(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("agent", "run", "--panel", "nope"),
        ("agent", "run", "--panel", "tiny", "--proposer", "magic"),
        ("agent", "run", "--resume", "r9999"),
        ("agent", "run", "--budget", "0"),
        ("agent", "show", "r9999"),
        ("report", "r9999"),
        ("report",),
        ("agent", "run", "--panl", "tiny"),
    ],
)
def test_usage_errors_exit_2(shell: Shell, tiny: str, arguments: tuple[str, ...]) -> None:
    outcome = shell(*arguments)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err


def test_an_unreachable_model_exits_3(shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHASWARM_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    outcome = shell("agent", "run", "--panel", tiny, "--proposer", "llm", "--budget", "1")
    assert outcome.code == 3
    assert "127.0.0.1:9" in outcome.err
    assert shell("agent", "list", "--json").json == {"runs": []}  # nothing began


class Model(BaseHTTPRequestHandler):
    """A model that keeps to any schema and always proposes the same."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Answer a probe as it must be, anything else with an expression."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(request["messages"][-1]["content"])
        probe = self.asked[-1] == "Say hello."
        text = json.dumps({"word": "zebra"} if probe else {"expression": "cs_rank(close)", "rationale": "why not"})
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_the_trial_of_a_model_is_made_once(shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Model.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        monkeypatch.setenv("ALPHASWARM_LLM_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("ALPHASWARM_LLM_MODEL", "m")
        monkeypatch.setenv("ALPHASWARM_LLM_CUTOFF", "June 2024")
        assert shell("agent", "run", "--panel", tiny, "--budget", "1").code == 2
        monkeypatch.setenv("ALPHASWARM_LLM_CUTOFF", "2024-06-30")
        outcome = shell("agent", "run", "--panel", tiny, "--budget", "1", "--json")
        server.shutdown()
    assert outcome.code == 0, outcome.err
    assert outcome.json["memory_guard"]["cutoff"] == "2024-06-30"
    assert "may have read about these dates" in outcome.json["warnings"][0]
    assert shell("agent", "list", "--json").json["runs"][0]["config"] == {"model": "m", "cutoff": "2024-06-30"}
    assert outcome.json["proposer"] == "llm"
    assert outcome.json["trials"] == 1
    assert Model.asked.count("Say hello.") == 1
    assert len(Model.asked) == 3  # the probe, a proposal, and a review of its trial


def test_a_long_expression_is_cut_in_the_table_only(shell: Shell, body: dict[str, Any], tiny: str) -> None:
    long = "cs_rank(" + " + ".join(f"ts_sum(returns, {days})" for days in range(2, 40)) + ")"
    first = body["candidates"][0]
    refused = {**first, "trial": "f" * 64, "expression": "ts_mean(close, 7)", "rank_ic_t": 99.0, "status": "refused"}
    changed = body | {"candidates": [{**first, "expression": long}, refused], "ranked": [first["trial"]]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alphaswarm.cli.agent.body_of", lambda *_: changed)
        text = shell("agent", "show", str(body["run_id"])).out
        assert shell("agent", "show", str(body["run_id"]), "--json").json["candidates"][0]["expression"] == long
    assert f"{long[:58]}...{long[-29:]}" in text
    assert long[:59] not in text
    assert "ts_mean(close, 7)" not in text, "what was refused is not ranked, whatever its figures"


def test_a_workspace_that_is_deleted_meanwhile_is_no_success(
    shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*arguments: Any) -> Any:
        shutil.rmtree(".alphaswarm", ignore_errors=True)
        return criticise(*arguments)

    monkeypatch.setattr("alphaswarm.agents.researcher.criticise", lose)
    outcome = shell(*RUN, "--json")
    assert outcome.code == 3
    assert "deleted or replaced" in outcome.json["error"]["message"]


def test_a_damaged_checkpoint_begins_again_from_the_ledger(
    shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("alphaswarm.research.Workspace.finish_run", stopped)
        assert shell(*RUN, "--json").code == 5
    Path(".alphaswarm/runs/r0001/checkpoint.sqlite").write_bytes(b"garbage" * 1000)
    outcome = shell("agent", "resume", "r0001", "--json")
    assert outcome.code == 0
    assert "checkpoint.sqlite.damaged" in outcome.err
    assert outcome.json["trials"] == 8
    assert outcome.json["counts"]["recalled"] == 0  # they are this run's own


def test_a_file_may_be_researched_from_anywhere(shell: Shell, market_file: Path) -> None:
    body = shell("agent", "run", "--panel", str(market_file), "--budget", "2", "--horizon", "1", "--json").json
    assert body["panel"] == market_file.stem
    assert shell("report", body["run_id"]).code == 0
    assert shell("alpha", "evaluate", "cs_rank(close)", "--panel", market_file.stem).code == 0
