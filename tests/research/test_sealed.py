"""Nothing of the selection window and the vault gets out, but whether finalists passed.

The same search is made twice, on panels that are equal up to the end of the search window and differ in
every number after it. Whatever the two leave behind must be the same: what the tools answered, what the
agent remembers, the ledger, the documents of the memory, the report, the run's JSON.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from alphaswarm.agents import AlphaResearcher, connected, make_proposer
from alphaswarm.agents.checkpoint import open_checkpoint
from alphaswarm.core import FixedClock, Panel
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.mcp_server import create_server
from alphaswarm.research import Workspace, write_report

SENTINEL = 123_456.75
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


class Unhashed(Panel):
    """A panel whose digest says nothing of its numbers: keys made of it are the same on both sides."""

    digest = "5" * 64


class Shelf(Catalog):
    """Opens `panel` as x, and describes the file of `filed`, which holds the same names and days."""

    def __init__(self, directory: Path, panel: Panel, filed: Panel) -> None:
        super().__init__(directory / "home", directory / "panels")
        self.add("x", filed)
        self.panel = Unhashed(**{name: getattr(panel, name) for name in Panel.__dataclass_fields__})

    def open(self, name: str | Path) -> Panel:
        return self.panel if name == "x" else super().open(name)


class Listening:
    """A client that keeps what every tool answers."""

    def __init__(self, client: Any, heard: list[str]) -> None:
        self._client = client
        self._heard = heard

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        answer = await self._client.call_tool(name, arguments)
        self._heard.append(f"{name} {answer.model_dump_json()}")
        return answer


def spliced(before: Panel, after: Panel, rows: int) -> Panel:
    """`before` up to `rows`, `after` from there on."""
    fields = {name: np.vstack([before[name][:rows], after[name][rows:]]) for name in before.fields}
    return replace(before, fields=MappingProxyType(fields))


def researched(directory: Path, panel: Panel, filed: Panel, *, budget: int, seed: int) -> dict[str, Any]:
    """Everything that one run of the default researcher leaves behind, as text by where it lies."""
    heard: list[str] = []
    events: list[dict[str, Any]] = []
    with Workspace.open(
        directory, catalog=Shelf(directory.with_suffix(".data"), panel, filed), clock=FixedClock()
    ) as workspace:
        run = workspace.start_run(panel="x", horizon=5, proposer="search", budget=budget, seed=seed)
        place = directory / "runs" / run.id

        async def go() -> str:
            server = create_server(workspace)
            try:
                async with connected(server) as client:
                    researcher = AlphaResearcher(
                        Listening(client, heard),
                        make_proposer("search", {}, place),
                        run=run.id,
                        panel="x",
                        horizon=5,
                        budget=budget,
                        seed=seed,
                        checkpoint=place / "checkpoint.sqlite",
                        on_event=events.append,
                    )
                    outcome = (await researcher.run())["outcome"]
                    heard.append((await client.call_tool("data_catalog_describe", {"panel": "x"})).model_dump_json())
                async with open_checkpoint(place / "checkpoint.sqlite") as saver:
                    kept = [each.checkpoint["channel_values"] async for each in saver.alist(None)]
                heard.append(json.dumps(kept, default=str, sort_keys=True))
                return outcome
            finally:
                server.desk.close()

        outcome = asyncio.run(go())
        unfinished = write_report(workspace, run.id).read_text("utf-8")
        workspace.finish_run(run.id, outcome)
        shown = [workspace.memory.query(text, k=20).to_dict() for text in ("reversal", "cs_rank(close)")]
        left = {
            "tools": "\n".join(heard),
            "events": json.dumps(events, default=str),
            "memory": json.dumps(shown, default=str),
            "run": workspace.run(run.id).model_dump_json(),
            "summary": json.dumps(workspace.run_summary(run.id).body, sort_keys=True),
            "windows": json.dumps(workspace.window_state("x")),
            "unfinished report": unfinished,
            "report": write_report(workspace, run.id).read_text("utf-8"),
        }
    with sqlite3.connect(directory / "ledger.db") as ledger:
        left["ledger"] = "\n".join(line for line in ledger.iterdump() if "INSERT" in line)
    ledger.close()
    for path in sorted(directory.rglob("*")):
        text = path.suffix in {".json", ".jsonl", ".txt", ".html", ".yaml"}
        if path.is_file() and text:
            left[str(path.relative_to(directory))] = path.read_text("utf-8")
    return left


def numbers(text: str) -> Iterator[str]:
    """Every number with a fraction in it: what was computed, not counted."""
    return (found for found in NUMBER.findall(text) if "." in found)


def bits(left: dict[str, Any]) -> list[Any]:
    """What the selection window decided."""
    verdicts = json.loads(left["summary"])["verdicts"]
    return [[gate["passed"] for gate in verdict["gates"] if gate["window"] == "selection"] for verdict in verdicts]


def test_nothing_depends_on_what_is_sealed(tmp_path: Path) -> None:
    market = synthetic_market("null", seed=3, days=300, names=40)
    sealed = {name: np.full_like(values, SENTINEL) for name, values in market.fields.items()}
    for values in sealed.values():
        values[::2] *= 1.0 + np.arange(40) / 40  # a sentinel that moves
    first = researched(tmp_path / "a", market, market, budget=12, seed=7)
    second = researched(tmp_path / "b", spliced(market, replace(market, fields=sealed), 180), market, budget=12, seed=7)
    assert first.keys() == second.keys()
    for name, text in first.items():
        assert second[name] == text, name
        assert not re.search(r"123[, ]?456|1\.2345675e\+?0?5", second[name]), name


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Runs on a market whose alpha lives on after the search window in two ways, and dies there in a third."""
    how = {"days": 1_000, "names": 80, "ic": 0.25, "expression": "cs_rank(-returns)"}
    market = synthetic_market("planted", seed=3, **how)
    shaken = np.exp(np.cumsum(1e-4 * np.random.default_rng(1).standard_normal(market.shape), axis=0))
    other = replace(market, fields=MappingProxyType({name: values * shaken for name, values in market.fields.items()}))
    dead = synthetic_market("null", seed=5, days=1_000, names=80)
    home = tmp_path_factory.mktemp("sealed")
    panels = {"as it was": market, "another": spliced(market, other, 600), "dead": spliced(market, dead, 600)}
    return {name: researched(home / name, panel, market, budget=14, seed=7) for name, panel in panels.items()}


def test_equal_bits_leave_equal_traces(planted: dict[str, dict[str, Any]]) -> None:
    one, two = planted["as it was"], planted["another"]
    assert bits(one) == bits(two)
    assert json.loads(one["summary"])["counts"]["confirmed"] >= 1
    for name, text in one.items():
        assert two[name] == text, name


def test_only_bits_differ_where_finalists_fail(planted: dict[str, dict[str, Any]]) -> None:
    alive, dead = planted["as it was"], planted["dead"]
    bets = json.loads(dead["summary"])["counts"]
    assert bets["bets"] >= 1
    assert bets["confirmed"] == 0
    for name in ("tools", "events", "unfinished report", "windows"):  # from before the judge, or counts alone
        assert dead[name] == alive[name], name
    for name, text in dead.items():
        assert set(numbers(text)) <= set(numbers(alive[name])), name
