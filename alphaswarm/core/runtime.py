"""Clock and randomness, passed in: nothing else in the package reads either."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import numpy as np

__all__ = ["Clock", "FixedClock", "SystemClock", "make_rng"]


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> datetime:
        """Wall time, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow, for durations and deadlines."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Wall time, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since an arbitrary start."""
        return time.monotonic()


@dataclass
class FixedClock:
    """A clock that stands still until it is moved; for tests and replays."""

    time: datetime = datetime(2020, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """The time it was set to."""
        return self.time

    def monotonic(self) -> float:
        """The set time in seconds."""
        return self.time.timestamp()

    def advance(self, seconds: float) -> None:
        """Move forward."""
        self.time += timedelta(seconds=seconds)


def make_rng(seed: int, *names: str | int) -> np.random.Generator:
    """A generator of its own for each (seed, names): independent of order and process.

    `names` say what the numbers are for, so that a resumed run draws what it would have drawn.
    """
    key = hashlib.sha256(repr((int(seed), *names)).encode()).digest()
    return np.random.default_rng(np.frombuffer(key, np.uint32))
