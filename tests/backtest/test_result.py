import json

import numpy as np
import pytest

from alphaswarm.backtest import VectorEngine
from alphaswarm.core import EvidenceInvalid, canonical_json
from alphaswarm.trading import ProportionalCosts

RETURNS = np.array([[np.nan], [0.0], [0.0], [0.1], [-0.2], [0.05]])
WEIGHTS = np.array([[0.0], [1.0], [1.0], [1.0], [1.0], [1.0]])


def run(bp=0.0, weights=WEIGHTS):
    return VectorEngine(ProportionalCosts(bp)).run(returns=RETURNS, weights=weights)


def test_metrics_start_with_the_first_trade():
    figures = run().metrics  # bought at close 2: earns .1, -.2, .05
    assert figures["days"] == 4
    assert figures["total_return"] == pytest.approx(1.1 * 0.8 * 1.05 - 1)
    assert figures["hit_rate"] == pytest.approx(2 / 3)
    assert figures["max_drawdown"] == pytest.approx(-0.2)
    assert figures["turnover"] == pytest.approx(0.25)  # one entry; all in, so no drift
    assert figures["gross"] == figures["net"] == pytest.approx(1.0)


def test_metrics_are_plain_json_whatever_happened():
    for weights in (WEIGHTS, np.zeros_like(WEIGHTS)):
        figures = dict(run(weights=weights).metrics)
        assert json.loads(canonical_json(figures)) == figures
    assert figures["sharpe"] is None
    assert figures["max_drawdown"] == 0.0


def test_arrays_are_read_only():
    result = run()
    for array in (result.equity, result.returns, result.turnover, result.costs, result.positions):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_the_digest_follows_content_and_setup():
    assert run().digest == run().digest
    assert run().digest != run(bp=5).digest
    assert run().digest != run(weights=0.5 * WEIGHTS).digest
    free = np.zeros_like(WEIGHTS)
    assert run(weights=free).digest != run(bp=5, weights=free).digest  # the same curve by other rules


def test_several_backtests_have_no_common_metrics():
    several = run(weights=np.stack([WEIGHTS, 0.5 * WEIGHTS]))
    with pytest.raises(EvidenceInvalid, match="2 backtests"):
        _ = several.metrics
    assert [one.metrics["gross"] for one in several] == [pytest.approx(1.0), pytest.approx(0.5, abs=0.05)]
    assert len(run()) == 1
    assert run()[0].digest == run().digest
    with pytest.raises(IndexError):
        run()[1]


def test_costs_and_equity_add_up():
    result = run(bp=50)
    free = run()
    before_cost = result.equity + result.costs
    np.testing.assert_allclose(result.costs, 0.005 * result.turnover * before_cost, atol=1e-15)
    assert result.metrics["cost"] == pytest.approx(result.costs.sum())
    assert result.equity[-1] < free.equity[-1]
    assert result.returns[0] == 0
    np.testing.assert_allclose(np.cumprod(1 + result.returns), result.equity)
