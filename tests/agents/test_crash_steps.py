"""A run of forty steps that is cut off anywhere is the same run: nothing redone, each trial once.

Its model is a scripted endpoint (no model behind it) whose answer depends on the request alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alphaswarm.agents import AlphaResearcher, make_proposer
from alphaswarm.agents.researcher import NODES
from alphaswarm.research.examine import Examiner

BUDGET = 5  # one proposal a round: five rounds of eight nodes
STEPS = 40
IDEAS = (
    "ts_mean(volume, 23) / volume",
    "ts_std(returns, 17)",
    "close / ts_mean(close, 61)",
    "-ts_sum(returns, 7)",
    "(high - low) / ts_mean(close, 19)",
)


def answers(say: Callable[..., Any]) -> Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]:
    """A step of the script: the first idea that the prompt does not mention."""

    def step(handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        told = json.dumps(request["messages"])
        idea = next((one for one in IDEAS if one not in told), "close")
        answer = {"expression": idea, "rationale": "why not", "hypothesis": "", "sign": 0, "horizon": 0, "refines": ""}
        say(json.dumps(answer))(handler, request)

    return step


def settings(model: Any) -> dict[str, str]:
    return {"ALPHASWARM_LLM_BASE_URL": model.url, "ALPHASWARM_LLM_MODEL": "scripted"}


def asked(model: Any) -> Counter[str]:
    """How often each request came."""
    return Counter(json.dumps(request, sort_keys=True) for request in [*model.requests, *model.reviews])


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The key of every measurement that is made."""
    keys: list[str] = []
    measure = Examiner._measure

    def noted(examiner: Examiner, key: str, *rest: Any) -> Any:
        keys.append(key)
        return measure(examiner, key, *rest)

    monkeypatch.setattr(Examiner, "_measure", noted)
    return keys


def test_resumed_at_every_step_it_is_the_same_run(
    new_study: Callable[[], Any], scripted: Any, monkeypatch: pytest.MonkeyPatch, measured: list[str]
) -> None:
    summaries, results, calls = [], [], []
    for broken in (False, True):
        model, study = scripted(answers(scripted.say)), new_study()
        run = study.start("llm", budget=BUDGET)
        directory = study.workspace.path / "runs" / run
        measured.clear()
        attempts = 0
        with monkeypatch.context() as patch:
            for node in NODES if broken else ():
                patch.setattr(AlphaResearcher, f"_{node}", _one_step(getattr(AlphaResearcher, f"_{node}")))
            outcome = "stopped"
            while outcome == "stopped":
                result = study.research(run, make_proposer("llm", settings(model), directory))
                outcome = result["outcome"]
                attempts += 1
        assert attempts == (STEPS if broken else 1)
        assert sorted(measured) == sorted(set(measured))
        assert len(measured) == BUDGET
        assert set(asked(model).values()) == {1}
        calls.append((len(model.requests), len(model.reviews)))
        results.append(result)
        study.workspace.finish_run(run, outcome)
        summaries.append(study.workspace.run_summary(run).digest)
    assert calls[0] == calls[1] == (BUDGET, BUDGET)  # a proposal and a review each
    assert results[0]["candidates"] == results[1]["candidates"]
    assert summaries[0] == summaries[1]


def _one_step(work: Any) -> Any:
    async def worked(researcher: Any, state: Any) -> Any:
        researcher.stop()
        return await work(researcher, state)

    return worked


def in_a_process(home: Path, directory: Path, model: Any, moments: list[float]) -> dict[str, Any]:
    script = Path(__file__).with_name("one_run.py")
    done = subprocess.run(
        [sys.executable, str(script), str(home), str(directory), str(BUDGET), json.dumps(moments)],
        env=os.environ | settings(model) | {"PROPOSER": "llm"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def moments_of(seed: int, number: int) -> list[float]:
    """Where attempts are killed: after some events, or some parts of a second."""
    rng = np.random.default_rng(seed)
    return [
        int(rng.integers(1, 6)) if rng.random() < 0.6 else round(float(rng.uniform(0.02, 0.7)), 3)
        for _ in range(number)
    ]


def killed_at_random(home: Path, place: Path, scripted: Any, *, runs: int, kills: int) -> int:
    whole_model = scripted(answers(scripted.say))
    whole = in_a_process(home, place / "whole", whole_model, [])
    total = 0
    for seed in range(runs):
        model = scripted(answers(scripted.say))
        directory = place / f"broken{seed}"
        broken = in_a_process(home, directory, model, moments_of(seed, kills))
        total += broken["kills"]
        assert broken["candidates"] == whole["candidates"]
        assert broken["counts"] == whole["counts"]
        assert broken["summary"] == whole["summary"]
        assert broken["total"] == whole["total"] == BUDGET
        times = asked(model)
        assert times.keys() == asked(whole_model).keys()
        assert times.total() - len(times) <= broken["kills"]  # each kill may cut off one call that is made again
        repeated = Counter((directory / "measured").read_text().split())
        assert len(repeated) == BUDGET
        assert repeated.total() - BUDGET <= broken["kills"]
    return total


def test_killed_at_random_points_it_is_the_same_run(tiny_home: Path, tmp_path: Path, scripted: Any) -> None:
    assert killed_at_random(tiny_home, tmp_path, scripted, runs=1, kills=10) >= 8


@pytest.mark.slow
def test_killed_at_a_hundred_random_points_it_is_the_same_run(tiny_home: Path, tmp_path: Path, scripted: Any) -> None:
    assert killed_at_random(tiny_home, tmp_path, scripted, runs=12, kills=10) >= 100
