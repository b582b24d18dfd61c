import json
import os
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from scipy.stats import spearmanr

from alphaswarm.core import canonical_json
from alphaswarm.evaluation import DECAY_HORIZONS, Evaluator, Window
from alphaswarm.evaluation.evidence import _fitness, _monotonicity

AGAIN = """
import numpy as np
from alphaswarm.core import Panel, canonical_json
from alphaswarm.evaluation import Evaluator, Window
rng = np.random.default_rng(5)
close = np.exp(np.cumsum(rng.normal(0, 0.01, (90, 40)), axis=0))
panel = Panel.from_arrays({"close": close}, np.datetime64("2020-01-01") + np.arange(90), [f"S{i}" for i in range(40)])
evaluator = Evaluator(panel, Window("search", panel.dates[0], panel.dates[-1]))
print(canonical_json(evaluator.evidence(rng.standard_normal((90, 40))).to_dict()).decode())
"""


@pytest.fixture(scope="module")
def found(market, factor):
    return Evaluator(market, Window("search", market.dates[0], market.dates[119])).evidence(factor)


def test_it_is_plain_json_with_the_documented_keys(found):
    plain = found.to_dict()
    assert json.loads(canonical_json(plain)) == plain
    names = """
        window horizon fill cost_bp n_days undefined_days ic ic_t icir rank_ic rank_ic_t rank_icir decay quantiles
        evidence evidence_t evidence_z evidence_days residual_rank_ic residual_rank_ic_t monotonicity fitness
        spread coverage rank_autocorr turnover breakeven_bp sharpe net_sharpe ann_return max_drawdown
        missing_returns missing
    """
    assert set(plain) == set(names.split())
    assert list(plain["decay"]) == [str(h) for h in DECAY_HORIZONS]
    assert plain["decay"]["5"] == {"rank_ic": plain["rank_ic"], "t": plain["rank_ic_t"]}
    assert list(plain["net_sharpe"]) == ["0", "1", "2", "5", "10"]
    assert plain["net_sharpe"]["0"] == plain["sharpe"]
    assert plain["window"]["role"] == "search"


def test_fitness_and_monotonicity_by_hand(found):
    assert found.fitness == pytest.approx(
        found.sharpe * (2 * abs(found.ann_return) / max(found.turnover, 0.125)) ** 0.5
    )
    assert found.monotonicity == pytest.approx(spearmanr(range(5), found.quantiles)[0])
    # an alpha with a Sharpe ratio of 1.5 that earns 10 % on one side and trades 40 % a day
    assert _fitness(1.5, 0.05, 0.4) == pytest.approx(0.75)
    assert _fitness(1.5, 0.05, 0.01) == _fitness(1.5, 0.05, 0.125)
    assert _monotonicity((1.0, 2.0, 3.0, 4.0, 9.0)) == 1
    assert _monotonicity((1.0, None, 3.0)) is None
    assert _monotonicity((1.0, 1.0, 1.0)) is None


def test_costs_only_lower_the_sharpe(found):
    curve = list(found.net_sharpe.values())
    assert curve == sorted(curve, reverse=True)


def test_an_empty_factor_is_plain_json_too(market):
    evaluator = Evaluator(market, Window("search", market.dates[0], market.dates[119]))
    plain = evaluator.evidence(np.full(market.shape, np.nan)).to_dict()
    assert json.loads(canonical_json(plain)) == plain


def test_it_is_frozen(found):
    with pytest.raises(FrozenInstanceError):
        found.ic = 1.0


def test_every_process_finds_the_same_bytes():
    runs = {
        subprocess.run(
            [sys.executable, "-c", AGAIN],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1
    assert json.loads(runs.pop())["n_days"] == 84
