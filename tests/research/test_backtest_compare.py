from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.backtest import VectorEngine, metrics
from alphaswarm.core import AlphaSwarmError
from alphaswarm.research import Workspace
from alphaswarm.research.backtest_compare import compare_backtests
from alphaswarm.research.backtest_setup import BacktestRequest

REVERSAL = "cs_rank(-ts_sum(returns, 5))"


def test_figures_and_correlations_side_by_side(workspace: Workspace) -> None:
    one = workspace.backtest(REVERSAL, panel="small")
    same = workspace.backtest(REVERSAL, panel="small", cost_bp=0.0)
    opposite = workspace.backtest("-cs_rank(-ts_sum(returns, 5))", panel="small", cost_bp=0.0)
    market = workspace.run_backtest(BacktestRequest("baseline", "equal_weight", "small", VectorEngine()))
    found = compare_backtests([one, same, opposite, market])
    assert [each.id for each in found.backtests] == [one.id, same.id, opposite.id, market.id]
    assert found.backtests[0].metrics == one.metrics
    assert found.benchmark == market.id
    matrix = np.array(found.correlations)
    np.testing.assert_allclose(np.diag(matrix), 1.0)
    np.testing.assert_allclose(matrix, matrix.T)
    assert matrix[0, 1] > 0.99
    assert matrix[1, 2] < -0.99
    assert (found.backtests[3].alpha, found.backtests[3].beta) == (None, None)

    held = np.array(same.gross) > 0
    days = np.flatnonzero(held | np.r_[False, held[:-1]])
    ours, theirs = (np.array(each.equity)[days] / np.array(each.equity)[days - 1] - 1 for each in (same, market))
    expected = metrics.against(ours, theirs, 252.0)
    assert found.backtests[1].alpha == pytest.approx(expected["alpha"])
    assert found.backtests[1].beta == pytest.approx(expected["beta"])


def test_without_a_baseline_there_is_no_alpha(workspace: Workspace) -> None:
    found = compare_backtests([workspace.backtest(text, panel="small") for text in ("close", "volume")])
    assert found.benchmark is None
    assert {each.beta for each in found.backtests} == {None}


def test_what_never_traded_correlates_with_nothing(workspace: Workspace) -> None:
    idle = workspace.run_backtest(BacktestRequest("baseline", "minimum_variance", "small", VectorEngine()))
    found = compare_backtests([workspace.backtest("close", panel="small"), idle])
    assert found.correlations[0] == [pytest.approx(1.0), None]
    assert found.correlations[1] == [None, None]


def test_only_what_can_be_compared(workspace: Workspace) -> None:
    record = workspace.backtest("close", panel="small")
    with pytest.raises(AlphaSwarmError, match="2 to 20"):
        compare_backtests([record])
    with pytest.raises(AlphaSwarmError, match="2 to 20"):
        compare_backtests([record] * 21)
    with pytest.raises(AlphaSwarmError, match="one panel and window"):
        compare_backtests([record, record.model_copy(update={"panel_digest": "0" * 64})])
