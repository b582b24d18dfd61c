"""Pieces of work at once: in order, wherever they are done, and what is left when one stops or dies."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from alphaswarm.agents.executor import EXECUTORS, make_executor
from alphaswarm.cli.agent_job import work
from alphaswarm.core import ProviderError, SpecInvalid, UnknownName

# Work must be importable in another process: this is what the command line sends, on a project that is not there.
NO_RUNS: list[Mapping[str, Any]] = [{"workspace": "none", "run": f"r000{number}"} for number in (1, 2, 3)]


def test_answers_come_in_order_from_other_processes(tmp_path: Any) -> None:
    tasks = [{**task, "workspace": str(tmp_path)} for task in NO_RUNS]
    answers = list(make_executor("process", 2).map(work, tasks))
    assert [answer["run_id"] for answer in answers if answer] == ["r0001", "r0002", "r0003"]
    assert {answer["error"]["reason"] for answer in answers if answer} == {"UNKNOWN_NAME"}
    assert {answer["code"] for answer in answers if answer} == {2}


def test_in_this_process_nothing_is_begun_after_a_stop() -> None:
    done = []

    def stops_at_two(task: Mapping[str, Any]) -> Mapping[str, Any]:
        done.append(task["run"])
        return {"run": task["run"], "stopped": task["run"] == "r0002"}

    answers = list(make_executor("inprocess", 1).map(stops_at_two, NO_RUNS))
    assert done == ["r0001", "r0002"]
    assert answers[2] is None


def test_a_process_that_dies_is_told() -> None:
    with pytest.raises(ProviderError, match="died; its run can be resumed"):
        list(make_executor("process", 1).map(os._exit, [3]))  # type: ignore[arg-type,list-item]


def test_a_ctrl_c_takes_back_what_has_not_begun(tmp_path: Any) -> None:
    tasks = [{"workspace": str(tmp_path), "run": f"r{number:04d}"} for number in range(1, 9)]
    before = signal.getsignal(signal.SIGINT)
    answers = make_executor("process", 1).map(work, tasks)
    first = next(answers)
    signal.raise_signal(signal.SIGINT)
    rest = list(answers)
    assert first is not None
    assert rest[-1] is None
    assert signal.getsignal(signal.SIGINT) is before


def test_names_and_numbers() -> None:
    assert set(EXECUTORS) == {"inprocess", "process", "ray"}
    with pytest.raises(UnknownName, match="executor 'dask'"):
        make_executor("dask", 1)
    with pytest.raises(SpecInvalid, match="at least 1"):
        make_executor("process", 0)
    with pytest.raises(SpecInvalid, match="--executor process for 2 jobs"):
        make_executor("inprocess", 2)


def test_ray_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ProviderError, match=r"pip install 'alphaswarm\[scale\]'"):
        make_executor("ray", 1)


@pytest.mark.filterwarnings("ignore")
def test_ray_gives_the_same_answers(tmp_path: Any) -> None:
    pytest.importorskip("ray", reason="needs alphaswarm[scale]")
    tasks = [{**task, "workspace": str(tmp_path)} for task in NO_RUNS]
    assert list(make_executor("ray", 2).map(work, tasks)) == [work(task) for task in tasks]
