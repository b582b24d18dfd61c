"""Whole batches: types, threads, odd sizes, memory, and the caller's arrays."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel, make_rng
from alphaswarm.dsl import check, parse, random_expr
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.kernels import engine
from alphaswarm.dsl.kernels.engine import evaluate_batch
from alphaswarm.dsl.operators import operators

TEXTS = [
    "cs_rank(ts_corr(x, cs_rank(y), 5)) - 0.5",
    "ts_mean(group_neutralize(x, g), 3) / ts_std(z, 4)",
    "if_else(x > y, cs_resid(x, y), ts_rank(z, 6))",
    "cs_rank(x)",
    "cs_rank(x) * 2",
    "x",
    "group_backfill(x, g, 3)",
    "ts_argmax(cs_zscore(x + y), 7)",
]


def market(rows, names, seed=0):
    rng = np.random.default_rng(seed)
    fields = {name: rng.normal(size=(rows, names)).astype(np.float32).astype(np.float64) for name in "xyz"}
    fields["x"][rng.random((rows, names)) < 0.05] = np.nan
    dates = np.datetime64("2020-01-01") + np.arange(rows)
    universe = rng.random((rows, names)) < 0.9
    labels = rng.choice(["", "a", "b"], (rows, names))
    return Panel.from_arrays(fields, dates, [f"s{n}" for n in range(names)], universe, {"g": labels})


@pytest.mark.parametrize(("rows", "names"), [(1, 1), (2, 16), (9, 17), (33, 50)])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-6)])
def test_batches_of_any_size(rows, names, dtype, tolerance):
    panel = market(rows, names)
    batch = evaluate(TEXTS, panel, dtype=dtype)
    for text, got, expected in zip(TEXTS, batch, evaluate(TEXTS, panel, engine="reference"), strict=True):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(expected), err_msg=text)
        np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance, err_msg=text)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_change_no_bit(dtype):
    panel = market(40, 70)
    for one, two in zip(
        evaluate(TEXTS, panel, dtype=dtype), evaluate(TEXTS, panel, dtype=dtype, threads=3), strict=True
    ):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_operator_takes_both_types(dtype, make_market, apply_operator):
    panel = make_market(4, rows=20, names=18, partial=False)
    single = Panel.from_arrays(
        {name: panel[name].astype(np.float32) for name in panel.fields},
        panel.dates,
        panel.symbols,
        panel.universe,
        panel.groups,
    )
    for name, operator in operators().items():
        if operator.expands is None:
            expr = apply_operator(name, 5)
            got, expected = evaluate(expr, single, dtype=dtype), evaluate(expr, single, engine="reference")
            np.testing.assert_array_equal(np.isnan(got), np.isnan(expected), err_msg=name)
            scale = max(float(np.nanmax(np.abs(expected), initial=0.0)), 1.0)
            tolerance = 2e-7 if dtype == "float32" else 1e-12
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * scale, err_msg=name)


@pytest.mark.parametrize("names", [15, 16])
def test_permuted_symbols_permute_float32(names):
    panel = market(30, names)
    order = np.random.default_rng(1).permutation(names)
    other = Panel.from_arrays(
        {name: panel[name][:, order] for name in panel.fields},
        panel.dates,
        [panel.symbols[n] for n in order],
        panel.universe[:, order],
        {"g": panel.groups["g"][:, order]},
    )
    for text in TEXTS:
        if "resid" not in text and "backfill" not in text:
            got, expected = evaluate(text, other, dtype="float32"), evaluate(text, panel, dtype="float32")[:, order]
            np.testing.assert_array_equal(got, expected, err_msg=text)


def test_float32_does_not_see_the_future():
    panel = market(40, 20)
    for seed in range(25):
        expr = check(random_expr(make_rng(seed), ["x", "y", "z"], ["g"], max_depth=5))
        whole, early = (evaluate(expr, one, dtype="float32") for one in (panel, panel.head(23)))
        np.testing.assert_array_equal(early, whole[:23], err_msg=str(expr))


def test_a_result_is_the_callers_own():
    panel = market(5, 5)
    first, second = evaluate(["cs_rank(x)", "cs_rank(x)"], panel)
    first[:] = 7.0
    assert not (second == 7.0).any()
    assert not (evaluate("cs_rank(x)", panel) == 7.0).any()


def test_halves_are_tried_where_buffers_are_many(monkeypatch):
    panel = market(10, 20)
    whole = evaluate(TEXTS, panel)
    monkeypatch.setattr(engine, "MOST_BUFFERS", 1)
    for got, expected in zip(evaluate(TEXTS, panel), whole, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_no_roots():
    assert evaluate_batch([], market(3, 3), "float64", 1, None) == []


def test_refused_data_are_done_again_with_care():
    panel = market(30, 20)
    huge = Panel.from_arrays({"x": panel["x"] * 1e200, "y": panel["y"]}, panel.dates, panel.symbols)
    text = "ts_std(x, 5) + cs_rank(ts_corr(x, y, 4))"
    np.testing.assert_allclose(evaluate(parse(text), huge), evaluate(text, huge, engine="reference"), rtol=1e-12)
