"""Equity is that of vectorbt where the settings mean the same.

Its `from_orders` does what our engines do at the close with: `size_type` "targetpercent"; all names in one group
with `cash_sharing`, so that targets are fractions of the whole account; weights shifted by a row, as it fills at the
close that it is given an order for; `call_seq` "auto", which sells before it buys; `fees` as a fraction of the value.
It values the account once, at that close and before any cost of the bar, as we do. A row of NaN orders nothing.
What it does otherwise: it lends nothing, so that buys beyond the cash are cut where ours owe it; gross exposure
stays below 1 here, and no account meets that limit.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.backtest import EventEngine, VectorEngine
from alphaswarm.core import Panel, make_rng
from alphaswarm.trading import ProportionalCosts

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".oracles" / "bin" / "python"
PANELS = 50
RATES = (0.0, 0.0005, 0.002)

pytestmark = [
    pytest.mark.oracles,
    pytest.mark.skipif(not PYTHON.exists(), reason="needs the environment of benchmarks/oracles.txt"),
]


def draw(seed):
    """Closes, weights and (commission, cash): long only or long and short, rows that hold, names held at 0."""
    rng = make_rng(seed, "vectorbt")
    days, names = int(rng.integers(20, 120)), int(rng.integers(1, 13))
    close = rng.uniform(5, 300, names) * np.exp(np.cumsum(0.02 * rng.standard_normal((days, names)), axis=0))
    weights = rng.standard_normal((days, names))
    if seed % 2:
        weights = np.abs(weights)
    weights[rng.random(weights.shape) < 0.2] = 0.0
    weights *= rng.uniform(0.1, 0.9) / np.maximum(np.abs(weights).sum(axis=1, keepdims=True), 1e-9)
    weights[rng.random(days) < 0.2] = np.nan
    return close, weights, np.array([RATES[seed % len(RATES)], 1e6])


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("vectorbt")
    given = {}
    for k in range(PANELS):
        given[f"close_{k}"], given[f"weights_{k}"], given[f"setup_{k}"] = draw(k)
    np.savez(directory / "cases.npz", **given)
    script = ROOT / "benchmarks" / "backtest" / "vectorbt_peer.py"
    asked = [PYTHON, script, "equity", directory / "cases.npz", directory / "equity.npz"]
    subprocess.run(asked, check=True, capture_output=True)
    with np.load(directory / "equity.npz") as found:
        return dict(found)


@pytest.mark.parametrize("seed", range(PANELS))
def test_equity_is_the_same(seed, theirs):
    close, weights, (rate, cash) = draw(seed)
    dates = np.datetime64("2020-01-01") + np.arange(len(close))
    panel = Panel.from_arrays({"close": close}, dates, [f"S{name}" for name in range(close.shape[1])])
    vector = VectorEngine(ProportionalCosts(1e4 * rate), capital=cash).run(panel, weights)
    event = EventEngine(mode="close_to_close", commission=rate, cash=cash).run(panel, weights)
    for result in (vector, event):
        np.testing.assert_allclose(result.equity, theirs[f"equity_{seed}"], rtol=1e-9)
