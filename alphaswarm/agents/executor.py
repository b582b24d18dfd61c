"""Several pieces of work at once: in this process one after another, in a pool of processes, or on Ray."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, Protocol

from alphaswarm.core import Registry
from alphaswarm.core.errors import ProviderError, SpecInvalid

__all__ = ["EXECUTORS", "Executor", "make_executor"]

Task = Mapping[str, Any]
Answer = Mapping[str, Any]
Work = Callable[[Task], Answer]


class Executor(Protocol):
    """Does pieces of work that know nothing of each other."""

    def map(self, work: Work, tasks: Sequence[Task]) -> Iterator[Answer | None]:
        """What `work` makes of each task, in their order; None for one that was never begun, after a Ctrl-C.

        Args:
            work: a function of a module, which other processes can import; it deals with its own errors.
            tasks: plain values.

        Raises:
            ProviderError: what does the work is gone, or is not installed.
        """
        ...


# name -> factory(number of tasks at a time)
EXECUTORS: Registry[Callable[[int], Executor]] = Registry("executor")


def make_executor(name: str, jobs: int) -> Executor:
    """The executor of this name.

    Raises:
        UnknownName: there is none.
        SpecInvalid: a number of jobs that can't be.
    """
    if jobs < 1:
        raise SpecInvalid(f"jobs must be at least 1, got {jobs}")
    return EXECUTORS[name](jobs)


@EXECUTORS.register("inprocess")
class _InProcess:
    def __init__(self, jobs: int) -> None:
        if jobs != 1:
            raise SpecInvalid(f"in one process one run is made at a time: use --executor process for {jobs} jobs")

    def map(self, work: Work, tasks: Sequence[Task]) -> Iterator[Answer | None]:
        stopped = False
        for task in tasks:
            answer = None if stopped else work(task)
            yield answer
            stopped = stopped or bool(answer and answer.get("stopped"))


@EXECUTORS.register("process")
class _Pool:
    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def map(self, work: Work, tasks: Sequence[Task]) -> Iterator[Answer | None]:
        # Fresh interpreters: a forked one would share database connections and the threads' locks.
        with ProcessPoolExecutor(min(self._jobs, len(tasks)) or 1, mp_context=get_context("spawn")) as pool:
            waiting = [pool.submit(work, task) for task in tasks]
            with _patient(waiting):
                for future in waiting:
                    try:
                        yield future.result()
                    except CancelledError:
                        yield None
                    except BrokenProcessPool:
                        raise ProviderError("a process of the pool died; its run can be resumed") from None


@contextmanager
def _patient(waiting: Sequence[Future[Any]]) -> Iterator[None]:
    """While work is going on, a Ctrl-C takes back what has not begun; what has begun got the signal too, and ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(*_: object) -> None:
        for future in waiting:
            future.cancel()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@EXECUTORS.register("ray")
class _Ray:
    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        try:
            import ray
        except ImportError as error:
            raise ProviderError("executor ray needs Ray: pip install 'alphaswarm[scale]'") from error
        self._ray: Any = ray

    def map(self, work: Work, tasks: Sequence[Task]) -> Iterator[Answer | None]:
        ray = self._ray
        # A cluster that the environment names says itself how much it does at a time.
        here = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": self._jobs}
        ray.init(ignore_reinit_error=True, include_dashboard=False, **here)
        try:
            remote = ray.remote(num_cpus=1, max_retries=0)(work)
            for reference in [remote.remote(dict(task)) for task in tasks]:
                try:
                    yield ray.get(reference)
                except ray.exceptions.RayError as error:
                    raise ProviderError(f"Ray lost a run, which can be resumed: {str(error)[:300]}") from None
        finally:
            ray.shutdown()
