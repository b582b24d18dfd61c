"""The stdio wire: every request line is answered, nothing else reaches stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest

from alphaswarm.mcp_server.transport import MAX_LINE, read_message

# A server whose tools do what must not hurt: print from Python, from C, from a child; sleep; read stdin.
SERVER = """
import os, subprocess, sys, time
import anyio
from mcp.server.mcpserver import MCPServer
from alphaswarm.mcp_server.transport import stdio_streams

server = MCPServer("t", version="1", subscriptions=False)

@server.tool()
def noisy(text: str) -> str:
    print("print from python")
    sys.stdout.write("unflushed")
    os.write(1, b"write to descriptor 1\\n")
    subprocess.run(["sh", "-c", "echo from a child; cat"], check=True)
    assert sys.stdin.read() == ""
    return text

@server.tool()
def slow(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"

async def main():
    async with stdio_streams() as (read, write):
        low = server._lowlevel_server
        await low.run(read, write, low.create_initialization_options())

print("before the wire is taken", file=sys.stderr)
anyio.run(main)
"""
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def request(identity: int | str, tool: str, **arguments: Any) -> bytes:
    """A tools/call line of the newest protocol."""
    params = {"name": tool, "arguments": arguments, "_meta": META}
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}).encode() + b"\n"


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    pipe = subprocess.PIPE
    started = subprocess.Popen([sys.executable, "-c", SERVER], stdin=pipe, stdout=pipe, stderr=pipe)
    yield started
    started.kill()
    for end in (started.stdin, started.stdout, started.stderr):
        with suppress(BrokenPipeError):
            end.close()
    started.wait()


def read_answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """The next line of stdout, which must be JSON."""
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    return answer


def test_noise_goes_to_stderr_and_the_end_of_input_ends_the_process(process: subprocess.Popen[bytes]) -> None:
    out, err = process.communicate(request(1, "noisy", text="heard"), timeout=20)
    (line,) = out.splitlines()
    answer = json.loads(line)
    assert answer["id"] == 1
    assert answer["result"]["content"][0]["text"] == "heard"
    for noise in (b"print from python", b"unflushed", b"write to descriptor 1", b"from a child"):
        assert noise in err
    assert process.returncode == 0


def test_what_was_asked_before_the_end_of_input_is_answered(process: subprocess.Popen[bytes]) -> None:
    asked = b"".join(request(number, "slow", seconds=0.3) for number in range(5))
    out, _ = process.communicate(asked, timeout=20)
    assert sorted(json.loads(line)["id"] for line in out.splitlines()) == list(range(5))


def test_every_malformed_line_is_answered_and_the_server_lives(process: subprocess.Popen[bytes]) -> None:
    faults: list[tuple[bytes, object, int]] = [
        (b"{", None, -32700),
        (b"nonsense \xff\xfe\x00", None, -32700),
        (b'{"jsonrpc": "2.0", "id": 7, "method": 5}', 7, -32600),
        (b'{"jsonrpc": "2.0", "id": "a", "method": "x", "params": [1]}', "a", -32600),
        (b'{"jsonrpc": "2.0", "id": true}', None, -32600),
        *(
            (b'{"jsonrpc": "2.0", "id": %s, "method": "tools/list"}' % identity, None, -32600)
            for identity in (b"null", b"1.5", b"true", b"[1]", b"{}", b'null, "params": {"x": "\\ud800"}')
        ),
        (b"[]", None, -32600),
        (b'"text"', None, -32600),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "x\xff"}', None, -32700),
        (b"[" * 200_000, None, -32700),
        (b'{"x": "' + b"y" * MAX_LINE + b'"}', None, -32600),
    ]
    for line, identity, code in faults:
        process.stdin.write(line + b"\n")
        process.stdin.flush()
        answer = read_answer(process)
        assert (answer["id"], answer["error"]["code"]) == (identity, code), line[:40]
    process.stdin.write(b"\n  \r\n" + request(8, "slow", seconds=0))
    process.stdin.flush()
    assert read_answer(process)["id"] == 8


def test_a_lone_surrogate_gets_an_answer(process: subprocess.Popen[bytes]) -> None:
    line = request(3, "noisy", text="SIGN").replace(b"SIGN", b"a\\ud800b\\uDFFFc\\ud83d\\ude00")
    process.stdin.write(line)
    process.stdin.flush()
    assert read_answer(process)["result"]["content"][0]["text"] == "a\ufffdb\ufffdc\U0001f600"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_blocked_reader_does_not_keep_the_process(process: subprocess.Popen[bytes], number: int) -> None:
    process.stdin.write(request(1, "slow", seconds=0))
    process.stdin.flush()
    assert read_answer(process)["id"] == 1
    os.kill(process.pid, number)
    assert process.wait(10) != 0, "this bare server has no handler of its own; it must die, not hang"


def test_a_cancelled_request_is_not_waited_for(process: subprocess.Popen[bytes]) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1, "_meta": META}}
    process.stdin.write(request(1, "slow", seconds=0.2) + json.dumps(cancel).encode() + b"\n")
    process.stdin.close()
    assert process.wait(15) == 0
    assert process.stdout.read() == b""


def test_a_closed_client_does_not_kill_the_writer(process: subprocess.Popen[bytes]) -> None:
    process.stdout.close()
    process.stdin.write(request(1, "slow", seconds=0))
    process.stdin.close()
    assert process.wait(20) == 0


def test_valid_lines_pass_unchanged() -> None:
    assert read_message(b'{"jsonrpc":"2.0","id":1,"method":"m"}') == JSONRPCRequest(jsonrpc="2.0", id=1, method="m")
    for params in (b"", b',"params":{"id":null}', b',"params":{"x":"\\ud800"}'):
        assert isinstance(read_message(b'{"jsonrpc":"2.0","method":"m"%s}' % params), JSONRPCNotification)
    raw = read_message('{"jsonrpc":"2.0","id":1,"method":"m","params":{"é":"\U0001f600"}}'.encode())
    assert isinstance(raw, JSONRPCRequest)
    assert raw.params == {"é": "\U0001f600"}


def test_bytes_that_are_no_utf8_become_replacement_characters() -> None:
    message = read_message(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":"a\xed\xa0\x80"}}')
    assert isinstance(message, JSONRPCRequest)
    assert message.params == {"x": "a\ufffd\ufffd\ufffd"}


def test_a_line_that_is_too_long_is_refused_unread() -> None:
    answer = read_message(b" " * (MAX_LINE + 1))
    assert isinstance(answer, JSONRPCError)
    assert "at most" in answer.error.message
