from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.backtest import VectorEngine, rank_weights, stagger
from alphaswarm.core import AlphaSwarmError, ExpressionError, UnknownName
from alphaswarm.dsl import evaluate
from alphaswarm.research import BacktestRecord, Workspace
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
    assert record.dates == [str(day)[:10] for day in panel.dates]
    assert record.dates[-1] == record.as_of == record.window.end
    assert (record.horizon, record.cost_bp, record.engine, record.fill) == (3, 2.0, "vector", "close_t1")


def test_a_backtest_is_a_look_and_counts_as_a_trial(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small")
    assert workspace.trials_total("small") == 1
    assert workspace.trial(record.trial).expression == REVERSAL
    workspace.backtest(REVERSAL, panel="small", cost_bp=10.0)
    assert workspace.trials_total("small") == 1
    with pytest.raises(ExpressionError):
        workspace.backtest("cs_rank(", panel="small")
    assert workspace.trials_total("small") == 2


def test_it_is_run_once_and_kept(workspace: Workspace, monkeypatch) -> None:
    record = workspace.backtest(REVERSAL, panel="small")
    monkeypatch.setattr("alphaswarm.research.workspace.run_engine", lambda *_, **__: pytest.fail("run again"))
    assert workspace.backtest("cs_rank(-ts_sum(returns,5))", panel="small") == record
    assert workspace.backtest_record(record.id) == record
    assert workspace.backtest_record(record.id[:9]) == record
    assert BacktestRecord.model_validate_json(record.model_dump_json()) == record


def test_each_cost_and_horizon_is_a_backtest_of_its_own(workspace: Workspace) -> None:
    records = [
        workspace.backtest(REVERSAL, panel="small", **how)
        for how in ({}, {"cost_bp": 0.0}, {"cost_bp": 10.0}, {"horizon": 1})
    ]
    assert len({record.id for record in records}) == 4
    assert records[1].equity[-1] > records[0].equity[-1] > records[2].equity[-1]


@pytest.mark.parametrize("name", ["", "abc", "zzzz", "ffffffffff"])
def test_an_unknown_backtest(workspace: Workspace, name: str) -> None:
    with pytest.raises(UnknownName):
        workspace.backtest_record(name)


def test_what_can_not_be_run(workspace: Workspace) -> None:
    with pytest.raises(UnknownName, match="valid: vector"):
        workspace.backtest(REVERSAL, panel="small", engine="event")
    for cost in (-1.0, float("nan"), float("inf"), 1e9):
        with pytest.raises(AlphaSwarmError, match="cost_bp"):
            workspace.backtest(REVERSAL, panel="small", cost_bp=cost)
    assert workspace.trials_total("small") == 0


def test_the_memory_learns_of_it(workspace: Workspace) -> None:
    record = workspace.backtest(REVERSAL, panel="small")
    (found,) = workspace.memory.query(REVERSAL, corpus="backtest_summaries").results
    assert (found.id, found.as_of, found.score) == (record.id, record.as_of, 1.0)
    assert found.summary["sharpe"] == record.metrics["sharpe"]
