"""Backtests: at once when short, by handle when long."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from mcp import Client

from alphaswarm.backtest.baselines import BASELINES
from alphaswarm.mcp_server.security import REFUSAL_KEY
from alphaswarm.mcp_server.server import create_server
from alphaswarm.mcp_server.tools import backtests
from alphaswarm.research import Workspace

FORMULA = "cs_rank(-ts_sum(returns, 5))"


def test_a_short_one_comes_at_once_and_is_stored_under_its_handle(
    ask: Callable[..., Any], workspace: Workspace
) -> None:
    answer = ask("data_backtests_start", expression=FORMULA, panel="small", horizon=3, cost_bp=2)
    first = answer.structured_content
    record = workspace.backtest_record(first["id"])
    assert first["status"] == "done"
    assert first["result"]["metrics"] == record.metrics
    assert first["result"]["rows"] == len(record.equity)
    assert first["result"]["equity"][-1] == round(record.equity[-1], 6)
    assert len(answer.content[0].text.encode()) < 8_000
    for identity in (first["id"], first["id"][:12]):
        assert ask("data_backtests_get", id=identity).structured_content["result"] == first["result"]
    again = ask(
        "data_backtests_start", expression="cs_rank( -ts_sum(returns,5) )", panel="small", horizon=3, cost_bp=2.0
    )
    assert again.structured_content["id"] == first["id"]


def test_every_row_can_be_read_in_pages(ask: Callable[..., Any], workspace: Workspace) -> None:
    first = ask("data_backtests_start", expression=FORMULA, panel="small").structured_content
    record = workspace.backtest_record(first["id"])
    dates: list[str] = []
    while len(dates) < first["result"]["rows"]:
        answer = ask("data_backtests_get", id=first["id"], limit=100, offset=len(dates))
        assert len(answer.content[0].text.encode()) < 8_000
        dates += answer.structured_content["result"]["dates"]
    assert dates == record.dates
    past = ask("data_backtests_get", id=first["id"], limit=10, offset=10_000).structured_content
    assert past["result"]["dates"] == []
    assert "past the last row" in past["note"]


def test_a_long_one_gives_a_handle_that_can_be_waited_for(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    runs: list[str] = []
    whole = workspace.backtest

    def slow(expression: str, **named: Any) -> Any:
        runs.append(expression)
        gate.wait(20)
        return whole(expression, **named)

    monkeypatch.setattr(workspace, "backtest", slow)
    server = create_server(workspace)

    async def talk() -> None:
        async with Client(server) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                return (await client.call_tool(tool, arguments)).structured_content

            started = await call("data_backtests_start", expression=FORMULA, panel="small", wait_s=0.05)
            assert (started["status"], started["result"]) == ("running", None)
            joined = await call("data_backtests_start", expression=FORMULA, panel="small", wait_s=0.05)
            assert joined["id"] == started["id"]
            assert (await call("data_backtests_get", id=started["id"]))["status"] == "running"
            meanwhile = await call("data_alphas_evaluate", expression="ts_std(returns, 20)", panel="small")
            assert meanwhile["status"] == "evaluated"
            gate.set()
            ended = await call("data_backtests_get", id=started["id"], wait_s=20)
            assert ended["status"] == "done"
            assert ended["id"] == started["id"], "the handle is the key of the result"

    asyncio.run(talk())
    assert server.desk.close(20)
    assert runs == [FORMULA]


def test_waiting_is_capped(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backtests, "MAX_WAIT", 0.05)
    gate = threading.Event()
    monkeypatch.setattr(workspace, "backtest", lambda *_, **__: gate.wait(20) and None)
    server = create_server(workspace)

    async def talk() -> Any:
        async with Client(server) as client:
            return await client.call_tool(
                "data_backtests_start", {"expression": FORMULA, "panel": "small", "wait_s": 10_000}
            )

    assert asyncio.run(talk()).structured_content["status"] == "running"
    gate.set()
    assert server.desk.close(20)


def test_one_that_was_interrupted_is_said_to_be(ask: Callable[..., Any]) -> None:
    answer = ask("data_backtests_get", id="ab" * 32)
    assert answer.is_error
    assert answer.meta[REFUSAL_KEY]["reason"] == "UNKNOWN_NAME"
    assert "interrupted" in answer.content[0].text
    assert "start it again" in answer.content[0].text


def test_a_refused_formula_is_refused_here_too_and_counted(ask: Callable[..., Any], workspace: Workspace) -> None:
    for text in ("delay(close, -1)", "import os", "clo\ud800se"):
        answer = ask("data_backtests_start", expression=text, panel="small")
        assert answer.is_error
        assert answer.meta[REFUSAL_KEY]["column"] >= 1
    assert workspace.trials_total("small") == 3


def test_engine_mode_cost_and_fill_are_its_own(ask: Callable[..., Any], workspace: Workspace) -> None:
    ways = [
        {},
        {"engine": "event"},
        {"engine": "event", "mode": "close_to_close"},
        {"engine": "event", "mode": "close_to_close", "cost_bp": 1},
        {"cost_bp": 1, "fill": "close_t1"},
    ]
    answers = [ask("data_backtests_start", expression=FORMULA, panel="small", **how).structured_content for how in ways]
    assert all(answer["status"] == "done" for answer in answers)
    for answer in answers:
        record = workspace.backtest_record(answer["id"])
        assert record.id == answer["id"], "the key that was told before is that of the record"
        assert answer["result"]["metrics"] == record.metrics
        assert answer["result"]["decisions_digest"] == record.decisions_digest
    assert answers[2]["result"]["fills"] > 0
    assert len({answer["id"] for answer in answers[2:]} | {answers[0]["id"]}) == 4
    for wrong in ({"mode": "next_open"}, {"engine": "event", "fill": "close_t1"}, {"engine": "warp"}):
        assert ask("data_backtests_start", expression=FORMULA, panel="small", **wrong).is_error


def test_stored_ones_are_listed_the_newest_first(ask: Callable[..., Any]) -> None:
    assert ask("data_backtests_list").structured_content == {"backtests": [], "note": ""}
    first = ask("data_backtests_start", expression=FORMULA, panel="small").structured_content
    (listed,) = ask("data_backtests_list", panel="small").structured_content["backtests"]
    assert (listed["id"], listed["name"]) == (first["id"], FORMULA)
    assert listed["sharpe"] == pytest.approx(first["result"]["metrics"]["sharpe"], abs=1e-5)
    ask("data_backtests_start", expression="close", panel="small")
    assert len(ask("data_backtests_list").structured_content["backtests"]) == 2
    one = ask("data_backtests_list", limit=1).structured_content
    assert len(one["backtests"]) == 1
    assert "offset" in one["note"]


def test_ids_formulas_and_baselines_are_compared(ask: Callable[..., Any], workspace: Workspace) -> None:
    first = ask("data_backtests_start", expression=FORMULA, panel="small").structured_content
    answer = ask(
        "data_backtests_compare",
        backtests=[first["id"][:10], "cs_rank(volume)"],
        panel="small",
        baselines=["equal_weight", "buy_and_hold"],
    )
    found = answer.structured_content
    assert [one["kind"] for one in found["backtests"]] == ["expression", "expression", "baseline", "baseline"]
    assert found["benchmark"] == found["backtests"][2]["id"]
    assert found["correlations"][0][0] == pytest.approx(1.0)
    assert workspace.trials_total("small") == 2
    assert len(answer.content[0].text.encode()) < 8_000
    alone = ask("data_backtests_compare", backtests=[first["id"]])
    assert alone.is_error
    assert "2 to 20" in alone.content[0].text


def test_the_answer_of_the_most_that_can_be_compared_fits(ask: Callable[..., Any]) -> None:
    formulas = [f"ts_mean(returns, {days})" for days in range(2, 10)]
    answer = ask("data_backtests_compare", backtests=formulas, panel="small", baselines=list(BASELINES)[:4])
    assert len(answer.structured_content["backtests"]) == 12
    assert len(answer.content[0].text.encode()) < 8_000
