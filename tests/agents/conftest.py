"""A scripted model endpoint (no model behind it), small research projects, and runs on them."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from alphaswarm.agents import AlphaResearcher, Proposal, ProposalRequest, connected, make_proposer
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.mcp_server import create_server
from alphaswarm.research import Workspace

KEY = "sk-secret-4711-not-to-be-seen"

Step = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


def say(text: str, *, finish: str = "stop", refusal: str | None = None, tokens: int = 50) -> Step:
    """A well-formed completion."""
    message = {"role": "assistant", "content": text, "refusal": refusal}
    choice = {"index": 0, "finish_reason": finish, "message": message}
    usage = {"prompt_tokens": tokens - 10, "completion_tokens": 10, "total_tokens": tokens}
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [choice],
        "usage": usage,
    }
    return status(200, body)


def propose(expression: str, hypothesis: str = "because", **more: Any) -> Step:
    """A reply as asked for."""
    said = {"hypothesis": hypothesis, "sign": 1, "horizon": 5, "refines": "", "expression": expression, "program": ""}
    return say(json.dumps(said | more))


def review(critique: str = "it is one bet", advice: str = "try it by sector") -> Step:
    """A review as asked for."""
    return say(json.dumps({"critique": critique, "advice": advice}))


def status(code: int, body: Any = None, headers: dict[str, str] | None = None) -> Step:
    """Any HTTP answer; text is sent as it is."""
    data = body.encode() if isinstance(body, str) else json.dumps(body or {}).encode()

    def step(handler: BaseHTTPRequestHandler, _request: dict[str, Any]) -> None:
        handler.send_response(code)
        for name, value in {
            "content-type": "application/json",
            "content-length": str(len(data)),
            **(headers or {}),
        }.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return step


def slowly(seconds: float, then: Step) -> Step:
    """Wait, then answer."""

    def step(handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        time.sleep(seconds)
        then(handler, request)

    return step


def drip(seconds: float) -> Step:
    """Headers at once, then a byte at a time, never ending in time."""

    def step(handler: BaseHTTPRequestHandler, _request: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", "1000")
        handler.end_headers()
        for _ in range(int(seconds / 0.05)):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.05)

    return step


def endless(handler: BaseHTTPRequestHandler, _request: dict[str, Any]) -> None:
    """A reply in chunks of a mebibyte, for as long as anybody listens (3 GiB at most)."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("transfer-encoding", "chunked")
    handler.end_headers()
    chunk = b"100000\r\n" + b"a" * 2**20 + b"\r\n"
    for _ in range(3000):
        handler.wfile.write(chunk)


def squeezed(handler: BaseHTTPRequestHandler, _request: dict[str, Any]) -> None:
    """A hundred megabytes in a hundred kilobytes."""
    packer = zlib.compressobj(wbits=31)  # gzip; made piece by piece, since the test counts memory
    data = b"".join([*(packer.compress(b" " * 2**20) for _ in range(100)), packer.flush()])
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-encoding", "gzip")
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def hang_up(handler: BaseHTTPRequestHandler, _request: dict[str, Any]) -> None:
    """Reset the connection in the middle of the answer."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"id": "c", ')
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()


@dataclass
class ScriptedModel:
    """Plays a script over the OpenAI protocol: one step for each request, the last one for ever.

    The probes of the start are answered by what the endpoint is said to obey (`obeys`), and what is asked of the
    reviewer by `reviewing`; neither is counted among the requests.
    """

    steps: list[Step]
    reviewing: Step = field(default_factory=review)
    obeys: set[str] = field(default_factory=lambda: {"schema"})
    refuses: set[str] = field(default_factory=set)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    reviews: list[dict[str, Any]] = field(default_factory=list)
    probes: int = 0
    models: Step | None = None
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        """Take the next step of the script."""
        if request["messages"][-1]["content"].startswith("Say hello"):
            self.probes += 1
            self._probe(request)(handler, request)
            return
        if request["messages"][0]["content"].startswith("You review"):
            self.reviews.append(request)
            self.reviewing(handler, request)
            return
        self.requests.append(request)
        step = self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]
        step(handler, request)

    def _probe(self, request: dict[str, Any]) -> Step:
        kind = request.get("response_format", {}).get("type", "")
        rung = {"json_schema": "schema", "json_object": "json"}.get(kind, "grammar" if "grammar" in request else "text")
        if rung in self.refuses:
            return status(400, {"error": {"message": f"{rung} is not supported here", "type": "invalid_request_error"}})
        obeyed = {"schema": '{"word": "zebra"}', "grammar": "zebra", "json": '{"word": "hi"}', "text": "Hello!"}
        return say(obeyed[rung] if rung in self.obeys else "Hello!")


class Stage:
    """Starts scripted endpoints, and makes the steps of their scripts."""

    key = KEY
    say, propose, review, status, slowly = map(staticmethod, (say, propose, review, status, slowly))
    drip, hang_up, endless, squeezed = map(staticmethod, (drip, hang_up, endless, squeezed))

    def __init__(self) -> None:
        self.servers: list[ThreadingHTTPServer] = []

    def __call__(self, *steps: Step, **settings: Any) -> ScriptedModel:
        model = ScriptedModel(list(steps) or [say("{}")], **settings)
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler_for(model))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self.servers.append(server)
        model.url = f"http://127.0.0.1:{server.server_port}/v1"
        return model


def handler_for(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    """HTTP in front of the script."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            listed = model.models or status(200, {"object": "list", "data": [{"id": "only-model", "object": "model"}]})
            with suppress(BrokenPipeError, ConnectionResetError):
                listed(self, {})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            model.headers.append({key.lower(): value for key, value in self.headers.items()})
            try:
                model.answer(self, json.loads(body))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def finish(self) -> None:
            with suppress(OSError, ValueError):  # the script hung up
                super().finish()

        def log_message(self, *_: Any) -> None:
            pass

    return Handler


@pytest.fixture
def scripted() -> Iterator[Stage]:
    """A stage for this test."""
    stage = Stage()
    yield stage
    for server in stage.servers:
        server.shutdown()
        server.server_close()


@dataclass
class Study:
    """A research project on a small market with a planted alpha, and runs on it."""

    workspace: Workspace
    panel: str = "tiny"

    def start(self, name: str = "search", *, budget: int, seed: int = 7, intent: str = "") -> str:
        """A new run's id."""
        asked = {"panel": self.panel, "horizon": 5, "proposer": name, "budget": budget, "seed": seed, "intent": intent}
        return self.workspace.start_run(**asked).id

    def research(
        self,
        run: str,
        proposer: Any = None,
        watch: Callable[[AlphaResearcher, dict[str, Any]], None] | None = None,
        **settings: Any,
    ) -> dict[str, Any]:
        """The researcher's result on a started run; `watch` sees every event."""
        held = self.workspace.run(run)
        directory = self.workspace.path / "runs" / run
        config = {name: getattr(held, name) for name in ("panel", "horizon", "budget", "seed", "intent")}
        chosen = proposer or make_proposer(held.proposer, {}, directory)

        async def go() -> dict[str, Any]:
            server = create_server(self.workspace)
            try:
                async with connected(server) as client:
                    place = {"run": run, "checkpoint": directory / "checkpoint.sqlite", "kept": directory / "recalled"}
                    researcher = AlphaResearcher(client, chosen, **(place | config | settings), on_event=seen)
                    watched.append(researcher)
                    return await researcher.run()
            finally:
                server.desk.close()

        def seen(event: dict[str, Any]) -> None:
            if watch is not None:
                watch(watched[0], event)

        watched: list[AlphaResearcher] = []
        return asyncio.run(go())


class FixedProposer:
    """Proposes what it is given, round by round; then nothing."""

    name = "fixed"
    notice = "no LLM: a fixed list"
    uses_memory = False

    def __init__(self, *rounds: list[str | Proposal | Exception]) -> None:
        self.rounds = rounds
        self.batch = 10
        self.requests: list[ProposalRequest] = []

    async def start(self) -> None:
        pass

    async def close(self) -> None:
        pass

    async def propose(self, request: ProposalRequest) -> list[Proposal]:
        self.requests.append(request)
        made = []
        for item in self.rounds[request.round] if request.round < len(self.rounds) else []:
            if isinstance(item, Exception):
                raise item
            made.append(Proposal(item, "a reason", "test") if isinstance(item, str) else item)
        return made


@pytest.fixture
def fixed() -> type[FixedProposer]:
    """The class, since tests can't import this file."""
    return FixedProposer


@pytest.fixture(scope="session")
def tiny_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of panels that holds `tiny`: 260 days of 30 names, with a short-term reversal planted."""
    home = tmp_path_factory.mktemp("home")
    Catalog(home).add("tiny", synthetic_market("planted", seed=3, days=260, names=36, ic=0.06))
    return home


@pytest.fixture
def new_study(tiny_home: Path, tmp_path: Path) -> Iterator[Callable[[], Study]]:
    """Fresh research projects."""
    opened: list[Workspace] = []

    def make() -> Study:
        opened.append(Workspace.open(tmp_path / f"ws{len(opened)}", catalog=Catalog(tiny_home)))
        return Study(opened[-1])

    yield make
    for workspace in opened:
        workspace.close()


@pytest.fixture
def study(new_study: Callable[[], Study]) -> Study:
    """A fresh research project."""
    return new_study()
