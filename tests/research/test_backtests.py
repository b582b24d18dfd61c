from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest

from alphaswarm.backtest import EventEngine, VectorEngine, rank_weights, stagger
from alphaswarm.core import AlphaSwarmError, ExpressionError, SpecInvalid, Summary, UnknownName
from alphaswarm.dsl import evaluate
from alphaswarm.research import BacktestRecord, Workspace
from alphaswarm.research.backtest_setup import BacktestRequest
from alphaswarm.research.backtester import Backtester
from alphaswarm.trading import ProportionalCosts

REVERSAL = "cs_rank(-ts_sum(returns, 5))"


def test_the_record_is_what_the_engine_says_of_the_search_window(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small", horizon=3, cost_bp=2.0)
    rows = workspace.windows("small").search.rows(workspace.panel("small").dates)
    panel = workspace.panel("small").head(rows.stop)
    weights = stagger(rank_weights(evaluate(REVERSAL, panel)), 3)
    result = VectorEngine(costs=ProportionalCosts(2.0)).run(panel, weights)
    assert record.result_digest == result.digest
    assert record.metrics == dict(result.metrics)
    np.testing.assert_array_equal(record.equity, result.equity)
    np.testing.assert_array_equal(record.gross, result.gross)
    np.testing.assert_array_equal(record.net, result.net)
    assert sum(record.costs) == pytest.approx(result.metrics["cost"])
    assert record.dates == [str(day)[:10] for day in panel.dates]
    assert record.dates[-1] == record.as_of == record.window.end
    assert (record.horizon, record.cost_bp, record.engine, record.fill) == (3, 2.0, "vector", "close_t1")
    assert (record.kind, record.title, record.fills) == ("expression", REVERSAL, 0)
    assert record.words == "in proportion to ranks, long and short, held 3 days in staggered parts; " + (
        "filled at close t+1, 2 bp a traded dollar"
    )


def test_the_largest_positions_are_told(workspace: Workspace) -> None:
    record = workspace.backtest("close", panel="small")
    means = [abs(one.mean) for one in record.positions]
    assert means == sorted(means, reverse=True)
    assert len(means) == 12
    assert all(abs(one.most) >= max(abs(one.mean), abs(one.last)) for one in record.positions)


def test_a_backtest_is_a_look_and_counts_as_a_trial(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small")
    assert workspace.trials_total("small") == 1
    assert workspace.trial(record.trial).expression == REVERSAL
    workspace.backtest(REVERSAL, panel="small", cost_bp=10.0)
    workspace.backtest(REVERSAL, panel="small", engine="event", mode="close_to_close")
    assert workspace.trials_total("small") == 1
    with pytest.raises(ExpressionError):
        workspace.backtest("cs_rank(", panel="small")
    assert workspace.trials_total("small") == 2


def test_it_is_run_once_and_kept(workspace: Workspace, monkeypatch) -> None:
    record = workspace.backtest(REVERSAL, panel="small")
    monkeypatch.setattr(Backtester, "_traded", lambda *_, **__: pytest.fail("run again"))
    assert workspace.backtest("cs_rank(-ts_sum(returns,5))", panel="small") == record
    assert workspace.backtest_record(record.id) == record
    assert workspace.backtest_record(record.id[:9]) == record
    assert workspace.find_backtest(record.id[:9]) == record
    assert BacktestRecord.model_validate_json(record.model_dump_json()) == record


def test_its_key_is_known_before_it_is_run(workspace: Workspace) -> None:
    request = BacktestRequest("expression", REVERSAL, "small", VectorEngine())
    key = workspace.backtest_key(request)
    assert workspace.trials_total("small") == 0
    assert workspace.run_backtest(request).id == key


def test_whatever_changes_the_result_changes_the_key(workspace: Workspace) -> None:
    ways = [
        {},
        {"cost_bp": 0.0},
        {"cost_bp": 10.0},
        {"horizon": 1},
        {"engine": "event"},
        {"engine": "event", "cost_bp": 0.0},
        {"engine": "event", "mode": "cheat_on_close"},
    ]
    records = [workspace.backtest(REVERSAL, panel="small", **how) for how in ways]
    assert len({record.id for record in records}) == len({record.result_digest for record in records}) == len(ways)
    assert records[1].equity[-1] > records[0].equity[-1] > records[2].equity[-1]


def test_the_event_engine_trades_shares_from_a_capital_of_one(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small", engine="event", cost_bp=5.0)
    panel = workspace.seen("small")
    result = EventEngine(commission=5e-4).run(panel, stagger(rank_weights(evaluate(REVERSAL, panel)), 5))
    assert record.equity == (result.equity / 1e6).tolist()
    assert record.equity[0] == 1.0
    assert record.fills == len(result.fills) > 100
    assert record.cost_bp == 5.0
    assert record.settings["mode"] == result.setup["mode"]
    assert record.metrics == dict(result.metrics)


def test_modes_that_peek_say_so(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small", engine="event", mode="cheat_on_close")
    assert "for comparison only" in record.warnings[-1]


@pytest.mark.parametrize("name", ["", "abc", "zzzz", "ffffffffff"])
def test_an_unknown_backtest(workspace: Workspace, name: str) -> None:
    assert workspace.find_backtest(name) is None
    with pytest.raises(UnknownName):
        workspace.backtest_record(name)


def test_what_can_not_be_run(workspace: Workspace) -> None:
    with pytest.raises(UnknownName, match="valid: event, vector"):
        workspace.backtest(REVERSAL, panel="small", engine="warp")
    with pytest.raises(SpecInvalid, match="a fill and no mode"):
        workspace.backtest(REVERSAL, panel="small", mode="next_open")
    with pytest.raises(SpecInvalid, match="takes no fill"):
        workspace.backtest(REVERSAL, panel="small", engine="event", fill="close_t1")
    for cost in (-1.0, float("nan"), float("inf"), 1e9):
        with pytest.raises(AlphaSwarmError, match="cost_bp"):
            workspace.backtest(REVERSAL, panel="small", cost_bp=cost)
    assert workspace.trials_total("small") == 0


def test_the_memory_learns_of_it(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small")
    (found,) = workspace.memory.query(REVERSAL, corpus="backtest_summaries").results
    assert (found.id, found.as_of, found.score) == (record.id, record.as_of, 1.0)
    assert found.summary["sharpe"] == record.metrics["sharpe"]


def test_the_list_begins_with_the_newest(workspace: Workspace, clock) -> None:
    first = workspace.backtest(REVERSAL, panel="small")
    assert workspace.backtests() == [first]
    workspace.run_backtest(BacktestRequest("baseline", "equal_weight", "small", VectorEngine()))
    assert {record.kind for record in workspace.backtests("small")} == {"expression", "baseline"}
    assert len(workspace.backtests(limit=1)) == 1
    assert workspace.backtests("another") == []


def test_the_summary_has_no_curves(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small")
    summary = record.summary()
    assert isinstance(summary, Summary)
    assert not {"equity", "dates", "gross"} & set(summary.body)
    assert summary.digest == workspace.backtest_record(record.id).summary().digest


def test_a_record_of_an_earlier_version_can_be_read(open_workspace, tmp_path) -> None:
    with open_workspace() as workspace:
        record = workspace.backtest(REVERSAL, panel="small")
    new = ("kind", "name", "rule", "settings", "words", "periods", "gross", "net", "costs", "positions", "fills")
    body = {
        name: value
        for name, value in record.model_dump(mode="json").items()
        if name not in (*new, "decisions", "decisions_digest")
    }
    ledger = sqlite3.connect(tmp_path / "ws" / "ledger.db")
    ledger.execute(
        "INSERT INTO backtests (id, trial, body, created) VALUES (?, ?, ?, '')",
        ("ab" * 32, record.trial, json.dumps(body | {"id": "ab" * 32})),
    )
    ledger.execute("DROP TABLE other_backtests")
    ledger.commit()
    ledger.close()
    with open_workspace() as workspace:
        assert workspace.backtest_record("abab").title == REVERSAL
