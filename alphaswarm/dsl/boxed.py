"""`run_boxed`: one piece of work in a process of its own, with limits and nothing of ours inside.

The child gets no environment, no file descriptors but its three pipes, an empty directory, and the limits of
`Box`; `alphaswarm.dsl.jail` closes what is left from within. What comes back is at most `Box.output` bytes of JSON
and is to be distrusted like any input.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from alphaswarm.core.errors import ProviderError
from alphaswarm.core.runtime import SystemClock

__all__ = ["Box", "Outcome", "run_boxed"]

_JAIL = Path(__file__).with_name("jail.py")
_GRACE = 0.3  # seconds to say where it stood, when its time is up
_PLACES = (re.compile(rb"audit [\w.]+ (\d{1,6})"), re.compile(rb'File "<program>", line (\d{1,6})'))
_EVENT = re.compile(rb"audit ([\w.]{1,64}) ")


@dataclass(frozen=True, slots=True)
class Box:
    """Limits: bytes of address space, seconds of processor and of waiting, bytes of answer."""

    memory: int
    cpu: int
    wall: float
    output: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the work ended.

    Attributes:
        answer: what the worker gave, None where it did not get that far.
        fault: what ended it instead, in words; "" beside an answer.
        limit: whether that was a limit of time, memory or output.
        line: where the program stood then, 0 where unknown.
    """

    answer: dict[str, Any] | None
    fault: str = ""
    limit: bool = False
    line: int = 0


def run_boxed(worker: Path, payload: dict[str, Any], box: Box, packages: Sequence[str]) -> Outcome:
    """Let the file `worker` work on `payload` in a process of its own.

    Args:
        worker: a file as `alphaswarm.dsl.jail` describes it.
        payload: what it gets, of JSON types.
        box: its limits.
        packages: names of what it imports besides the standard library.

    Raises:
        ProviderError: this system has no such limits, a package is missing, or no process could be started.
    """
    if os.name != "posix":
        raise ProviderError("limits on a process need a POSIX system (Linux or macOS)")
    command = [sys.executable, "-I", "-S", "-B", "-W", "ignore", str(_JAIL), str(worker)]
    command += [json.dumps({name: value for name, value in asdict(box).items() if name in ("memory", "cpu")})]
    command += sorted({_home(name) for name in packages})
    with tempfile.TemporaryDirectory(prefix="alphaswarm-box-") as directory:
        try:
            child = subprocess.Popen(  # noqa: S603  our own interpreter and script
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=directory,
                env={},
                close_fds=True,
                start_new_session=True,
            )
        except OSError as error:
            raise ProviderError(f"no process could be started: {error.strerror}") from None
        with child:
            try:
                out, err, late = _converse(child, json.dumps(payload).encode(), box)
            finally:
                _kill(child)
    return _outcome(child.returncode, out, err, late, box)


def _home(package: str) -> str:
    """The directory that `package` is imported from."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise ProviderError(f"the package {package} must be installed")
    return str(Path(spec.submodule_search_locations[0]).parent)


def _converse(child: subprocess.Popen[bytes], payload: bytes, box: Box) -> tuple[bytes, bytes, bool]:
    """Write `payload`, read both outputs up to their cap; whether time ran out."""
    clock = SystemClock()
    deadline = clock.monotonic() + box.wall
    streams = (child.stdin, child.stdout, child.stderr)
    if child.stdin is None or child.stdout is None or child.stderr is None:
        raise ProviderError(f"three pipes are needed, got {streams}")
    heard: dict[Any, bytes] = {child.stdout: b"", child.stderr: b""}
    late = False
    with selectors.DefaultSelector() as selector:
        for stream in heard:
            selector.register(stream, selectors.EVENT_READ)
        selector.register(child.stdin, selectors.EVENT_WRITE)
        os.set_blocking(child.stdin.fileno(), False)
        while selector.get_map():
            left = deadline - clock.monotonic()
            if left <= 0 or max(map(len, heard.values())) > box.output:
                if late or left > 0:
                    break
                late, deadline = True, clock.monotonic() + _GRACE
                _signal(child, signal.SIGXCPU)
                continue
            for key, _ in selector.select(left):
                if key.fileobj is child.stdin:
                    payload = _write(child.stdin.fileno(), payload)
                    if not payload:
                        selector.unregister(child.stdin)
                        child.stdin.close()
                elif part := os.read(key.fd, 65536):
                    heard[key.fileobj] += part
                else:
                    selector.unregister(key.fileobj)
    return heard[child.stdout], heard[child.stderr], late


def _write(pipe: int, payload: bytes) -> bytes:
    """What is left of `payload` after the pipe took its share; nothing where nobody reads."""
    try:
        return payload[os.write(pipe, payload) :]
    except BrokenPipeError:
        return b""


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signal the child's session; it may just have ended."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


def _kill(child: subprocess.Popen[bytes]) -> None:
    """End the child and whatever it may have started."""
    if child.poll() is None:
        _signal(child, signal.SIGKILL)
    if child.stdin is not None:
        child.stdin.close()


def _outcome(code: int, out: bytes, err: bytes, late: bool, box: Box) -> Outcome:
    """Read the answer, or the manner of death."""
    found = next((match for place in _PLACES if (match := place.search(err))), None)
    line = int(found[1]) if found else 0
    if len(out) > box.output or len(err) > box.output:
        return Outcome(None, f"it gave more than {box.output} bytes", limit=True, line=line)
    if code == 0:
        try:
            answer = json.loads(out)
        except ValueError:
            answer = None
        if isinstance(answer, dict):
            return Outcome(answer)
        return Outcome(None, "its answer can't be read", line=line)
    event = _EVENT.search(err)
    if event:
        return Outcome(None, f"it tried what is forbidden ({event[1].decode()})", line=line)
    if late:
        return Outcome(None, f"it took more than {box.wall:g} seconds", limit=True, line=line)
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return Outcome(None, f"it used more than {box.cpu} seconds of processor time", limit=True, line=line)
    if b"MemoryError" in err:
        return Outcome(None, f"it used more than {box.memory >> 20} MB of memory", limit=True, line=line)
    if code == -signal.SIGSYS:
        return Outcome(None, "it tried to reach the system", line=line)
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"status {code}"
    return Outcome(None, f"it was ended by {name}", line=line)
