"""Check, measure, find and read alphas through a client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.mcp_server.paging import size
from alphaswarm.mcp_server.security import REFUSAL_KEY
from alphaswarm.mcp_server.server import create_server
from alphaswarm.mcp_server.tools.alphas import fitting
from alphaswarm.research import Trial, Workspace

FORMULA = "cs_rank(-ts_sum(returns, 5))"


def test_evaluate_measures_stores_and_recalls(ask: Callable[..., Any], workspace: Workspace) -> None:
    answer = ask(
        "data_alphas_evaluate", expression=FORMULA, panel="small", rationale="losers come back", parents=["ab" * 8]
    )
    first = answer.structured_content
    assert Trial.model_validate(first) == workspace.trial(first["id"]).model_copy(update={"known": False})
    assert first["window"]["role"] == "search"
    assert first["source"] == "mcp"
    assert (first["rationale"], first["parents"]) == ("losers come back", ["ab" * 8])
    assert first["known"] is False
    assert len(answer.content[0].text.encode()) < 8_000
    again = ask("data_alphas_evaluate", expression="cs_rank(-ts_sum( returns,5 ))", panel="small").structured_content
    assert again["known"] is True
    assert again["id"] == first["id"]
    assert again["trials_total"] == 1
    other = ask("data_alphas_evaluate", expression=FORMULA, panel="small", horizon=1).structured_content
    assert other["trials_total"] == 2


def test_a_run_and_a_critique_are_kept_with_the_trial(ask: Callable[..., Any], workspace: Workspace) -> None:
    run = workspace.start_run(panel="small", horizon=5, proposer="random", budget=3, seed=1, intent="", config={}).id
    ask("data_alphas_evaluate", expression=FORMULA, panel="small", run=run, source="search")
    later = ask("data_alphas_evaluate", expression=FORMULA, panel="small", run=run, critique="too much turnover")
    assert later.structured_content["critique"] == "too much turnover"
    assert later.structured_content["first_run"] == run
    assert [trial.expression for trial in workspace.trials(run=run)] == [FORMULA]


def test_a_refused_formula_tells_how_to_repair_it_and_counts(ask: Callable[..., Any], workspace: Workspace) -> None:
    answer = ask("data_alphas_evaluate", expression="cs_rank(ts_men(returns, 5))", panel="small")
    assert answer.is_error
    assert answer.structured_content is None
    refusal = answer.meta[REFUSAL_KEY]
    assert (refusal["reason"], refusal["column"]) == ("DSL_NAME", 9)
    assert "ts_mean" in refusal["hint"]
    first, text, caret = answer.content[0].text.splitlines()
    assert first.startswith("DSL_NAME at column 9")
    assert caret.index("^") == text.index("ts_men")
    assert workspace.trials_total("small") == 1


def test_a_field_that_is_not_there_lists_what_is(ask: Callable[..., Any]) -> None:
    text = ask("data_alphas_evaluate", expression="cs_rank(vwap)", panel="small").content[0].text
    assert text.startswith("DSL_FIELD")
    assert "close" in text


def test_a_panel_is_a_name_of_the_catalog_never_a_file(
    ask: Callable[..., Any], tmp_path: Path, workspace: Workspace
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("date,symbol,close\n2020-01-01,password,1\n")
    for panel in (str(secret), "secret.csv", "./secret.csv", "../secret.csv", "ws/panels/small.npz", "/etc/passwd", ""):
        for tool in ("data_alphas_evaluate", "data_alphas_validate", "data_backtests_start"):
            answer = ask(tool, expression=FORMULA, panel=panel)
            assert answer.is_error
            assert answer.meta[REFUSAL_KEY]["reason"] == "UNKNOWN_NAME"
            assert "password" not in answer.content[0].text
        assert ask("data_catalog_describe", panel=panel).is_error


def test_a_program_is_built_in_its_box_and_is_an_expression_from_there_on(ask: Callable[..., Any]) -> None:
    program = "parts = [cs_rank(-ts_sum(returns, d)) for d in (5,)]\nalpha = sum(parts)\n"
    asked = {"panel": "small", "dialect": "program"}
    assert ask("data_alphas_validate", expression=program, **asked).structured_content["expression"] == FORMULA
    measured = ask("data_alphas_evaluate", expression=program, **asked).structured_content
    assert measured["expression"] == FORMULA
    assert ask("data_alphas_evaluate", expression=FORMULA, panel="small").structured_content["known"] is True
    wrong = "x = 1\nalpha = 2 * ts_mean(clse, 5)\n"
    refused = ask("data_alphas_validate", expression=wrong, **asked).structured_content
    assert (refused["valid"], refused["reason"], refused["column"]) == (False, "DSL_FIELD", 13)
    assert refused["message"].startswith("line 2: the panel has no field 'clse'")
    for bad in (wrong, "import os\n"):
        answer = ask("data_alphas_evaluate", expression=bad, **asked)
        assert answer.is_error
        assert f"in line {2 - (bad != wrong)}" in answer.content[0].text


def test_other_dialects_are_read_and_doubts_are_said(ask: Callable[..., Any], workspace: Workspace) -> None:
    text = "rank(sum(close + volume, 5.5))"
    checked = ask("data_alphas_validate", expression=text, panel="small", dialect="worldquant").structured_content
    assert checked["expression"] == "cs_rank(ts_sum(close + volume, 5))"
    assert any("5.5 rows are read as 5" in note for note in checked["notes"])
    assert checked["warnings"] == ["+ needs one unit, got price and shares in close + volume"]
    bad = ask("data_alphas_validate", expression="Ref($close, -1)", panel="small", dialect="qlib").structured_content
    assert (bad["valid"], bad["reason"], bad["column"]) == (False, "LOOKAHEAD", 13)
    assert (bad["warnings"], bad["notes"]) == ([], [])
    trial = ask("data_alphas_evaluate", expression=text, panel="small", dialect="worldquant").structured_content
    assert (trial["expression"], trial["digest"]) == (checked["expression"], checked["digest"])
    assert checked["warnings"][0] in trial["warnings"]
    assert ask("data_alphas_validate", expression="close", dialect="klingon").is_error


def test_validate_answers_for_good_and_bad_and_costs_nothing(ask: Callable[..., Any], workspace: Workspace) -> None:
    good = ask("data_alphas_validate", expression="ts_corr(close,volume,10)", panel="small").structured_content
    assert good["valid"] is True
    assert good["expression"] == "ts_corr(close, volume, 10)"
    assert good["fields"] == ["close", "volume"]
    assert good["lookback"] == 9
    assert len(good["digest"]) == 64
    bad = ask("data_alphas_validate", expression="ts_corr(close, volume)", panel="small")
    assert not bad.is_error
    assert bad.structured_content["valid"] is False
    assert bad.structured_content["reason"] == "DSL_ARITY"
    assert bad.structured_content["column"] >= 1
    missing = ask("data_alphas_validate", expression="cs_rank(vwap)", panel="small").structured_content
    assert (missing["valid"], missing["reason"]) == (False, "DSL_FIELD")
    assert workspace.trials_total("small") == 0


def test_search_finds_what_was_evaluated(ask: Callable[..., Any]) -> None:
    assert ask("data_alphas_search", text="anything").structured_content["results"] == []
    ask("data_alphas_evaluate", expression=FORMULA, panel="small", rationale="short-term reversal")
    ask("data_alphas_evaluate", expression="ts_std(returns, 20)", panel="small", rationale="risk")
    found = ask("data_alphas_search", text=FORMULA, k=1).structured_content
    assert found["embedder"]
    (best,) = found["results"]
    assert best["expression"] == FORMULA
    assert best["text"] or best["summary"]
    by_words = ask("data_alphas_search", text="short-term reversal").structured_content["results"]
    assert by_words[0]["expression"] == FORMULA
    assert ask("data_alphas_search", text=FORMULA, as_of="1990-01-01").structured_content["results"] == []


def test_search_refuses_what_it_can_not_mean(ask: Callable[..., Any]) -> None:
    assert ask("data_alphas_search", text="x", as_of="yesterday").is_error
    assert ask("data_alphas_search", text="x", as_of="2020-13-45").is_error
    assert ask("data_alphas_search", text="").is_error
    assert ask("data_alphas_search", text="x", corpus="secrets").is_error
    assert ask("data_alphas_search", text="x" * 1_000_000).is_error
    assert ask("data_alphas_search", text="a\x00b").is_error


def test_many_long_results_are_cut_to_what_a_client_can_read(ask: Callable[..., Any], workspace: Workspace) -> None:
    for window in range(2, 32):
        workspace.evaluate(f"ts_mean(returns, {window})", panel="small", rationale=f"mean {'word ' * 300}")
    answer = ask("data_alphas_search", text="mean word", k=30)
    assert len(answer.content[0].text.encode()) < 8_000
    assert 0 < len(answer.structured_content["results"]) < 30
    assert "did not fit" in answer.structured_content["note"]


def test_get_reads_by_id_and_by_digest(ask: Callable[..., Any]) -> None:
    trial = ask("data_alphas_evaluate", expression=FORMULA, panel="small").structured_content
    for key in (trial["id"], trial["id"][:12], trial["digest"][:12]):
        assert ask("data_alphas_get", id=key).structured_content["expression"] == FORMULA
    unknown = ask("data_alphas_get", id="0" * 64)
    assert unknown.is_error
    assert unknown.meta[REFUSAL_KEY]["reason"] == "UNKNOWN_NAME"
    assert ask("data_alphas_get", id="%%%%").is_error


@pytest.mark.parametrize("count", [0, 100_000])
def test_a_trial_with_long_texts_is_shortened_not_lost(workspace: Workspace, count: int) -> None:
    trial = workspace.evaluate(FORMULA, panel="small").model_copy(
        update={"rationale": "r" * count, "critique": "c" * count}
    )
    shown = fitting(trial)
    assert size(shown) < 8_000
    assert (shown == trial) == (count == 0)
    assert json.loads(shown.model_dump_json())["rank_ic"] == trial.rank_ic


def test_submit_gives_a_verdict_with_its_gates(ask: Callable[..., Any], workspace: Workspace) -> None:
    answer = ask("data_alphas_submit", expression=FORMULA, panel="small").structured_content
    assert (answer["status"], answer["tradable"], answer["k"]) == ("too short", False, None)
    assert answer["words"].startswith("too short for a verdict: ")
    assert answer["gates"][0] == {
        "name": "history",
        "tier": 1,
        "window": "search",
        "value": 180.0,
        "threshold": 504.0,
        "passed": False,
        "reason": "180 rows in the search window, 504 are needed",
    }
    assert workspace.verdict(answer["trial"]).words == answer["words"]
    assert workspace.trial(answer["trial"]).source == "mcp"
    refused = ask("data_alphas_promote", id=answer["trial"][:12])
    assert refused.is_error
    assert "the pool takes confirmed factors only" in refused.content[0].text


def test_what_a_release_showed_is_not_told_to_who_searches(tmp_path: Path) -> None:
    panels = tmp_path / "ws" / "panels"
    panels.mkdir(parents=True)
    market = synthetic_market("planted", seed=5, days=1000, names=110, ic=0.06)
    Catalog(imported=panels).add("market", market)
    with Workspace.open(panels.parent) as workspace:

        async def talk(tool: str, **arguments: Any) -> Any:
            async with Client(create_server(workspace)) as client:
                return (await client.call_tool(tool, arguments)).structured_content

        asked = {"expression": "-ts_sum(returns, 5)", "panel": "market", "horizon": 1}
        verdict = asyncio.run(talk("data_alphas_submit", **asked))
        assert verdict["status"] == "confirmed"
        assert {gate["value"] for gate in verdict["gates"] if gate["window"] == "selection"} == {None}
        pool = asyncio.run(talk("data_alphas_promote", id=verdict["trial"]))
        assert [member["digest"] for member in pool["members"]] == [verdict["digest"]]
        assert workspace.release_pool("market", 1).released is not None
        assert asyncio.run(talk("data_alphas_promote", id=verdict["trial"]))["released"] is None


def test_compare_sets_formulas_side_by_side(ask: Callable[..., Any], workspace: Workspace) -> None:
    texts = [FORMULA, "cs_rank(ts_sum(returns, 5))"]
    answer = ask("data_alphas_compare", expressions=texts, panel="small").structured_content
    assert [one["expression"] for one in answer["alphas"]] == texts
    assert answer["values"][0] == pytest.approx([1.0, -1.0])
    assert answer["results"][0] == pytest.approx([1.0, -1.0])
    assert answer["window"]["role"] == "search"
    assert workspace.trials_total("small") == 2
    assert ask("data_alphas_compare", expressions=texts[:1], panel="small").is_error
