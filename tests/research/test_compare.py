from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from alphaswarm.core import AlphaSwarmError, ExpressionError
from alphaswarm.dsl import evaluate
from alphaswarm.research import Workspace
from alphaswarm.research.compare import MOST_COMPARED

TEXTS = ["cs_rank(volume)", "-ts_sum(returns, 5)", "ts_sum(returns, 5)"]


def test_figures_and_correlations_side_by_side(workspace: Workspace) -> None:
    found = workspace.compare(TEXTS, panel="small", horizon=2)
    assert [one.expression for one in found.alphas] == [
        "cs_rank(volume)", "-ts_sum(returns, 5)", "ts_sum(returns, 5)"
    ]  # fmt: skip
    trial = workspace.evaluate(TEXTS[0], panel="small", horizon=2)
    assert (found.alphas[0].trial, found.alphas[0].rank_ic) == (trial.id, trial.rank_ic)
    assert (found.window.role, found.window.end) == ("search", trial.window.end)
    seen = workspace.seen("small")
    a, b = (evaluate(text, seen) for text in TEXTS[:2])
    days = [row for row in range(seen.shape[0]) if np.isfinite(b[row]).all()]
    expected = np.mean([spearmanr(a[day], b[day]).statistic for day in days])
    assert found.values[0][1] == pytest.approx(expected)
    assert found.values[1] == pytest.approx([expected, 1.0, -1.0])
    assert found.results[1] == pytest.approx([found.results[0][1], 1.0, -1.0])
    assert workspace.trials_total("small") == 3  # looking is counted


def test_what_can_not_be_compared(workspace: Workspace) -> None:
    for texts in (TEXTS[:1], TEXTS * (MOST_COMPARED // 2)):
        with pytest.raises(AlphaSwarmError, match="2 to 20 expressions"):
            workspace.compare(texts, panel="small")
    with pytest.raises(ExpressionError):
        workspace.compare(["close", "close +"], panel="small")
