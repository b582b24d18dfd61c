"""A finished run made again from what was kept, with nothing asked of the world."""

from __future__ import annotations

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

from alphaswarm.cli.agent_replay import differences

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

RUN = ("agent", "run", "--panel", "tiny", "--horizon", "2")
IDEAS = ("cs_rank(close)", "-ts_sum(returns, 3)", "ts_mean(volume, 5) / volume", "close + volume")


def test_a_run_of_a_search_is_the_same_again(shell: Shell, tiny: str) -> None:
    shell(*RUN, "--budget", "3")
    shell(*RUN, "--budget", "4")
    before = Path(".alphaswarm/ledger.db").read_bytes()
    for run in ("r0001", "r0002"):
        outcome = shell("agent", "replay", run)
        assert outcome.code == 0, outcome.out + outcome.err
        assert "the same again, bit for bit" in outcome.out
    assert Path(".alphaswarm/ledger.db").read_bytes() == before
    assert len(shell("agent", "list", "--json").json["runs"]) == 2


class Model(BaseHTTPRequestHandler):
    """A model that keeps to any schema: an idea for a proposal, words for a review."""

    asked: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        """Answer a probe as it must be, and anything else with what it asks for."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(request["messages"][-1]["content"])
        if self.asked[-1] == "Say hello.":
            answer = {"word": "zebra"}
        elif "advice" in json.dumps(request.get("response_format", {})):
            answer = {"critique": "it may be a bounce", "advice": f"wait {len(self.asked)} days"}
        else:
            idea = IDEAS[len(self.asked) % len(IDEAS)]
            answer = {
                "expression": idea,
                "rationale": "why not",
                "hypothesis": "",
                "sign": 0,
                "horizon": 0,
                "refines": "",
            }
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": json.dumps(answer)}}
        body = json.dumps({"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_run_of_a_model_is_the_same_again_without_it(
    shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Model.asked.clear()
    shell(*RUN, "--budget", "2")  # something to remember
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        monkeypatch.setenv("ALPHASWARM_LLM_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("ALPHASWARM_LLM_MODEL", "m")
        outcome = shell(*RUN, "--budget", "4", "--intent", "reversal", "--json")
        server.shutdown()
    assert outcome.code == 0, outcome.err
    assert "reviewer: it may be a bounce" in json.dumps(outcome.json)
    asked = len(Model.asked)
    shell("alpha", "evaluate", "cs_rank(volume)", "--panel", "tiny", "--horizon", "2")  # the memory holds more by now
    monkeypatch.delenv("ALPHASWARM_LLM_BASE_URL")
    monkeypatch.delenv("ALPHASWARM_LLM_MODEL")
    again = shell("agent", "replay", "r0002", "--json")
    assert again.code == 0, again.out + again.err
    assert again.json == {
        "run_id": "r0002",
        "same": True,
        "summary": outcome.json["summary"],
        "replayed": outcome.json["summary"],
        "differences": [],
    }
    assert len(Model.asked) == asked
    # A reply that is gone is named, not asked for.
    kept = sorted(Path(".alphaswarm/runs/r0002/llm").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    for path in kept[1:]:
        path.unlink()
    lost = shell("agent", "replay", "r0002")
    assert lost.code == 3
    assert "PROVIDER" in lost.err


def test_what_changed_is_told(shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shell(*RUN, "--budget", "2")
    with monkeypatch.context() as patch:
        patch.setattr("alphaswarm.agents.proposers.known.known_formulas", lambda *_: [])
        patch.setattr("alphaswarm.agents.proposers.search.known_formulas", lambda *_: [])
        outcome = shell("agent", "replay", "r0001")
    assert outcome.code == 5
    assert "is not the same" in outcome.out
    assert "- candidates[0].expression: " in outcome.out


def test_only_a_finished_run_can_be_replayed(shell: Shell, tiny: str) -> None:
    shell(*RUN, "--budget", "2", "--approve")
    outcome = shell("agent", "replay", "r0001")
    assert outcome.code == 2
    assert "must have finished" in outcome.err
    assert shell("agent", "replay", "r0009").code == 2


def test_the_ledger_of_the_environment_is_not_touched(shell: Shell, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHASWARM_DB", str(Path("mine.db").absolute()))
    shell(*RUN, "--budget", "2")
    before = Path("mine.db").read_bytes()
    assert shell("agent", "replay", "r0001").code == 0
    assert Path("mine.db").read_bytes() == before
    assert os.environ["ALPHASWARM_DB"].endswith("mine.db")


def test_differences() -> None:
    one = {"a": 1, "b": [1, {"c": None}], "d": [1, 2], "e": "x"}
    two = {"a": 1, "b": [1, {"c": 2.5}], "d": [1], "e": "x", "f": {}}
    assert differences(one, one) == []
    assert differences(one, two) == [
        {"path": "b[1].c", "kept": None, "replayed": 2.5},
        {"path": "d", "kept": "list of 2", "replayed": "list of 1"},
        {"path": "f", "kept": None, "replayed": "dict of 0"},
    ]
