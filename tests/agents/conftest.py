"""A scripted model endpoint (no model behind it), small research projects, and runs on them."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

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


def propose(expression: str, rationale: str = "because") -> Step:
    """A reply as asked for."""
    return say(json.dumps({"rationale": rationale, "expression": expression}))


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

    The probes of the start are answered by what the endpoint is said to obey (`obeys`).
    """

    steps: list[Step]
    obeys: set[str] = field(default_factory=lambda: {"schema"})
    refuses: set[str] = field(default_factory=set)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    probes: int = 0
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler, request: dict[str, Any]) -> None:
        """Take the next step of the script."""
        if request["messages"][-1]["content"].startswith("Say hello"):
            self.probes += 1
            self._probe(request)(handler, request)
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
    say, propose, status, slowly, drip, hang_up = map(staticmethod, (say, propose, status, slowly, drip, hang_up))

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
            status(200, {"object": "list", "data": [{"id": "only-model", "object": "model"}]})(self, {})

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
