"""Every kernel equals its reference, whatever the market looks like."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.kernels.single import KERNELS
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.reference import REFERENCE

NAMES = sorted(name for name, operator in operators().items() if operator.expands is None)
KINDS = ("normal", "ties", "constant", "huge", "small", "near")
RELATIVE = 1e-12
EPS = np.finfo(float).eps


def allowance(name, panel):
    """Absolute error that may remain where the true value is 0 by cancellation: 1e-12 of the natural unit."""
    x, y = panel["x"], panel["y"]
    with np.errstate(all="ignore"):
        width_x, width_y = (np.nanmax(field) - np.nanmin(field) if (field == field).any() else 0.0 for field in (x, y))
        # a mean that is rounded differently by one unit moves a difference from it by as much
        size = np.nanmax(np.abs(x)) if (x == x).any() else 0.0
        shape = {"ts_corr", "ts_autocorr", "ts_rank_corr", "ts_rsq", "ts_skew", "ts_kurt", "ts_zscore", "ts_ir"}
        unit = {
            **dict.fromkeys(shape | {"cs_zscore", "group_zscore"}, 1.0),
            "ts_cov": width_x * width_y,
            "ts_beta": width_x / width_y if width_y else 0.0,  # its arguments are y, x
            "ts_resid": width_x,
            "ts_slope": width_x,
            "ts_moment": width_x**3,
            "cs_resid": width_x,
        }.get(name)
        if unit is not None:
            return RELATIVE * unit
        return 4 * EPS * size if name in ("cs_demean", "group_neutralize", "ts_av_diff", "ts_mad") else 0.0


def assert_agree(name, panel, expr):
    fast, slow = evaluate(expr, panel), evaluate(expr, panel, engine="reference")
    np.testing.assert_array_equal(np.isnan(fast), np.isnan(slow), err_msg=str(expr))
    assert not np.isinf(fast).any()
    there = ~np.isnan(slow)
    error = np.abs(fast[there] - slow[there])
    bound = np.maximum(RELATIVE * np.abs(slow[there]), allowance(name, panel))
    assert (error <= bound).all(), f"{expr}: {error.max()} beyond {bound[error.argmax()]}"


def test_both_tables_hold_every_operator():
    assert set(NAMES) == set(KERNELS) == set(REFERENCE)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_kernel_equals_reference(name, data, make_market, apply_operator):
    operator = operators()[name]
    draw = data.draw
    # the cube of 1e200 is no float, and then rounding decides whether a moment of 0 is one
    kinds = [kind for kind in KINDS if (name, kind) != ("ts_moment", "huge")]
    panel = make_market(
        draw(st.integers(0, 2**32 - 1), "seed"),
        rows=draw(st.sampled_from([1, 2, 9, 12]), "rows"),
        names=draw(st.sampled_from([1, 2, 5]), "names"),
        kind=draw(st.sampled_from(kinds), "kind"),
        # the root is masked, so only a full universe shows what a window operator does outside it
        partial=draw(st.booleans(), "partial"),
        missing=draw(st.sampled_from([0.0, 0.1, 0.6]), "missing"),
    )
    d = max(draw(st.sampled_from([1, 2, 3, 7]), "d"), operator.minimum)
    min_obs = draw(st.sampled_from([None, 1, 2, d]), "min_obs")
    expr = apply_operator(
        name, d, min(min_obs, d) if min_obs else None, whole=draw(st.sampled_from([2, 3, 5]), "whole")
    )
    assert_agree(name, panel, expr)


@pytest.mark.parametrize("name", [name for name in NAMES if operators()[name].option("min_obs")])
def test_long_windows(name, make_market, apply_operator):
    panel = make_market(3, rows=70, names=2, partial=False, missing=0.02)
    assert_agree(name, panel, apply_operator(name, 60, 30))


@pytest.mark.parametrize("name", NAMES)
def test_arguments_are_left_as_they_were(name, make_market, apply_operator):
    panel = make_market(5)
    before = {field: panel[field].copy() for field in panel.fields}
    evaluate(apply_operator(name, min_obs=1), panel)
    for field, values in before.items():
        np.testing.assert_array_equal(panel[field], values)
