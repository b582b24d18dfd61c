"""The server as a client in memory sees it."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from alphaswarm import __version__
from alphaswarm.core import UnknownName
from alphaswarm.mcp_server.security import REFUSAL_KEY
from alphaswarm.mcp_server.server import AlphaSwarmServer, create_server
from alphaswarm.mcp_server.tools.base import ID_KEY
from alphaswarm.research import Workspace

SNAPSHOT = Path(__file__).parent / "tools_list.json"
WRITING = {
    *(f"data_alphas_{name}" for name in ("compare", "evaluate", "promote", "submit")),
    *(f"data_backtests_{name}" for name in ("compare", "start")),
}
FORMULA = "cs_rank(-ts_sum(returns, 5))"


def listed(server: AlphaSwarmServer, **how: Any) -> list[Any]:
    """The tools as they arrive at a client."""

    async def talk() -> list[Any]:
        async with Client(server, **how) as client:
            return (await client.list_tools()).tools

    return asyncio.run(talk())


def wire_form(tools: list[Any]) -> list[dict[str, Any]]:
    """As they stand on the wire."""
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def schema_words(node: Any) -> set[str]:
    """Every key anywhere in a schema."""
    if isinstance(node, dict):
        return set(node).union(*(schema_words(value) for value in node.values()))
    if isinstance(node, list):
        return set().union(*(schema_words(item) for item in node))
    return set()


def test_the_contract_of_the_tools_is_frozen(server: AlphaSwarmServer) -> None:
    """A client's model reads this text: it changes on purpose only. UPDATE_SNAPSHOT=1 writes it anew."""
    found = wire_form(listed(server))
    if os.environ.get("UPDATE_SNAPSHOT"):
        SNAPSHOT.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")
    assert found == json.loads(SNAPSHOT.read_text("utf-8"))


def test_the_list_is_small_flat_and_in_a_fixed_order(server: AlphaSwarmServer, workspace: Workspace) -> None:
    tools = listed(server)
    assert [tool.name for tool in tools] == [
        "data_alphas_compare",
        "data_alphas_evaluate",
        "data_alphas_get",
        "data_alphas_promote",
        "data_alphas_search",
        "data_alphas_submit",
        "data_alphas_validate",
        "data_backtests_compare",
        "data_backtests_get",
        "data_backtests_list",
        "data_backtests_start",
        "data_catalog_describe",
    ]
    assert wire_form(tools) == wire_form(listed(create_server(workspace)))
    assert len(json.dumps(wire_form(tools), separators=(",", ":"))) < 33_000
    for tool in tools:
        assert re.fullmatch(r"[a-z0-9_]{1,45}", tool.name)
        assert tool.title == tool.name.replace("_", ".")
        assert tool.meta == {ID_KEY: tool.title}
        for schema in (tool.input_schema, tool.output_schema):
            assert not schema_words(schema) & {"$ref", "$defs"}
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations.read_only_hint is (tool.name not in WRITING)
        assert tool.annotations.destructive_hint is False
        assert tool.annotations.open_world_hint is False


def test_every_figure_may_be_null(server: AlphaSwarmServer) -> None:
    """A number that is not there is null with a reason, never NaN."""
    (evaluate,) = (tool for tool in listed(server) if tool.name == "data_alphas_evaluate")
    for name in ("ic", "ic_t", "rank_ic", "rank_ic_t", "icir", "turnover", "coverage", "breakeven_bp", "sharpe"):
        assert evaluate.output_schema["properties"][name]["type"] == ["number", "null"], name


def test_the_server_says_who_it_is(server: AlphaSwarmServer) -> None:
    assert (server.name, server.version) == ("alphaswarm", __version__)
    assert "data_catalog_describe" in (server.instructions or "")
    names = {tool.name for tool in listed(server)}
    assert set(re.findall(r"data_\w+", server.instructions or "")) <= names


def test_toolsets_and_read_only(workspace: Workspace) -> None:
    assert {t.name.split("_")[1] for t in listed(create_server(workspace, toolsets=["backtests"]))} == {"backtests"}
    reading = listed(create_server(workspace, read_only=True))
    assert {tool.annotations.read_only_hint for tool in reading} == {True}
    assert "data_alphas_evaluate" not in {tool.name for tool in reading}
    with pytest.raises(UnknownName, match="alphas, backtests, catalog; did you mean 'alphas'"):
        create_server(workspace, toolsets=["alpha"])
    with pytest.raises(UnknownName, match="dotted, underscore"):
        create_server(workspace, tool_names="camel")


def test_a_tool_that_is_left_out_can_not_be_called(workspace: Workspace) -> None:
    async def talk() -> Any:
        async with Client(create_server(workspace, read_only=True)) as client:
            return await client.call_tool("data_alphas_evaluate", {"expression": FORMULA, "panel": "small"})

    answer = asyncio.run(talk())
    assert answer.is_error
    assert "unknown tool" in answer.content[0].text
    assert workspace.trials_total("small") == 0


@pytest.mark.parametrize("advertised", ["underscore", "dotted"])
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_both_spellings_and_both_protocols(workspace: Workspace, advertised: str, mode: Any) -> None:
    made = create_server(workspace, tool_names=advertised)
    assert all(("." in tool.name) == (advertised == "dotted") for tool in listed(made, mode=mode))

    async def talk() -> list[Any]:
        async with Client(made, mode=mode) as client:
            return [
                await client.call_tool(name, {"expression": FORMULA, "panel": "small"})
                for name in ("data_alphas_validate", "data.alphas.validate")
            ]

    first, second = asyncio.run(talk())
    assert first.structured_content == second.structured_content
    assert first.structured_content["valid"] is True


def test_the_text_is_the_same_data_on_one_line(ask: Callable[..., Any]) -> None:
    answer = ask("data_catalog_describe")
    (content,) = answer.content
    assert json.loads(content.text) == answer.structured_content
    assert "\n" not in content.text


def test_an_unknown_tool_lists_the_tools(ask: Callable[..., Any]) -> None:
    answer = ask("data_alphas_evalute")
    assert answer.is_error
    assert "did you mean 'data_alphas_evaluate'?" in answer.content[0].text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "expression: Field required"),
        ({"expression": FORMULA, "horizon": 0}, "horizon: Input should be greater than or equal to 1, got 0"),
        ({"expression": FORMULA, "horizon": 1.5}, "horizon: Input should be a valid integer"),
        ({"expression": FORMULA, "horizon": True}, "horizon: Value error, must be a JSON number, got True"),
        ({"expression": FORMULA, "horizon": "5"}, "horizon: Value error, must be a JSON number, got '5'"),
        ({"expression": FORMULA, "fill": "vwap"}, "fill: Input should be 'close_t1' or 'open_t1', got 'vwap'"),
        ({"expression": 7}, "expression: Input should be a valid string, got 7"),
        ({"expression": FORMULA, "pannel": "small"}, "no argument 'pannel'; valid: expression, panel"),
        ({"expression": FORMULA, "rationale": "a\x00b"}, "control characters; one stands at position 2"),
        (
            {"expression": FORMULA, "rationale": "x" * 4001},
            "rationale: Value should have at most 4000 items after validation, not 4001",
        ),
        ({"expression": FORMULA, "parents": "nobody"}, "parents: Input should be a valid list"),
        ({"expression": FORMULA, "parents": ["x"] * 17}, "parents: List should have at most 16 items"),
        ({"expression": FORMULA, "panel": "x" * 10_000}, "panel: String should have at most"),
        ({"expression": FORMULA, "run": "r9999"}, "r9999"),
    ],
)
def test_bad_arguments_are_answered_in_plain_words(
    ask: Callable[..., Any], workspace: Workspace, arguments: dict[str, Any], words: str
) -> None:
    answer = ask("data_alphas_evaluate", **({"panel": "small"} | arguments))
    text = answer.content[0].text
    assert answer.is_error
    assert words in text
    assert len(text) < 1000
    assert "pydantic" not in text
    assert "Traceback" not in text
    assert answer.meta[REFUSAL_KEY]["reason"] in text
    assert workspace.trials_total("small") == 0


def test_a_crash_is_logged_and_masked(
    ask: Callable[..., Any], workspace: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise RuntimeError("secret in /home/ann/keys.txt")

    monkeypatch.setattr(workspace, "evaluate", crash)
    with caplog.at_level(logging.ERROR):
        answer = ask("data_alphas_evaluate", expression=FORMULA, panel="small")
    assert answer.is_error
    assert answer.content[0].text.startswith("INTERNAL: data.alphas.evaluate failed inside the server")
    assert "secret" not in answer.model_dump_json()
    assert "secret in /home/ann/keys.txt" in caplog.text


def test_a_result_that_is_no_json_is_a_crash_not_a_lie(
    ask: Callable[..., Any], workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = workspace.evaluate(FORMULA, panel="small")
    monkeypatch.setattr(workspace, "trial", lambda _: trial.model_copy(update={"ic": float("nan")}))
    answer = ask("data_alphas_get", id=trial.id)
    assert answer.is_error or answer.structured_content["ic"] is None


def test_a_call_that_takes_too_long_is_answered(
    ask: Callable[..., Any], server: AlphaSwarmServer, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    server.desk.deadline = 0.1
    monkeypatch.setattr(workspace, "trial", lambda _: gate.wait(10))
    answer = ask("data_alphas_get", id="abcdef")
    gate.set()
    assert answer.is_error
    assert "BUDGET: the call must end within 0.1 s" in answer.content[0].text


def test_what_is_no_text_gets_an_answer(ask: Callable[..., Any], workspace: Workspace) -> None:
    for text in ("clo\ud800se", "close\x00", "\udfff"):
        answer = ask("data_alphas_evaluate", expression=text, panel="small")
        assert answer.is_error
        assert answer.meta[REFUSAL_KEY]["reason"] == "DSL_NON_ASCII"
    answer = ask("data_alphas_evaluate", expression=FORMULA, panel="small", rationale="a \ud83d b")
    assert answer.structured_content["rationale"] == "a \ufffd b"
    assert workspace.trials_total("small") == 4


def test_thirty_two_calls_at_once_get_their_own_answers(server: AlphaSwarmServer) -> None:
    windows = range(2, 10)

    async def talk() -> list[Any]:
        async with Client(server) as client:
            calls = []
            for window in windows:
                text = f"cs_rank(ts_mean(returns, {window}))"
                calls.append(client.call_tool("data_alphas_evaluate", {"expression": text, "panel": "small"}))
                calls.append(client.call_tool("data_alphas_validate", {"expression": text, "panel": "small"}))
                calls.append(
                    client.call_tool("data_alphas_validate", {"expression": f"wrong_{window}(close)", "panel": "small"})
                )
                calls.append(client.call_tool("data_catalog_describe", {"section": "operators", "offset": window}))
            return await asyncio.gather(*calls)

    answers = asyncio.run(talk())
    assert len(answers) == 32
    for place, window in enumerate(windows):
        evaluated, validated, wrong, page = (answer.structured_content for answer in answers[4 * place : 4 * place + 4])
        text = f"cs_rank(ts_mean(returns, {window}))"
        assert (evaluated["expression"], validated["expression"], page["offset"]) == (text, text, window)
        assert f"wrong_{window}" in wrong["message"]


def test_a_cancelled_call_leaves_a_server_that_serves(server: AlphaSwarmServer) -> None:
    async def talk() -> Any:
        async with Client(server) as client:
            tasks = [
                asyncio.create_task(
                    client.call_tool("data_alphas_evaluate", {"expression": f"ts_mean(close, {n})", "panel": "small"})
                )
                for n in range(2, 12)
            ]
            await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            return await client.call_tool("data_alphas_validate", {"expression": FORMULA, "panel": "small"})

    assert asyncio.run(talk()).structured_content["valid"] is True


def test_making_a_server_leaves_the_process_logging_alone(workspace: Workspace) -> None:
    before = list(logging.getLogger().handlers)
    create_server(workspace)
    assert logging.getLogger().handlers == before
