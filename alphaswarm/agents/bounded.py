"""An HTTP client that never takes in more of a reply than any chat endpoint has to say."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import openai

from alphaswarm.core.errors import ProviderError

__all__ = ["MAX_REPLY_BYTES", "bounded_client"]

MAX_REPLY_BYTES = 8 * 2**20


def bounded_client(timeout: float) -> httpx2.AsyncClient:
    """OpenAI's client as it would be, except that a longer reply is a `ProviderError`.

    Args:
        timeout: seconds for one read or write; the whole of a call is for the caller to bound.
    """
    # A few compressed kilobytes can be gigabytes, so nothing compressed is asked for or read.
    return openai.DefaultAsyncHttpxClient(
        timeout=timeout, headers={"accept-encoding": "identity"}, event_hooks={"response": [_bound]}
    )


async def _bound(response: httpx2.Response) -> None:
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise ProviderError(f"the model endpoint must not compress its replies, got content-encoding {encoding[:40]!r}")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream)


class _BoundedStream(httpx2.AsyncByteStream):
    """The bytes of a reply, counted as they come."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_REPLY_BYTES
        async for part in self._stream:
            left -= len(part)
            if left < 0:
                raise ProviderError(f"the model endpoint sent more than {MAX_REPLY_BYTES // 2**20} MiB in one reply")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()
