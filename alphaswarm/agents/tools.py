"""The researcher's only door to data, evaluation and memory: an MCP client session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError

from alphaswarm.core.errors import AlphaSwarmError, ProviderError, Reason, SpecInvalid, StoreBusy, StoreError
from alphaswarm.core.summary import content_key

__all__ = ["Answer", "Tools", "connected", "connected_to"]

# Everything the researcher can do; it holds no tool that sends an order.
USED = (
    "data_alphas_evaluate",
    "data_alphas_get",
    "data_alphas_search",
    "data_alphas_validate",
    "data_catalog_describe",
)
REFUSAL_KEY = "alphaswarm/refusal"
# A call that met the server's deadline goes on there; asking again finds it finished.
ATTEMPTS = 3
# A remote server answers within its own deadline, a minute; connecting takes less.
READ_SECONDS, CONNECT_SECONDS = 90.0, 10.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
# What a proposal can be refused for. Any other reason is a fault of the surroundings, not of the idea.
PROPOSAL_REASONS = frozenset(
    {reason for reason in Reason if reason.startswith("DSL_")}
    | {Reason.LOOKAHEAD, Reason.EVIDENCE_INVALID, Reason.ARGUMENT_INVALID}
)


@dataclass(frozen=True)
class Answer:
    """What a tool said: `value` when it worked, else why the proposal was refused."""

    value: Mapping[str, Any] = field(default_factory=dict)
    reason: Reason | None = None
    message: str = ""

    @property
    def refused(self) -> bool:
        """True when the tool refused what was proposed."""
        return self.reason is not None


@asynccontextmanager
async def connected(server: MCPServer) -> AsyncIterator[mcp.Client]:
    """A client of a server in this process. An error of ours comes out as it was raised.

    The client's own context would wrap it in the exception groups of its tasks.
    """
    async with _unwrapped(mcp.Client(server)) as client:
        yield client


@asynccontextmanager
async def connected_to(url: str, token: str | None = None) -> AsyncIterator[mcp.Client]:
    """A client of a server that speaks streamable HTTP at `url`.

    Args:
        url: such as ``https://host/mcp``.
        token: sent as the bearer token; never over plain HTTP to another machine.

    Raises:
        SpecInvalid: no HTTP URL, one that holds a user or password, or a token that would travel in the clear.
        ProviderError: nobody answers there, or not as an MCP server.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise SpecInvalid("the MCP server must be given as http://HOST/PATH or https://HOST/PATH, without a user")
    if token and parts.scheme == "http" and parts.hostname not in LOOPBACK:
        raise SpecInvalid(f"the token must not travel in the clear: use https:// for {parts.hostname}")
    where = f"{parts.scheme}://{parts.netloc}{parts.path}"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    timeout = httpx2.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    begun = False
    try:
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, follow_redirects=False) as http,
            _unwrapped(mcp.Client(streamable_http_client(url, http_client=http))) as client,
        ):
            begun = True
            yield client
    except (MCPError, httpx2.HTTPError, OSError) as error:
        raise _lost(where, str(error) or type(error).__name__, begun=begun) from None
    except BaseExceptionGroup as group:
        faults, others = group.split((MCPError, httpx2.HTTPError, OSError))
        if others is not None or faults is None:
            raise
        raise _lost(where, _first(faults), begun=begun) from None


def _lost(where: str, said: str, *, begun: bool) -> ProviderError:
    what = "was lost" if begun else "can't be used"
    return ProviderError(f"the MCP server at {where} {what}: {said[:300]}")


def _first(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


@asynccontextmanager
async def _unwrapped(opening: AbstractAsyncContextManager[mcp.Client]) -> AsyncIterator[mcp.Client]:
    fault: AlphaSwarmError | None = None
    async with opening as client:
        try:
            yield client
        except AlphaSwarmError as error:
            fault = error
    if fault is not None:
        raise fault


class Tools:
    """Calls tools by their advertised names and turns refusals into values.

    Args:
        client: a connected client.
    """

    def __init__(self, client: mcp.Client) -> None:
        self._client = client
        self._fingerprint = ""

    async def check(self) -> None:
        """See that the tools are there, and that none changed since the first look.

        A description that changes under a running session is how a server turns on its clients.

        Raises:
            ProviderError: a tool is missing, or its description or schema changed.
        """
        listed: dict[str, Any] = {}
        cursor: str | None = None
        while True:
            page = await self._client.list_tools(cursor=cursor, cache_mode="refresh")
            listed |= {tool.name: tool.model_dump(mode="json") for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None:
                break
        missing = sorted(set(USED) - set(listed))
        if missing:
            raise ProviderError(f"the server must offer {', '.join(USED)}; it lacks {', '.join(missing)}")
        fingerprint = content_key({name: listed[name] for name in USED})
        if self._fingerprint and fingerprint != self._fingerprint:
            raise ProviderError("the server changed the description of a tool during the session; the run stops here")
        self._fingerprint = fingerprint

    async def call(self, name: str, arguments: Mapping[str, Any], *, expected: Reason | None = None) -> Answer:
        """The tool's structured answer, or its refusal of the proposal or for the `expected` reason.

        Raises:
            StoreBusy, StoreError, ProviderError: the surroundings failed; nothing is known about the
                proposal, and the call may be repeated.
        """
        given = {key: value for key, value in arguments.items() if value is not None}
        reason, said = None, ""
        for _ in range(ATTEMPTS):
            result = await self._send(name, given)
            text = " ".join(part.text for part in result.content if part.type == "text")
            if not result.is_error:
                if not isinstance(result.structured_content, dict):
                    raise ProviderError(f"{name} must answer with structured content, got {text[:200]!r}")
                return Answer(result.structured_content)
            about = (result.meta or {}).get(REFUSAL_KEY) or {}
            reason, said = _reason(about, text), str(about.get("message") or text)
            if reason in PROPOSAL_REASONS or (expected is not None and reason is expected):
                return Answer(reason=reason, message=text)
            if reason not in {Reason.BUDGET, Reason.STORE_BUSY}:
                break
        raise _fault(reason, f"{name}: {said}")

    async def _send(self, name: str, arguments: dict[str, Any]) -> mcp.types.CallToolResult:
        try:
            return await self._client.call_tool(name, arguments)
        except (MCPError, RuntimeError) as error:  # the latter is an answer that breaks its own schema
            raise ProviderError(f"{name} got no usable answer from the server: {error}") from error


def _reason(about: Mapping[str, Any], text: str) -> Reason | None:
    # Servers that drop the metadata still begin the text with the code.
    words = [str(about.get("reason", "")), *text.replace(":", " ").split()[:8]]
    known = {str(reason): reason for reason in Reason}
    return next((known[word] for word in words if word in known), None)


def _fault(reason: Reason | None, message: str) -> AlphaSwarmError:
    if reason is Reason.STORE_BUSY:
        return StoreBusy(message)
    return StoreError(message) if reason is Reason.STORE else ProviderError(message)
