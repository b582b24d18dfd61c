"""The open workspace behind the tools, and the threads that work on it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import anyio
from mcp.server.mcpserver import Context

from alphaswarm.core.errors import BudgetExceeded, StoreBusy

if TYPE_CHECKING:
    from alphaswarm.research import Workspace

__all__ = ["Desk", "Lane"]

R = TypeVar("R")
# Look-ups never wait behind an evaluation, and neither waits behind a backtest.
Lane = Literal["read", "work", "jobs"]

# Clients give up after 60 seconds; the answer must come before.
DEADLINE_SECONDS = 55.0
# A sign of life for the clients whose patience it renews.
HEARTBEAT_SECONDS = 5.0
CLOSE_SECONDS = 2.0
MAX_JOBS = 256


class Desk:
    """Runs work on the workspace, one piece at a time in each lane, off the event loop.

    Args:
        workspace: an open workspace, which stays the caller's to close; or how to open one, which
            happens when a tool first needs it, and `close` then closes it.
        deadline: seconds after which a call is answered, whatever its work does.
    """

    def __init__(
        self,
        workspace: Workspace | Callable[[], Workspace],
        deadline: float = DEADLINE_SECONDS,
    ) -> None:
        self.deadline = deadline
        self._open: Callable[[], Workspace] | None = workspace if callable(workspace) else None
        self._workspace: Workspace | None = None if callable(workspace) else workspace
        self._opening = threading.Lock()
        self._lanes: dict[Lane, ThreadPoolExecutor] = {}
        self._jobs: dict[str, Future[object]] = {}
        self._running: set[Future[Any]] = set()
        self._closed = False

    async def run(self, work: Callable[[Workspace], R], context: Context, *, lane: Lane) -> R:
        """The result of `work`, with progress reported while it lasts.

        A call that is cancelled, or over its deadline, before its work began never begins it. Work that
        has begun can't be stopped; it ends unheard, and what it stored stays stored.

        Raises:
            BudgetExceeded: the deadline passed.
        """
        future = self._submit(work, lane)
        if not await self.wait(future, self.deadline, context):
            raise BudgetExceeded(
                f"the call must end within {self.deadline:g} s and did not; ask again: what was begun goes on, "
                "and is found finished then. If not, use a shorter expression or a smaller panel"
            )
        return future.result()

    async def wait(self, future: Future[R], seconds: float, context: Context, *, keep: bool = False) -> bool:
        """Wait until `future` is done, at most so many seconds, and say whether it is.

        Unless it is to `keep`, one that has not begun by then is taken back.
        """
        loop = asyncio.get_running_loop()
        done = asyncio.Event()

        def ended(_: Future[R]) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(done.set)

        future.add_done_callback(ended)
        passed = 0.0
        try:
            while not done.is_set() and passed < seconds:
                step = min(HEARTBEAT_SECONDS, seconds - passed)
                with anyio.move_on_after(step):
                    await done.wait()
                passed += step
                if not done.is_set():
                    with suppress(ValueError):  # a call from inside the process has nobody to tell
                        await context.report_progress(passed, seconds, "still working")
            return future.done()
        finally:
            if not keep:
                future.cancel()

    def job(self, key: str, work: Callable[[Workspace], R]) -> Future[R]:
        """Start `work` as a job that outlives the call, or join the one that runs under `key`.

        Raises:
            StoreBusy: too many run.
        """
        known = self._jobs.get(key)
        if known is not None and not known.done():
            return cast("Future[R]", known)
        ended = [key for key, job in self._jobs.items() if job.done()]
        for old in ended[: max(0, len(self._jobs) + 1 - MAX_JOBS)]:
            del self._jobs[old]
        if len(self._jobs) >= MAX_JOBS:
            raise StoreBusy(f"at most {MAX_JOBS} backtests run at a time here; wait for one to end")
        future = self._submit(work, "jobs")
        self._jobs[key] = cast("Future[object]", future)
        return future

    def find_job(self, key: str) -> Future[object] | None:
        """The job under `key`, running or ended in this process; None when there was none."""
        return self._jobs.get(key)

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Take back what has not begun, wait a little for what has, close the workspace if it was opened here.

        Returns:
            False when work still runs; the workspace then stays open, under it.
        """
        self._closed = True
        for lane in self._lanes.values():
            lane.shutdown(wait=False, cancel_futures=True)
        if wait(self._running, timeout=seconds).not_done:
            return False
        if self._open is not None and self._workspace is not None:
            self._workspace.close()
            self._workspace = None
        return True

    def _submit(self, work: Callable[[Workspace], R], lane: Lane) -> Future[R]:
        if self._closed:
            raise BudgetExceeded("the server is closing; nothing new is begun")
        if lane not in self._lanes:
            self._lanes[lane] = ThreadPoolExecutor(1, f"alphaswarm-{lane}")
        future = self._lanes[lane].submit(lambda: work(self._workspace_now()))
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def _workspace_now(self) -> Workspace:
        with self._opening:
            if self._workspace is None:
                if self._open is None:
                    raise BudgetExceeded("the server is closing; nothing new is begun")
                self._workspace = self._open()
            return self._workspace
