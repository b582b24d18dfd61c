"""The stdio wire: JSON-RPC lines in, JSON-RPC lines out, and nothing else on stdout.

Every request line gets exactly one answer, also the ones that are no JSON, no JSON-RPC, too long
or hold half a surrogate pair. While the wire is open, file descriptor 1 points at stderr, so that a
`print` in any library, or in C code, can't break a frame.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from alphaswarm.mcp_server.security import clean

__all__ = ["MAX_LINE", "ReceiveStream", "SendStream", "read_message", "stdio_streams"]

ReceiveStream = MemoryObjectReceiveStream[SessionMessage | Exception]
SendStream = MemoryObjectSendStream[SessionMessage]

# As the HTTP transport of the same protocol caps a body.
MAX_LINE = 4 * 1024 * 1024
# After the client closed its end, what it already asked for still gets an answer, for so long.
GRACE_SECONDS = 30.0

logger = logging.getLogger(__name__)


def read_message(line: bytes) -> JSONRPCMessage:
    """One line of the wire as a message.

    A lone surrogate, written out or as an escape, is no text: it becomes U+FFFD, which
    every tool refuses where it matters, so that the caller gets an answer about its own words.

    Returns:
        The message, or a `JSONRPCError` that answers the line.
    """
    if len(line) > MAX_LINE:
        return _refused(None, INVALID_REQUEST, f"a message must be at most {MAX_LINE} bytes")
    with suppress(ValidationError):
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not isinstance(message, JSONRPCNotification):
            return message
    try:
        found = clean(json.loads(line.decode("utf-8", "replace"), parse_constant=_no_constant))
    except (ValueError, RecursionError):
        return _refused(None, PARSE_ERROR, "a message must be one line of valid JSON")
    try:
        message = jsonrpc_message_adapter.validate_python(found, by_name=False)
    except ValidationError:
        identity = found.get("id") if isinstance(found, dict) else None
        known = identity if isinstance(identity, int | str) and not isinstance(identity, bool) else None
        return _refused(known, INVALID_REQUEST, "a message must be one JSON-RPC 2.0 object")
    if isinstance(message, JSONRPCNotification) and "id" in found:  # the SDK takes no notice of such an id
        return _refused(None, INVALID_REQUEST, "the id of a request must be a whole number or text")
    return message


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refused(identity: int | str | None, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=identity, error=ErrorData(code=code, message=message))


@dataclass(frozen=True)
class _Wire:
    """The two descriptors that belong to the protocol alone."""

    source: int
    sink: int


@contextmanager
def _private_wire() -> Iterator[_Wire]:
    """Take stdin and stdout for the protocol; everybody else finds an empty stdin and stderr."""
    sys.stdout.flush()
    wire = _Wire(os.dup(0), os.dup(1))
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    try:
        yield wire
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()  # what was printed meanwhile goes to stderr, not to the client
        os.dup2(wire.source, 0)
        os.dup2(wire.sink, 1)
        # The duplicates stay open: a thread may still wait on them, and a number must not be reused under it.


def _lines(descriptor: int) -> Iterator[bytes]:
    """Lines without their end; of one that is too long only its first `MAX_LINE` + 1 bytes are kept."""
    kept = bytearray()
    while block := os.read(descriptor, 65536):
        *ended, rest = block.split(b"\n")
        for part in ended:
            kept += part[: MAX_LINE + 1 - len(kept)]
            yield bytes(kept)
            kept.clear()
        kept += rest[: MAX_LINE + 1 - len(kept)]
    if kept:
        yield bytes(kept)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


class _Link:
    """What goes on between the descriptors and the server's streams; lives on one event loop."""

    def __init__(self, wire: _Wire, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        self._wire = wire
        self._to_server = to_server
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1, "alphaswarm-stdout")
        self._unanswered: set[object] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def start(self) -> None:
        """Begin to read, in a daemon thread: it may wait for ever, and must not keep the process alive."""
        threading.Thread(target=self._read, name="alphaswarm-stdin", daemon=True).start()

    def stop(self) -> None:
        """Write nothing any more."""
        self._writer.shutdown(wait=False, cancel_futures=True)

    async def write(self, message: JSONRPCMessage) -> None:
        """Put one line on the wire."""
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await self._loop.run_in_executor(self._writer, _write_all, self._wire.sink, text.encode() + b"\n")
        except OSError:
            logger.info("the client closed its end; an answer was dropped")
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._settled(message.id)

    def _read(self) -> None:
        gone = (RuntimeError, CancelledError, OSError, anyio.BrokenResourceError, anyio.ClosedResourceError)
        with suppress(*gone):  # the loop or the server ended first: nobody is left to tell
            for line in _lines(self._wire.source):
                if line.strip():
                    asyncio.run_coroutine_threadsafe(self._take(line), self._loop).result()
            asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result()

    async def _take(self, line: bytes) -> None:
        message = read_message(line)
        if isinstance(message, JSONRPCError):
            await self.write(message)
            return
        if isinstance(message, JSONRPCRequest):
            self._unanswered.add(message.id)
            self._idle.clear()
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._settled((message.params or {}).get("requestId"))  # it will not be answered
        await self._to_server.send(SessionMessage(message))

    async def _hang_up(self) -> None:
        with anyio.move_on_after(GRACE_SECONDS):
            await self._idle.wait()
        await self._to_server.aclose()

    def _settled(self, identity: object) -> None:
        self._unanswered.discard(identity)
        if not self._unanswered:
            self._idle.set()


@asynccontextmanager
async def stdio_streams() -> AsyncIterator[tuple[ReceiveStream, SendStream]]:
    """The stream pair that an MCP server runs on, connected to this process's stdin and stdout."""
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    with _private_wire() as wire:
        link = _Link(wire, to_server)

        async def answer() -> None:
            async with from_server:
                async for item in from_server:
                    await link.write(item.message)

        link.start()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(answer)
                yield from_client, to_client
        finally:
            link.stop()
