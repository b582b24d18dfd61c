"""The real thing: a server process, its pipes and its signals."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SERVE = "from alphaswarm.mcp_server import serve\nserve({workspace!r})"
FORMULA = "cs_rank(-ts_sum(returns, 5))"


@pytest.fixture
def serving(wire: Callable[[str], Any], project: Path) -> Any:
    """A server on a fresh project."""
    return wire(SERVE.format(workspace=str(project)))


def test_a_session_from_listing_to_evidence(serving: Any) -> None:
    tools = serving.call(1, "tools/list")["result"]["tools"]
    assert next(tool["name"] for tool in tools) == "data_alphas_compare"
    arguments = {"expression": FORMULA, "panel": "small", "horizon": 1}
    answer = serving.call(2, "tools/call", name="data_alphas_evaluate", arguments=arguments)["result"]
    assert answer["structuredContent"]["status"] == "evaluated"
    assert answer["structuredContent"]["rank_ic"] is not None
    dotted = serving.call(3, "tools/call", name="data.alphas.get", arguments={"id": answer["structuredContent"]["id"]})
    assert dotted["result"]["structuredContent"]["known"] is True
    os.kill(serving.process.pid, signal.SIGTERM)
    assert serving.process.wait(10) == 0


NO_TEXT = {
    "escape": (b'"clo\\ud800se"', 4),
    "low half": (b'"\\udfff"', 1),
    "raw surrogate": (b'"clo\xed\xa0\x80se"', 4),
    "raw byte": (b'"clo\xff"', 4),
    "nul": (b'"close\\u0000"', 6),
}


def test_a_formula_that_is_no_text_is_refused_with_its_place(serving: Any) -> None:
    arguments = {"expression": "HERE", "panel": "small"}
    params = {"name": "data_alphas_evaluate", "arguments": arguments, "_meta": META}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    for kind, (written, column) in NO_TEXT.items():
        serving.send(line.replace(b'"HERE"', written))
        answer = serving.receive()["result"]
        assert answer["isError"] is True, kind
        refusal = answer["_meta"]["alphaswarm/refusal"]
        assert (refusal["reason"], refusal["column"]) == ("DSL_NON_ASCII", column), kind
    assert serving.call(2, "tools/list")["result"]["tools"]


def test_the_end_of_input_ends_the_server_after_its_answers(serving: Any) -> None:
    params = {"name": "data_alphas_evaluate", "arguments": {"expression": FORMULA, "panel": "small"}, "_meta": META}
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode() + b"\n"
    out, err = serving.process.communicate(request, timeout=60)
    (line,) = out.splitlines()
    assert json.loads(line)["result"]["structuredContent"]["status"] == "evaluated"
    assert serving.process.returncode == 0
    assert err == b""


def test_the_tools_are_listed_before_anything_heavy_is_loaded(wire: Callable[[str], Any]) -> None:
    code = """
import asyncio, sys
from mcp import Client
from alphaswarm.mcp_server import create_server

def opened():
    raise AssertionError("listing must not open the workspace")

async def main():
    async with Client(create_server(opened)) as client:
        await client.list_tools()
        await client.list_resource_templates()
        await client.list_prompts()

asyncio.run(main())
heavy = {"numba", "scipy", "pandas", "chromadb", "matplotlib", "exchange_calendars", "pyarrow", "openai", "langgraph"}
print(sorted(heavy & set(sys.modules)))
"""
    out, err = wire(code).process.communicate(timeout=30)
    assert (out, err) == (b"[]\n", b"")


def test_a_print_inside_a_tool_does_not_reach_the_wire(wire: Callable[[str], Any], project: Path) -> None:
    code = f"""
import os
from alphaswarm.research import Workspace
before = Workspace.evaluate
def noisy(self, *args, **named):
    print("print inside a tool")
    os.write(1, b"bytes inside a tool\\n")
    return before(self, *args, **named)
Workspace.evaluate = noisy
from alphaswarm.mcp_server import serve
serve({str(project)!r})
"""
    started = wire(code)
    arguments = {"expression": FORMULA, "panel": "small"}
    answer = started.call(1, "tools/call", name="data_alphas_evaluate", arguments=arguments)
    assert answer["result"]["structuredContent"]["status"] == "evaluated"
    out, err = started.process.communicate(timeout=20)
    assert out == b""
    assert b"print inside a tool" in err
    assert b"bytes inside a tool" in err


def test_work_that_never_ends_does_not_keep_the_process(wire: Callable[[str], Any], project: Path) -> None:
    code = f"""
import sys, threading
from alphaswarm.research import Workspace
def stuck(self, *args, **named):
    print("begun", file=sys.stderr, flush=True)
    threading.Event().wait()
Workspace.evaluate = stuck
from alphaswarm.mcp_server import serve
serve({str(project)!r})
"""
    started = wire(code)
    params = {"name": "data_alphas_evaluate", "arguments": {"expression": FORMULA, "panel": "small"}, "_meta": META}
    started.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode())
    assert started.process.stderr.readline() == b"begun\n"
    os.kill(started.process.pid, signal.SIGTERM)
    assert started.process.wait(10) == 0
    assert b"left while work was running" in started.process.stderr.read()


def test_a_workspace_that_can_not_be_opened_is_told_without_its_path(
    wire: Callable[[str], Any], tmp_path: Path
) -> None:
    (tmp_path / "secret-place").write_text("a file where a directory should be")
    started = wire(SERVE.format(workspace=str(tmp_path / "secret-place" / "ws")))
    assert started.call(1, "tools/list")["result"]["tools"]
    answer = started.call(2, "tools/call", name="data_catalog_describe", arguments={})["result"]
    assert answer["isError"] is True
    assert str(tmp_path) not in json.dumps(answer)
    assert "Traceback" not in json.dumps(answer)


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
