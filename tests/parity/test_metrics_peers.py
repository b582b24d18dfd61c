"""Metrics are those of empyrical-reloaded 0.7.1 and quantstats 0.0.86 where they mean the same.

What differs, and why:

- Alpha: empyrical compounds its daily alpha over the year; ours is its sum, as quantstats has it.
- Value at risk: quantstats takes the quantile of a normal distribution with the sample's mean and deviation unless
  asked for the historical one, which is ours and empyrical's.
- Days with a return of 0 are neither won nor lost for quantstats and for us.
- The drawdown's duration: quantstats' table counts calendar days from the first row under water to the row that is
  back at the high; ours counts rows under water.
"""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.backtest import metrics
from alphaswarm.core import make_rng

PYTHON = Path(__file__).parents[2] / ".oracles" / "bin" / "python"
PERIODS = 252

pytestmark = [
    pytest.mark.oracles,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment of benchmarks/oracles.txt"),
]

SCRIPT = """
import json, sys, warnings
warnings.simplefilter("ignore")
import empyrical as ep
import pandas as pd
import quantstats.stats as qs
asked = json.load(sys.stdin)
days = pd.date_range("2015-01-01", periods=len(asked["returns"]), freq="D")  # calendar days: rows are days
r, b = pd.Series(asked["returns"], days), pd.Series(asked["benchmark"], days)
greeks = qs.greeks(r, b, periods=252.0)
drawdowns = qs.drawdown_details(qs.to_drawdown_series(r))
json.dump({
    "empyrical": {
        "ann_return": ep.annual_return(r, annualization=252),
        "volatility": ep.annual_volatility(r, annualization=252),
        "sharpe": ep.sharpe_ratio(r, annualization=252),
        "sortino": ep.sortino_ratio(r, annualization=252),
        "max_drawdown": ep.max_drawdown(r),
        "calmar": ep.calmar_ratio(r, annualization=252),
        "var": ep.value_at_risk(r, 0.05),
        "cvar": ep.conditional_value_at_risk(r, 0.05),
        "beta": ep.beta(r, b),
        "alpha": ep.alpha(r, b, annualization=252),
    },
    "quantstats": {
        "volatility": qs.volatility(r, periods=252),
        "sharpe": qs.sharpe(r, periods=252),
        "sortino": qs.sortino(r, periods=252),
        "max_drawdown": qs.max_drawdown(r),
        "hit_rate": qs.win_rate(r),
        "profit_factor": qs.profit_factor(r),
        "beta": greeks["beta"],
        "alpha": greeks["alpha"],
        "var": qs.value_at_risk(r),
        "ann_return": qs.cagr(r, periods=252),
        "calmar": qs.calmar(r, periods=252),
        "cvar": qs.conditional_value_at_risk(r, method="historical"),
        "longest": int(drawdowns["days"].max()),
    },
}, sys.stdout, default=float)
"""


@pytest.fixture(scope="module", params=[0, 1, 2])
def series(request):
    """Returns that fall first, or rise first, with some days of nothing, and a benchmark."""
    rng = make_rng(request.param, "peers of metrics")
    benchmark = 0.0004 + 0.01 * rng.standard_t(5, 700)
    returns = 0.0002 + 0.6 * benchmark + 0.006 * rng.standard_normal(700)
    returns[rng.random(700) < 0.05] = 0.0
    returns[0] = (-0.02, 0.01, 0.0)[request.param]
    return returns, benchmark


@pytest.fixture(scope="module")
def theirs(series):
    asked = json.dumps({"returns": series[0].tolist(), "benchmark": series[1].tolist()})
    done = subprocess.run([PYTHON, "-c", SCRIPT], input=asked, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def ours(series):
    returns, benchmark = series
    equity = np.cumprod(1 + returns)
    return {
        "ann_return": metrics.annual_return(returns, PERIODS),
        "volatility": metrics.volatility(returns, PERIODS),
        "sharpe": metrics.sharpe(returns, PERIODS),
        "sortino": metrics.sortino(returns, PERIODS),
        "max_drawdown": metrics.max_drawdown(equity),
        "calmar": metrics.calmar(returns, equity, PERIODS),
        "hit_rate": metrics.hit_rate(returns),
        "profit_factor": metrics.profit_factor(returns),
        "var": metrics.value_at_risk(returns),
        "cvar": metrics.expected_shortfall(returns),
        "duration": metrics.max_drawdown_duration(equity),
        **metrics.against(returns, benchmark, PERIODS),
    }


def test_empyrical(ours, theirs):
    same = theirs["empyrical"].keys() - {"alpha"}
    assert {name: ours[name] for name in same} == pytest.approx({name: theirs["empyrical"][name] for name in same})
    assert (1 + ours["alpha"] / PERIODS) ** PERIODS - 1 == pytest.approx(theirs["empyrical"]["alpha"])


def test_quantstats(ours, theirs):
    same = theirs["quantstats"].keys() - {"var", "longest"}
    assert {name: ours[name] for name in same} == pytest.approx({name: theirs["quantstats"][name] for name in same})


def test_quantstats_takes_a_normal_quantile(series, ours, theirs):
    returns, _ = series
    normal = returns.mean() - 1.6448536269514722 * returns.std(ddof=1)
    assert theirs["quantstats"]["var"] == pytest.approx(normal)
    assert ours["var"] != pytest.approx(normal)


def test_quantstats_counts_days_of_a_drawdown(ours, theirs):
    assert abs(theirs["quantstats"]["longest"] - ours["duration"]) <= 1
