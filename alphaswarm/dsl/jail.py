"""The inside of a box: a script that puts limits on its own process, loads one worker, lets it work, and ends.

Run by `alphaswarm.dsl.boxed` as ``python -I -S -B jail.py WORKER LIMITS PATH...``; it imports the standard library
only. A worker is a file with ``prepare()`` (imports what it needs), ``work(payload) -> dict``, ``place() -> int``
(the line of the program that runs, 0 for none), ``HOSTILE`` (whether what it works on may be an attack) and, if so,
``SOURCE`` (the file name that it compiles under).

Order: resource limits, no new privileges; the worker's imports; the payload from standard input; then the doors
close (own namespaces, no files, no way to import). From there on a hostile worker is killed by the audit hook at the
first event outside `HARMLESS` and, on Linux x86-64, by the kernel at the first system call outside `CALLS`. Memory,
arithmetic and the two pipes that are open already need none of either.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib.util
import json
import os
import platform
import resource
import signal
import sys
from types import ModuleType
from typing import Any

__all__ = ["CALLS", "HARMLESS", "KILLED", "PAYLOAD", "main"]

KILLED = 77
"""Exit status after the audit hook ended the process."""
PAYLOAD = 1 << 20
"""Bytes of payload at most."""
HARMLESS = frozenset({"compile", "exec", "sys.excepthook", "sys.settrace"})
"""Audit events that compiling, running and watching a program raise by themselves."""
# Numbers of Linux x86-64: memory, its own signals, the pipes, the end. No open, socket, clone, exec, ptrace, kill.
CALLS = {
    "write": 1,
    "mmap": 9,
    "mprotect": 10,
    "munmap": 11,
    "brk": 12,
    "rt_sigaction": 13,
    "rt_sigprocmask": 14,
    "rt_sigreturn": 15,
    "mremap": 25,
    "madvise": 28,
    "getpid": 39,
    "exit": 60,
    "gettid": 186,
    "futex": 202,
    "clock_gettime": 228,
    "exit_group": 231,
}
"""System calls that stay open, and ``tgkill`` to the process itself (how it dies of a limit)."""

_TGKILL = 234
_X86_64 = 0xC000003E
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF: load a word, jump if equal, return
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_NUMBER, _ARCHITECTURE, _FIRST = 0, 4, 16  # where seccomp's data hold them
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2  # prctl
_NEW_USER, _NEW_NET, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000  # unshare


def main() -> None:
    """Do the one piece of work that the arguments and standard input name."""
    worker_path, limits, *paths = sys.argv[1:]
    _limit(json.loads(limits))
    libc = _privileges()
    worker = _load(worker_path, paths)
    payload = json.loads(_payload())
    if worker.HOSTILE:
        _close_doors(libc, worker)
    _answer(json.dumps(worker.work(payload)).encode())


def _limit(limits: dict[str, int]) -> None:
    """Memory, processor time, and no files, children or core dumps."""
    cpu = limits["cpu"]
    for what, soft, hard in (
        (resource.RLIMIT_AS, limits["memory"], limits["memory"]),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_FSIZE, 0, 0),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NPROC, 0, 0),
    ):
        resource.setrlimit(what, (soft, hard))
    # at a limit or a crash: where the program stood, then the signal's own end
    faulthandler.enable(2, all_threads=False)
    faulthandler.register(signal.SIGXCPU, 2, all_threads=False, chain=True)


def _privileges() -> Any:
    """No program may gain privileges from here on; the C library, or None where there is nothing to ask."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    return libc


def _load(path: str, paths: list[str]) -> ModuleType:
    """The worker, with everything imported that it will need."""
    sys.path.extend(paths)
    spec = importlib.util.spec_from_file_location("worker", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    worker = importlib.util.module_from_spec(spec)
    sys.modules["worker"] = worker
    spec.loader.exec_module(worker)
    worker.prepare()
    return worker


def _payload() -> bytes:
    parts: list[bytes] = []
    while sum(map(len, parts)) <= PAYLOAD and (part := os.read(0, 65536)):
        parts.append(part)
    os.close(0)
    return b"".join(parts)


def _close_doors(libc: Any, worker: ModuleType) -> None:
    """After this neither Python nor the kernel lets the process reach anything but its memory and two pipes."""
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    if libc is not None:
        libc.unshare(_NEW_USER | _NEW_NET | _NEW_IPC)  # refused on some systems: no other wall rests on it
        if platform.machine() == "x86_64":
            _filter(libc)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("ctypes", "_ctypes", "resource")]:
        del sys.modules[name]
    leave, write, harmless, place, source = os._exit, os.write, HARMLESS, worker.place, worker.SOURCE

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "open" and type(args[0]) is str and args[0] == source:
            raise PermissionError  # the compiler looks for a file of that name, to quote a line of it
        if event not in harmless:
            write(2, f"audit {event[:64]} {place()}\n".encode("ascii", "replace"))
            leave(KILLED)

    sys.excepthook = lambda kind, _error, _trace: os.write(2, f"{kind.__name__}\n".encode()) and None
    sys.addaudithook(hook)


def _filter(libc: Any) -> None:
    """A seccomp filter: every system call outside the list kills the process."""

    class Instruction(ctypes.Structure):
        _fields_ = (
            ("code", ctypes.c_ushort),
            ("true", ctypes.c_ubyte),
            ("false", ctypes.c_ubyte),
            ("k", ctypes.c_uint),
        )

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("first", ctypes.POINTER(Instruction)))

    def only(value: int, *then: tuple[int, int, int, int]) -> list[tuple[int, int, int, int]]:
        return [(_EQUAL, 0, len(then), value), *then]

    allow, kill = (_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _KILL)
    own = [(_LOAD, 0, 0, _FIRST), *only(os.getpid(), allow), kill]
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, _X86_64), kill, (_LOAD, 0, 0, _NUMBER)]
    for number in CALLS.values():
        lines += only(number, allow)
    lines += [*only(_TGKILL, *own), kill]
    program = Program(len(lines), (Instruction * len(lines))(*(Instruction(*line) for line in lines)))
    libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)


def _answer(body: bytes) -> None:
    while body:
        body = body[os.write(1, body) :]
    os._exit(0)


if __name__ == "__main__":
    main()
