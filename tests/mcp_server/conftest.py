"""A small research project, a client in memory, and a server in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.mcp_server.server import AlphaSwarmServer, create_server
from alphaswarm.research import Workspace

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="session")
def market(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a panel: 300 days of 30 names without any signal."""
    kept = tmp_path_factory.mktemp("market")
    Catalog(imported=kept).add("small", synthetic_market("null", seed=3, days=300, names=30))
    return kept / "small.npz"


@pytest.fixture
def project(market: Path, tmp_path: Path) -> Path:
    """The directory of a fresh project that knows the panel `small`."""
    panels = tmp_path / "ws" / "panels"
    panels.mkdir(parents=True)
    shutil.copy(market, panels)
    return panels.parent


@pytest.fixture
def workspace(project: Path) -> Iterator[Workspace]:
    """That project, open."""
    with Workspace.open(project) as held:
        yield held


@pytest.fixture
def server(workspace: Workspace) -> Iterator[AlphaSwarmServer]:
    """All tools on that project."""
    made = create_server(workspace)
    yield made
    assert made.desk.close(20)


@pytest.fixture
def ask(server: AlphaSwarmServer) -> Callable[..., Any]:
    """Call one tool over a client in memory; the whole result."""

    def call(tool: str, **arguments: Any) -> Any:
        async def talk() -> Any:
            async with Client(server) as client:
                return await client.call_tool(tool, arguments)

        return asyncio.run(talk())

    return call


class Wire:
    """A server process and the raw lines to and from it."""

    def __init__(self, code: str, home: Path) -> None:
        pipe = subprocess.PIPE
        environment = {"ALPHASWARM_HOME": str(home), "PATH": "/usr/bin:/bin", "NUMBA_CACHE_DIR": _numba_cache()}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=pipe, env=environment
        )

    def send(self, line: bytes) -> None:
        """One line, as it is."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next line, which must be JSON."""
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def call(self, identity: int, method: str, **params: Any) -> dict[str, Any]:
        """A request of the newest protocol and its answer."""
        self.send(
            json.dumps(
                {"jsonrpc": "2.0", "id": identity, "method": method, "params": params | {"_meta": META}}
            ).encode()
        )
        return self.receive()

    def close(self) -> None:
        """Kill what is left."""
        self.process.kill()
        for end in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                if end is not None:
                    end.close()
        self.process.wait()


def _numba_cache() -> str:
    from platformdirs import user_cache_path

    return os.environ.get("NUMBA_CACHE_DIR") or str(user_cache_path("alphaswarm") / "kernels")


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[Callable[[str], Wire]]:
    """Start server processes from program text; they end with the test."""
    started: list[Wire] = []

    def start(code: str) -> Wire:
        started.append(Wire(code, tmp_path))
        return started[-1]

    yield start
    for one in started:
        one.close()
