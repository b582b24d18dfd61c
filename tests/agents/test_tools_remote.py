"""A researcher in one place, the tools in another: over streamable HTTP on this machine."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from alphaswarm.agents import AlphaResearcher, make_proposer
from alphaswarm.agents.tools import Tools, connected_to
from alphaswarm.core import ProviderError, SpecInvalid, StoreBusy
from alphaswarm.mcp_server import create_server


class Guarded:
    """An application that only lets in who brings the token."""

    def __init__(self, application: Any, token: str) -> None:
        self._application = application
        self._token = token.encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", []))
        if scope["type"] == "http" and given.get(b"authorization") != b"Bearer " + self._token:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._application(scope, receive, send)


@pytest.fixture
def served() -> Iterator[Callable[..., str]]:
    """Serve a workspace; the answer is the URL."""
    running: list[tuple[uvicorn.Server, threading.Thread, Any]] = []

    def serve(workspace: Any, token: str = "") -> str:
        mcp_server = create_server(workspace)
        application: Any = mcp_server.streamable_http_app()
        listening = socket.socket()
        listening.bind(("127.0.0.1", 0))
        settings = uvicorn.Config(
            Guarded(application, token) if token else application, log_level="critical", ws="none"
        )
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        running.append((server, thread, mcp_server))
        while not server.started:
            time.sleep(0.01)
        return f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"

    yield serve
    for server, thread, mcp_server in running:
        server.should_exit = True
        thread.join(10)
        mcp_server.desk.close()


def checked(url: str, token: str | None = None) -> None:
    async def go() -> None:
        async with connected_to(url, token) as client:
            await Tools(client).check()

    asyncio.run(go())


def test_a_run_over_http_is_the_run_in_process(new_study: Callable[[], Any], served: Callable[..., str]) -> None:
    here, there = new_study(), new_study()
    whole = here.research(here.start(budget=12))
    url = served(there.workspace)
    run = there.start(budget=12)
    place: Path = there.workspace.path / "runs" / run

    async def go() -> dict[str, Any]:
        async with connected_to(url) as client:
            researcher = AlphaResearcher(
                client,
                make_proposer("search", {}, place),
                run=run,
                panel="tiny",
                horizon=5,
                budget=12,
                seed=7,
                checkpoint=place / "checkpoint.sqlite",
            )
            return await researcher.run()

    result = asyncio.run(go())
    assert result["candidates"] == whole["candidates"]
    assert there.workspace.trials_total("tiny") == 12


def test_the_token_opens_and_nothing_else_does(study: Any, served: Callable[..., str]) -> None:
    url = served(study.workspace, "a-token-of-ours")
    checked(url, "a-token-of-ours")
    for wrong in (None, "another"):
        with pytest.raises(ProviderError, match="can't be used") as caught:
            checked(url, wrong)
        assert "a-token-of-ours" not in str(caught.value)


def test_our_own_errors_come_out_as_they_are(study: Any, served: Callable[..., str]) -> None:
    async def go() -> None:
        async with connected_to(served(study.workspace)):
            raise StoreBusy("held")

    with pytest.raises(StoreBusy, match="held"):
        asyncio.run(go())


def test_nobody_there(study: Any, served: Callable[..., str]) -> None:
    with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9/mcp can't be used"):
        checked("http://127.0.0.1:9/mcp")
    url = served(study.workspace)
    with pytest.raises(ProviderError, match="can't be used"):
        checked(url.replace("/mcp", "/elsewhere"))


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("ftp://host/mcp", None),
        ("host/mcp", None),
        ("https://me:word@host/mcp", None),
        ("http://example.com/mcp", "a-token-of-ours"),
    ],
)
def test_what_is_refused_before_anything_is_sent(url: str, token: str | None) -> None:
    with pytest.raises(SpecInvalid) as caught:
        checked(url, token)
    assert "word" not in str(caught.value)
    assert "a-token-of-ours" not in str(caught.value)
