"""What there is to work with, in pages that fit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from mcp import Client

from alphaswarm.core import Panel
from alphaswarm.dsl import operators
from alphaswarm.mcp_server.server import create_server
from alphaswarm.research import Workspace


def test_the_overview_is_enough_to_begin(ask: Callable[..., Any], workspace: Workspace) -> None:
    answer = ask("data_catalog_describe", panel="small")
    page = answer.structured_content
    assert page["default_panel"] == workspace.catalog.default()
    (panel,) = page["panels"]
    assert panel["name"] == "small"
    assert (panel["rows"], panel["symbols"]) == (300, 30)
    assert {"close", "volume"} <= set(panel["fields"])
    assert page["operators"] == sorted(operators())
    assert page["limits"] == {"bytes": 4096, "depth": 32, "nodes": 256, "window": 504, "lookback": 2520}
    assert "us500" in page["note"]
    assert len(answer.content[0].text.encode()) < 8_000


def test_without_a_panel_the_default_is_described(ask: Callable[..., Any], workspace: Workspace) -> None:
    page = ask("data_catalog_describe").structured_content
    assert page["panels"][0]["name"] == page["default_panel"]
    assert page["panels"][0]["available"] is True
    assert page["panels"][0]["caveats"]


def test_every_section_fits_and_the_pages_of_operators_are_all_of_them(ask: Callable[..., Any]) -> None:
    for section in ("panels", "panel", "operators", "grammar", "limits"):
        answer = ask("data_catalog_describe", section=section)
        assert not answer.is_error
        assert len(answer.content[0].text.encode()) < 8_000
    lines: list[str] = []
    while True:
        page = ask("data_catalog_describe", section="operators", offset=len(lines)).structured_content
        lines += page["operators"]
        assert page["total"] == len(operators())
        if not page["note"]:
            break
    assert [line.split("(")[0] for line in lines] == [row.signature.split("(")[0] for row in operators().values()]


def test_every_panel_is_listed_with_what_is_wrong_with_it(ask: Callable[..., Any]) -> None:
    page = ask("data_catalog_describe", section="panels").structured_content
    panels = {panel["name"]: panel for panel in page["panels"]}
    assert {"us431", "us500", "small"} <= panels.keys()
    assert panels["us431"]["available"] is False
    assert any("survivor" in caveat for caveat in panels["us431"]["caveats"])


def test_the_grammar_is_generated_and_mentions_the_caps(ask: Callable[..., Any]) -> None:
    text = ask("data_catalog_describe", section="grammar").structured_content["grammar"]
    assert "1 to 504" in text
    assert "or | and" in text


def test_a_panel_with_thousands_of_fields_still_fits(ask: Callable[..., Any], workspace: Workspace) -> None:
    names = [f"a_rather_long_field_name_{number:04d}" for number in range(1500)]
    values = np.ones((60, 2))
    dates = np.arange("2020-01-01", "2020-03-01", dtype="datetime64[D]")
    meta = {"caveats": ["long " * 500] * 20, "source": "s" * 5000, "licence": "l" * 5000}
    workspace.catalog.add("wide", Panel.from_arrays(dict.fromkeys(names, values), dates, ["A", "B"], meta=meta))
    answer = ask("data_catalog_describe", panel="wide")
    assert len(answer.content[0].text.encode()) < 9_000
    seen: list[str] = []
    while len(seen) < len(names):
        page = ask("data_catalog_describe", panel="wide", section="panel", offset=len(seen)).structured_content
        assert page["total"] == len(names)
        assert page["panels"][0]["fields"]
        seen += page["panels"][0]["fields"]
    assert seen == names


def test_a_file_is_never_read_for_a_client(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("date,symbol,close\n2020-01-01,A,1\n")
    server = create_server(workspace)

    async def talk() -> list[Any]:
        async with Client(server) as client:
            calls = [("data_catalog_describe", {}), ("data_alphas_evaluate", {"expression": "close"})]
            return [await client.call_tool(tool, {**given, "panel": str(path)}) for tool, given in calls]

    for refused in asyncio.run(talk()):
        assert refused.is_error
        assert "unknown panel" in refused.content[0].text
    assert server.desk.close(20)
