import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.backtest import rank_rows
from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.evaluation import Exposures, forward_returns, newey_west_t, rank_ic_series
from alphaswarm.evaluation.ic import rank_value_correlation


@pytest.fixture(scope="module")
def exposures(wide):
    return Exposures.of(wide)


@pytest.fixture(scope="module")
def labels(wide):
    return [forward_returns(wide, 1), forward_returns(wide, 5)]


def with_rows(panel, start, change):
    """The panel with `change(values, name)` put in place of each field's rows from `start` on."""
    fields = {}
    for name, values in panel.fields.items():
        fields[name] = values.copy()
        fields[name][start:] = change(values[start:], name)
    return Panel.from_arrays(fields, panel.dates, panel.symbols, panel.universe)


def test_residuals_are_those_of_plain_least_squares(wide, exposures, labels, residual_by_hand):
    *by_hand, risk = residual_by_hand(wide, *labels)
    for label, expected, found in zip(labels, by_hand, exposures.residuals(labels), strict=True):
        assert np.isfinite(expected).sum() > 4000
        np.testing.assert_allclose(found, expected, atol=1e-9 * np.nanstd(label))
        np.testing.assert_allclose(exposures.per_risk(found), expected / risk, atol=1e-9)


def test_labels_together_are_labels_alone(exposures, labels):
    gaps = labels[0].copy()
    gaps[np.random.default_rng(0).random(gaps.shape) < 0.05] = np.nan
    together = exposures.residuals([*labels, gaps])
    for label, found in zip([*labels, gaps], together, strict=True):
        np.testing.assert_array_equal(exposures.residuals([label])[0], found)
    part = exposures.residuals([label[260:300] for label in labels], 260)
    np.testing.assert_array_equal(part, np.array(together[:2])[:, 260:300])
    assert exposures.residuals([]) == []


def test_who_takes_part(wide, exposures, labels):
    found = exposures.residuals(labels)[0]
    assert np.isnan(found[:252]).all()
    assert np.isfinite(found[252:320]).any(axis=1).all()
    assert np.isnan(found[~wide.universe]).all()
    assert np.isnan(found[:, 8]).all()  # never a member
    assert np.isnan(found[:315, 4]).all()  # listed at row 200: no loading before the refit at row 336
    few = Panel.from_arrays({name: v[:, :65] for name, v in wide.fields.items()}, wide.dates, wide.symbols[:65])
    thin = np.isfinite(Exposures.of(few).residuals([forward_returns(few, 1)])[0]).sum(axis=1)
    assert set(thin[thin > 0]) <= set(range(60, 66))


@settings(max_examples=12, deadline=None)
@given(st.integers(240, 329), st.integers(0, 999))
def test_nothing_later_is_needed(wide, exposures, labels, row, seed):
    rng = np.random.default_rng(seed)
    other = Exposures.of(with_rows(wide, row, lambda values, _: rng.uniform(1, 99, values.shape)))
    np.testing.assert_array_equal(other.styles[:, :row], exposures.styles[:, :row])
    early = [label[:row] for label in labels]
    np.testing.assert_array_equal(other.residuals(early), exposures.residuals(early))


@pytest.mark.parametrize("rows", [100, 252, 253, 300])
def test_the_head_of_a_panel_has_the_same_rows(wide, exposures, labels, rows):
    head = Exposures.of(wide.head(rows))
    early = [label[:rows] for label in labels]
    np.testing.assert_array_equal(head.residuals(early), exposures.residuals(early))
    assert np.isnan(head.residuals(early)).all() == (rows <= 252)


def test_names_may_be_permuted(wide, exposures, labels):
    order = np.random.default_rng(1).permutation(75)
    fields = {name: values[:, order] for name, values in wide.fields.items()}
    other = Exposures.of(
        Panel.from_arrays(fields, wide.dates, [wide.symbols[i] for i in order], wide.universe[:, order])
    )
    found = other.residuals([label[:, order] for label in labels])
    np.testing.assert_allclose(found, np.array(exposures.residuals(labels))[:, :, order], atol=1e-12)


def test_residuals_have_nothing_left_of_the_exposures(exposures, labels):
    again = exposures.residuals(exposures.residuals(labels))
    np.testing.assert_allclose(again, exposures.residuals(labels), atol=1e-14)
    explained = [np.where(np.isfinite(labels[0]), 3.0 + exposures.styles[0] - 0.1 * exposures.styles[1], np.nan)]
    found = exposures.residuals(explained)[0]
    assert set(np.unique(found[np.isfinite(found)])) == {0.0}  # and not rounding, which could be ranked


def test_returns_and_dollar_volume_are_found_where_they_are(wide, exposures):
    close = wide["close"]
    returns = np.full(close.shape, np.nan)
    returns[1:] = close[1:] / close[:-1] - 1
    dollars = {"dollar_volume": wide["dollar_volume"]}
    given_returns = Panel.from_arrays({"returns": returns} | dollars, wide.dates, wide.symbols, wide.universe)
    np.testing.assert_allclose(Exposures.of(given_returns).styles, exposures.styles, rtol=1e-12)
    shares = {"close": close, "volume": wide["dollar_volume"] / close}
    from_shares = Panel.from_arrays(shares, wide.dates, wide.symbols, wide.universe)
    np.testing.assert_allclose(Exposures.of(from_shares).styles[0], exposures.styles[0])
    assert Exposures.of(from_shares).names == ("beta", "volatility", "size")


def test_without_volume_size_is_left_out_and_said_so(wide, labels):
    bare = Exposures.of(Panel.from_arrays({"close": wide["close"]}, wide.dates, wide.symbols, wide.universe))
    assert bare.names == ("beta", "volatility")
    assert "dollar_volume" in bare.missing["size"]
    assert np.isfinite(bare.residuals(labels)[0]).any()


def test_labels_must_fit(exposures, labels):
    with pytest.raises(EvidenceInvalid, match=r"75 symbols.*\(330, 70\) from row 0"):
        exposures.residuals([labels[0][:, :70]])
    with pytest.raises(EvidenceInvalid, match="330 rows"):
        exposures.residuals([labels[0]], 1)


def test_arrays_are_read_only(exposures):
    for array in (exposures.styles, exposures.volatility, exposures.components):
        assert not array.flags.writeable


def test_ranks_see_an_alpha_where_only_the_skew_differs():
    # every name's return has mean 0 and a skew; the more volatile, the further its median lies below
    rng = np.random.default_rng(8)
    days, names = 700, 120
    risk = np.exp(rng.uniform(-5, -3.5, names))
    returns = risk * (rng.exponential(1, (days, names)) - 1) + 0.005 * rng.standard_normal((days, 1))
    dates = np.datetime64("2020-01-01") + np.arange(days)
    fields = {"returns": returns, "close": np.cumprod(1 + returns, axis=0)}
    panel = Panel.from_arrays(fields, dates, [f"K{i}" for i in range(names)])
    exposures = Exposures.of(panel)
    (residual,) = exposures.residuals([forward_returns(panel, 1)])
    quiet = -exposures.volatility
    assert newey_west_t(rank_ic_series(quiet, residual)) > 8
    assert abs(newey_west_t(rank_value_correlation(rank_rows(quiet), exposures.per_risk(residual)))) < 2.5


AGAIN = """
import numpy as np
from alphaswarm.core import Panel, canonical_json
from alphaswarm.evaluation import Evaluator, Window
rng = np.random.default_rng(5)
returns = rng.normal(0, 0.01, (290, 1)) + 0.01 * rng.standard_normal((290, 300))
dates = np.datetime64("2020-01-01") + np.arange(290)
panel = Panel.from_arrays({"close": np.cumprod(1 + returns, axis=0)}, dates, [f"S{i}" for i in range(300)])
evaluator = Evaluator(panel, Window("search", panel.dates[0], panel.dates[-1]))
print(canonical_json(evaluator.evidence(rng.standard_normal((290, 300))).to_dict()).decode())
"""


def test_threads_change_no_byte():
    runs = {
        subprocess.run(
            [sys.executable, "-c", AGAIN],
            env={**os.environ, "OPENBLAS_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(runs) == 1
    assert '"evidence_days":32' in runs.pop()
