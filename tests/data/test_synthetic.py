"""Synthetic markets: deterministic, consistent, without alpha, with the factor noise of real ones."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import rankdata

from alphaswarm.core import DataInvalid, Panel, UnknownName
from alphaswarm.data import synthetic_market
from alphaswarm.data.synthetic import FIELDS, GROUPS, synthetic_meta


def rank_ics(factor: np.ndarray, close: np.ndarray) -> np.ndarray:
    """Daily rank IC of a factor at t with close[t+2] / close[t+1] - 1; on days when all names have both."""
    label = close[2:] / close[1:-1] - 1
    days = np.isfinite(factor[:-2]).all(axis=1)
    one, two = (rankdata(np.round(values[days], 12), axis=1) for values in (factor[:-2], label))
    one, two = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (one, two))
    return (one * two).sum(axis=1) / np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))


def trailing(values: np.ndarray, rows: int) -> np.ndarray:
    """Sum of the last `rows` rows."""
    total = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(np.nan_to_num(values), axis=0)])
    result = np.full(values.shape, np.nan)
    result[rows:] = total[rows + 1 :] - total[1:-rows]
    return result


@pytest.fixture(scope="module")
def null(markets: Callable[[str], Panel]) -> Panel:
    return markets("null")


def test_shape(null: Panel) -> None:
    assert null.shape == (1500, 500)
    assert tuple(null.fields) == FIELDS
    assert tuple(null.groups) == GROUPS
    assert len(set(null.groups["sector"][0].tolist())) == 10
    assert np.is_busday(null.dates.astype("datetime64[D]")).all()


@pytest.mark.parametrize("days", [1, 5, 20])
def test_factor_noise_is_like_life(null: Panel, days: int) -> None:
    ics = rank_ics(-trailing(null["returns"], days), null["close"])
    assert 0.12 <= ics.std() <= 0.16
    assert abs(ics.mean()) < 3.5 * ics.std() / np.sqrt(ics.size)


def test_nothing_predicts_anything(null: Panel) -> None:
    squares = trailing(null["returns"] ** 2, 20)
    signals = {
        "volume": null["volume"],
        "range": null["high"] / null["low"],
        "gap": null["open"] / null["close"],
        "volatility": squares,
        "illiquidity": squares / trailing(null["dollar_volume"], 20),
        "price": null["close"],
    }
    for name, factor in signals.items():
        ics = rank_ics(factor, null["close"])
        assert abs(ics.mean()) < 3.5 * ics.std() / np.sqrt(ics.size), name


def test_equal_arguments_equal_bytes_in_every_process() -> None:
    code = (
        "from alphaswarm.data import synthetic_market as market;"
        "print([market(kind, seed=3, days=90, names=40).digest for kind in ('null', 'planted', 'regimes')])"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    there = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    here = [synthetic_market(kind, seed=3, days=90, names=40).digest for kind in ("null", "planted", "regimes")]
    assert there.stdout.strip() == str(here)
    assert len(set(here)) == 3


def test_seeds_differ() -> None:
    assert synthetic_market(seed=1, days=60, names=30).digest != synthetic_market(seed=2, days=60, names=30).digest


def test_regimes_are_told_and_real() -> None:
    panel = synthetic_market("regimes", names=100)
    spells = panel.meta["regimes"]
    assert spells[0][0] == str(panel.dates[0])[:10]
    assert {state for _, state in spells} == {"rising", "flat", "falling"}
    starts = np.searchsorted(panel.dates, np.array([day for day, _ in spells], "datetime64[ns]"))
    states = np.array([spells[np.searchsorted(starts, row, "right") - 1][1] for row in range(1500)])
    market = panel["returns"].mean(axis=1)
    spread = {state: np.nanstd(market[states == state]) for state in ("rising", "falling")}
    drift = {state: np.nanmean(market[states == state]) for state in ("rising", "falling")}
    assert spread["falling"] > 1.3 * spread["rising"]
    assert drift["rising"] > drift["falling"]
    null = synthetic_market("null", names=100)
    assert "regimes" not in null.meta
    assert null.digest != panel.digest


@pytest.mark.parametrize("kind", ["null", "planted", "regimes"])
def test_meta_is_plain(kind: str) -> None:
    panel = synthetic_market(kind, days=60, names=30)  # type: ignore[arg-type]
    assert json.loads(json.dumps(dict(panel.meta))) == dict(panel.meta)
    assert panel.meta["seed"] == 1
    assert any("synthetic" in caveat for caveat in panel.meta["caveats"])
    assert synthetic_meta(kind)["source"] == panel.meta["source"]  # type: ignore[arg-type]


def test_bad_arguments() -> None:
    with pytest.raises(UnknownName, match="valid: null, planted, regimes"):
        synthetic_market("noise")  # type: ignore[arg-type]
    for options in ({"days": 59}, {"names": 29}):
        with pytest.raises(DataInvalid, match="at least 60 days and 30 names"):
            synthetic_market(**options)


def test_the_draws_do_not_change(null: Panel) -> None:
    """A change of the generator changes every stored result on it: then change this on purpose."""
    first = hashlib.sha256(np.round(null["returns"][1:50], 6).tobytes()).hexdigest()
    assert first == "a82d4f21adcb69b22158e6dba6a905c20fcc7493ddc6f39af8fd8f5d633ba011"
