"""`alphaswarm mcp`: the entry for a client, and a client that uses exactly that entry."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_print_has_absolute_paths(shell: Shell, tmp_path: Path) -> None:
    body = shell("mcp", "install", "--client", "claude-desktop", "--print").json
    entry = body["mcpServers"]["alphaswarm"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][:4] == ["-m", "alphaswarm", "mcp", "serve"]
    assert entry["args"][-1] == str(tmp_path / ".alphaswarm")
    assert shell("mcp", "install", "--client", "emacs", "--print").code == 2


def test_the_printed_entry_works(shell: Shell, tiny: str) -> None:
    entry = shell("mcp", "install", "--client", "claude-desktop", "--print").json["mcpServers"]["alphaswarm"]

    async def use() -> tuple[list[str], object]:
        server = stdio_client(StdioServerParameters(command=entry["command"], args=entry["args"]))
        async with Client(server) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            answer = await client.call_tool("data_alphas_evaluate", {"expression": "-delta(close, 5)", "panel": tiny})
            return tools, answer.structured_content

    tools, answer = asyncio.run(use())
    assert {"data_catalog_describe", "data_alphas_evaluate", "data_backtests_start"} <= set(tools)
    assert isinstance(answer, dict)
    trial = shell("alpha", "evaluate", "-delta(close, 5)", "--panel", tiny, "--json").json
    assert trial["known"] is True
    assert answer["rank_ic"] == pytest.approx(trial["rank_ic"], abs=1e-12)
