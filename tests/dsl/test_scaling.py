"""Factors are carried outwards by the laws of the table, and values stay what they were."""

import numpy as np
import pytest

from alphaswarm.core import make_rng
from alphaswarm.dsl import canonical, evaluate, parse, random_expr
from alphaswarm.dsl.scaling import without_factor


@pytest.mark.parametrize(
    ("text", "factor", "core"),
    [
        ("2 * x", 2, "x"),
        ("-x / 4", 0.25, "-x"),
        ("2 / x", 2, "1 / x"),
        ("1 / (2 * x)", 0.5, "1 / x"),
        ("ts_corr(2 * x, y / 4, 20)", 1, "ts_corr(x, y, 20)"),
        ("cs_rank(3 * x - 3 * y)", 1, "cs_rank(x - y)"),
        ("ts_mean(x / 4, 5) * -2", 0.5, "-ts_mean(x, 5)"),
        ("(2 * x) ** 3", 8, "x ** 3"),
        ("ts_product(2 * x, 3)", 8, "ts_product(x, 3)"),
        ("max(2 * x, 2 * y)", 2, "max(x, y)"),
        ("if_else(2 * x > 0, 3 * y, 0)", 3, "if_else(0 < x, y, 0)"),
        ("ts_resid(2 * y, 4 * x, 5)", 2, "ts_resid(y, x, 5)"),
    ],
)
def test_factors_go_out(text, factor, core):
    found, rest = without_factor(parse(text))
    assert found == pytest.approx(factor)
    assert rest is canonical(parse(core))


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "2 * x + y",
        "2 * x + 2",
        "max(2 * x, 3 * y)",
        "2 * x > 1",
        "log(2 * x)",
        "hump(2 * x, 1)",
        "clip(2 * x, -1, 1)",
        "ts_product(2 * x, 3, min_obs=2)",
        "2 ** x",
        "x * 0",
        "x * 1e300",
        "ts_moment(1e-5 * x, 5, 8)",
        "ts_product(1e5 * x, 300)",
    ],
)
def test_factors_stay_where_no_law_moves_them(text):
    factor, core = without_factor(parse(text))
    assert factor == 1
    assert core is canonical(parse(text))


def test_the_values_are_those_of_the_formula(make_market):
    panel = make_market(2, rows=20, names=6, kind="normal", missing=0.02)
    moved = 0
    for seed in range(300):
        expr = random_expr(make_rng(seed, "scaling"), ["x", "y"], ["g"], max_depth=4)
        whole = parse(f"cs_demean(0.25 * ({expr})) * 3") if not expr.condition else expr
        factor, core = without_factor(whole)
        moved += factor != 1
        true, got = evaluate(whole, panel), factor * evaluate(core, panel)
        size = np.nanmax(np.abs(true), initial=0.0, where=~np.isnan(true))
        np.testing.assert_allclose(got, true, rtol=1e-9, atol=1e-9 * size, err_msg=str(whole))
    assert moved > 100
