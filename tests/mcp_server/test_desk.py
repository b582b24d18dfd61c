"""Work runs off the event loop, in lanes, under a deadline."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from alphaswarm.core import BudgetExceeded, StoreBusy
from alphaswarm.mcp_server import desk as desk_module
from alphaswarm.mcp_server.desk import Desk


class Caller:
    """The part of a request's context that the desk uses."""

    def __init__(self) -> None:
        self.progress: list[tuple[float, float | None]] = []

    async def report_progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        self.progress.append((done, total))


class Project:
    """Stands for a workspace: the desk only hands it on and closes it."""

    closed = False

    def close(self) -> None:
        self.closed = True


def run(body: Callable[[Desk, Caller], Awaitable[Any]], desk: Desk | None = None) -> Any:
    """Run `body` and close the desk."""
    held = desk or Desk(Project())
    try:
        return asyncio.run(body(held, Caller()))
    finally:
        held.close()


def test_the_workspace_is_opened_once_when_first_needed_and_closed_by_the_desk() -> None:
    opened: list[Project] = []

    def open_it() -> Project:
        opened.append(Project())
        return opened[-1]

    desk = Desk(open_it)
    assert opened == []

    async def body(desk: Desk, caller: Caller) -> list[Project]:
        lanes = ["read", "work", "jobs"] * 5
        return await asyncio.gather(*(desk.run(lambda project: project, caller, lane=lane) for lane in lanes))

    assert set(run(body, desk)) == set(opened)
    assert len(opened) == 1
    assert opened[0].closed


def test_a_workspace_that_was_handed_in_stays_open() -> None:
    project = Project()
    desk = Desk(project)
    assert desk.close()
    assert not project.closed


def test_an_opening_that_fails_is_tried_again() -> None:
    tries = iter([OSError("no"), Project()])

    def open_it() -> Any:
        found = next(tries)
        if isinstance(found, OSError):
            raise found
        return found

    async def body(desk: Desk, caller: Caller) -> object:
        with pytest.raises(OSError, match="no"):
            await desk.run(lambda project: project, caller, lane="read")
        return await desk.run(lambda project: project, caller, lane="read")

    assert isinstance(run(body, Desk(open_it)), Project)


def test_one_lane_works_in_order_and_does_not_hold_up_the_others() -> None:
    gate = threading.Event()
    order: list[int] = []

    async def body(desk: Desk, caller: Caller) -> None:
        work = [
            asyncio.create_task(desk.run(lambda _, n=n: (gate.wait(5), order.append(n)), caller, lane="work"))
            for n in range(5)
        ]
        await asyncio.sleep(0)
        assert await desk.run(lambda _: "read meanwhile", caller, lane="read") == "read meanwhile"
        assert order == []
        gate.set()
        await asyncio.gather(*work)

    run(body)
    assert order == list(range(5))


def test_the_event_loop_stays_free_while_work_runs() -> None:
    async def body(desk: Desk, caller: Caller) -> int:
        gate = threading.Event()
        task = asyncio.create_task(desk.run(lambda _: gate.wait(5), caller, lane="work"))
        turns = 0
        while turns < 100:
            await asyncio.sleep(0)
            turns += 1
        gate.set()
        assert await task
        return turns

    assert run(body) == 100


def test_a_deadline_is_a_typed_refusal_and_queued_work_never_begins() -> None:
    gate = threading.Event()
    begun: list[str] = []

    async def body(desk: Desk, caller: Caller) -> None:
        running = asyncio.create_task(desk.run(lambda _: gate.wait(5), caller, lane="work"))
        await asyncio.sleep(0)
        desk.deadline = 0.05
        with pytest.raises(BudgetExceeded, match=r"within 0\.05 s"):
            await desk.run(lambda _: begun.append("late"), caller, lane="work")
        desk.deadline = 5
        cancelled = asyncio.create_task(desk.run(lambda _: begun.append("cancelled"), caller, lane="work"))
        await asyncio.sleep(0.01)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        gate.set()
        await running
        await desk.run(lambda _: None, caller, lane="work")

    run(body)
    assert begun == []


def test_long_work_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "HEARTBEAT_SECONDS", 0.02)
    caller = Caller()

    async def body(desk: Desk, _: Caller) -> None:
        gate = threading.Event()
        asyncio.get_running_loop().call_later(0.15, gate.set)
        await desk.run(lambda _: gate.wait(5), caller, lane="work")

    run(body)
    done = [value for value, _ in caller.progress]
    assert len(done) >= 3
    assert done == sorted(set(done)), "progress must rise"


def test_a_job_outlives_its_call_is_joined_and_can_fail() -> None:
    gate = threading.Event()
    runs: list[int] = []

    async def body(desk: Desk, caller: Caller) -> None:
        def work(_: object) -> str:
            runs.append(1)
            gate.wait(5)
            return "ended"

        first = desk.job("a", work)
        assert not await desk.wait(first, 0.02, caller, keep=True)
        assert desk.job("a", work) is first
        gate.set()
        assert await desk.wait(first, 5, caller, keep=True)
        assert desk.find_job("a") is first
        assert first.result() == "ended"
        assert desk.find_job("b") is None
        failing = desk.job("b", lambda _: 1 / 0)
        assert await desk.wait(failing, 5, caller, keep=True)
        assert isinstance(failing.exception(), ZeroDivisionError)
        assert desk.job("b", lambda _: 2) is not failing, "what failed may be tried again"

    run(body)
    assert runs == [1]


def test_the_table_of_jobs_does_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "MAX_JOBS", 3)

    async def body(desk: Desk, caller: Caller) -> list[str]:
        for key in "abcde":
            await desk.wait(desk.job(key, lambda _: None), 5, caller, keep=True)
        return [key for key in "abcde" if desk.find_job(key)]

    assert run(body) == ["c", "d", "e"]


def test_a_job_that_runs_is_never_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "MAX_JOBS", 2)
    gate = threading.Event()

    async def body(desk: Desk, caller: Caller) -> bool:
        first = desk.job("a", lambda _: gate.wait(5))
        desk.job("b", lambda _: None)
        with pytest.raises(StoreBusy, match="at most 2"):
            desk.job("c", lambda _: None)
        kept = desk.find_job("a") is first
        gate.set()
        await desk.wait(first, 5, caller, keep=True)
        return kept

    assert run(body)


def test_closing_takes_back_what_waits_and_says_what_still_runs() -> None:
    gate = threading.Event()
    project = Project()
    desk = Desk(lambda: project)
    begun: list[int] = []

    async def body() -> bool:
        started = threading.Event()
        desk.job("a", lambda _: (started.set(), gate.wait(5)))
        desk.job("b", lambda _: begun.append(1))
        await asyncio.to_thread(started.wait, 5)
        return desk.close(0.05)

    assert asyncio.run(body()) is False
    assert not project.closed
    with pytest.raises(BudgetExceeded, match="closing"):
        desk.job("c", lambda _: None)
    gate.set()
    assert desk.close()
    assert project.closed
    assert begun == []
