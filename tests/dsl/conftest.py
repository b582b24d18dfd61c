"""Small markets of every awkward kind, and each operator applied to their fields."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl import call, field, group
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.signature import SlotKind

KINDS = ("normal", "ties", "constant", "huge", "small", "near")
# A number for each literal that is neither window nor lag.
LITERALS = {"q": 0.3, "f": 0.9, "h": 0.2, "k": 1.2, "low": -0.5, "high": 0.5}


def numbers(rng, shape, kind, missing=0.1):
    """Values of a kind: many ties, constant runs, extreme scale, or equal but for the last bits."""
    x = rng.normal(size=shape)
    if kind == "ties":
        x = np.round(x * 2) / 2
    elif kind == "constant":
        x = np.where(np.arange(shape[0])[:, None] < shape[0] // 2, 0.1, 3.3) * np.ones(shape)
    elif kind == "huge":
        x = x * 1e200
    elif kind == "small":
        x = x * 1e-200
    elif kind == "near":
        x = 100.0 + np.round(x) * 2.0**-40
    x[rng.random(shape) < missing] = np.nan
    return x


@pytest.fixture(scope="session")
def kinds():
    return KINDS


@pytest.fixture(scope="session")
def make_market():
    """`make(seed, rows, names, kind, partial)`: fields x, y, z, group g, an all-missing and an empty day."""

    def make(seed, rows=12, names=4, kind="normal", partial=True, missing=0.1):
        rng = np.random.default_rng(seed)
        shape = (rows, names)
        fields = {name: numbers(rng, shape, kind, missing) for name in ("x", "y", "z")}
        universe = rng.random(shape) < 0.8 if partial else np.ones(shape, bool)
        if rows > 6 and missing:
            fields["x"][4] = np.nan
        if rows > 6 and partial:
            universe[6] = False
        labels = rng.choice(["", "tech", "oil", "food"], shape)
        dates = np.datetime64("2020-01-01") + np.arange(rows)
        return Panel.from_arrays(fields, dates, [f"s{i}" for i in range(names)], universe, {"g": labels})

    return make


@pytest.fixture(scope="session")
def apply_operator():
    """`apply(name, d, min_obs, whole)`: the operator on fields x, y, z, their signs as conditions, and group g."""

    def apply(name, d=3, min_obs=None, whole=3):
        operator = operators()[name]
        series = iter([field("x"), field("y"), field("z")])
        conditions = iter([call("gt", field("y"), 0), call("gt", field("z"), 0)])
        args = []
        for slot in operator.slots:
            if slot.kind is SlotKind.SERIES:
                args.append(next(series))
            elif slot.kind is SlotKind.CONDITION:
                args.append(next(conditions))
            elif slot.kind is SlotKind.GROUP:
                args.append(group("g"))
            elif slot.kind is SlotKind.WINDOW:
                args.append(max(d, operator.minimum))
            elif slot.kind is SlotKind.LAG:
                args.append(min(d, 2))
            elif slot.kind is SlotKind.INTEGER:
                args.append(whole if name != "sma_cn" else min(whole, d))
            else:
                args.append(LITERALS[slot.name])
        if operator.variadic:
            args.append(field("z"))
        options = {} if min_obs is None or operator.option("min_obs") is None else {"min_obs": min_obs}
        return call(name, *args, **options)

    return apply


# Operators whose value has a unit of its own, in which 0 by cancellation is still told from 0: what that unit is,
# made of the widths of the series arguments.
UNITS = {
    **dict.fromkeys(("ts_corr", "ts_autocorr", "ts_rank_corr", "ts_rsq", "ts_skew", "ts_kurt"), lambda *_: 1.0),
    **dict.fromkeys(("ts_zscore", "ts_ir", "cs_zscore", "group_zscore"), lambda *_: 1.0),
    **dict.fromkeys(
        ("ts_resid", "ts_slope", "cs_resid", "ts_mad", "cs_winsorize", "cs_mad_clip", "decay_linear", "decay_exp"),
        lambda x, *_: x,
    ),
    "ts_cov": lambda x, y: x * y,
    "ts_beta": lambda y, x: y / x if x else 0.0,
}
# A mean that is rounded differently by one unit moves a difference from it by as much.
AWAY_FROM_A_MEAN = ("cs_demean", "group_neutralize", "ts_av_diff", "ts_mad")


@pytest.fixture(scope="session")
def assert_agree():
    """`assert_agree(name, got, true, series, literals)`: NaN for NaN, no infinity, and close to the true values.

    Close is 1e-12 of the value for float64 and 2e-7 for float32, or as much of the operator's own unit.
    """

    def width(x):
        held = x[~np.isnan(x)]
        return float(held.max() - held.min()) if held.size else 0.0

    def check(name, got, true, series, literals=(), said=""):
        relative, eps = (2e-7, 6e-8) if got.dtype == np.float32 else (1e-12, 2.0**-53)
        np.testing.assert_array_equal(np.isnan(got), np.isnan(true), err_msg=f"{name} {said}")
        assert not np.isinf(got).any()
        with np.errstate(all="ignore"):
            unit = UNITS[name](*map(width, series)) if name in UNITS else 0.0
            if name == "ts_moment":
                unit = float(np.float64(width(series[0])) ** literals[1])
        allowed = relative * unit
        if name in AWAY_FROM_A_MEAN:
            allowed += 8 * eps * max(np.abs(series[0][~np.isnan(series[0])]), default=0.0)
        there = ~np.isnan(true)
        wide = true[there].astype(float)
        error = np.abs(got[there].astype(float) - wide)
        bound = np.maximum(relative * np.abs(wide), allowed) + float(np.finfo(got.dtype).smallest_subnormal)
        worst = int((error - bound).argmax()) if error.size else 0
        assert (error <= bound).all(), f"{name} {said}: off by {error[worst]}, {bound[worst]} is allowed"

    return check
