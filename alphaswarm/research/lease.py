"""Who holds a run: a process that can be told from any other, and whether it still lives."""

from __future__ import annotations

import itertools
import os
import socket
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Holder"]

# After this long without a sign of life, a holder on another machine counts as gone.
LEASE_SECONDS = 60.0
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Holder:
    """A holder of leases: one open workspace of one process.

    Attributes:
        host: machine, its boot and its process namespace: process numbers mean something only there.
        pid: process number.
        born: when the kernel started the process; tells it from a later one with the same number.
        number: tells workspaces of one process apart.
    """

    host: str
    pid: int
    born: str
    number: int

    @classmethod
    def new(cls) -> Holder:
        """A holder that nobody else is."""
        return cls(_host(), os.getpid(), _born(os.getpid()), next(_numbers))

    @classmethod
    def parse(cls, text: str) -> Holder:
        """From `str(holder)`."""
        host, pid, born, number = text.rsplit(" ", 3)
        return cls(host, int(pid), born, int(number))

    def __str__(self) -> str:
        return f"{self.host} {self.pid} {self.born} {self.number}"

    def may_be_replaced(self, other: Holder, *, expired: bool) -> bool:
        """Whether `other` may take what this holder has.

        On the same machine the process itself is looked at: while it lives it keeps its lease, however
        long it waits for an answer, and once it is dead the lease is free at once. A process may take
        over from itself, and anybody from another machine, when the lease has expired.
        """
        if self == other:
            return True
        if self.host == other.host:
            same_process = (self.pid, self.born) == (other.pid, other.born)
            return expired if same_process else not self._alive()
        return expired

    def _alive(self) -> bool:
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return _born(self.pid) == self.born


def _host() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        space = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        boot = space = "-"
    return f"{socket.gethostname()}/{boot}/{space}".replace(" ", "_")


def _born(pid: int) -> str:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rsplit(")", 1)[1].split()
    except OSError:
        return "-"
    # A killed child that its parent has not yet waited for is dead all the same.
    return "-" if fields[0] in "ZX" else fields[19]
