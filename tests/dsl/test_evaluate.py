"""Evaluation of expressions and batches on a panel."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from alphaswarm.core import BudgetExceeded, DataInvalid, ExpressionError, FieldNotFound, Panel, UnknownName
from alphaswarm.dsl import call, field, parse
from alphaswarm.dsl.evaluate import evaluate, warm_up
from alphaswarm.dsl.kernels import engine as engine_of_kernels
from alphaswarm.dsl.kernels.schedule import Schedule
from alphaswarm.dsl.kernels.steps import Lowering
from alphaswarm.dsl.reference import engine as engine_of_reference


@pytest.fixture
def panel(make_market):
    return make_market(0, rows=20, names=5)


def test_text_and_tree_give_the_same(panel):
    text = "cs_rank(ts_mean(x, 3)) - 0.5"
    np.testing.assert_array_equal(evaluate(text, panel), evaluate(parse(text), panel))


def test_the_root_is_masked_by_the_universe(panel):
    got = evaluate("x", panel)
    np.testing.assert_array_equal(got, np.where(panel.universe, panel["x"], np.nan))
    got[:] = 0.0  # the caller's own array
    assert not (panel["x"] == 0.0).all()


def test_time_operators_see_history_outside_the_universe():
    x = np.arange(4.0)[:, None]
    universe = np.array([[False], [False], [True], [True]])
    panel = Panel.from_arrays({"x": x}, np.arange("2020-01-01", "2020-01-05", dtype="datetime64[D]"), ["a"], universe)
    np.testing.assert_array_equal(evaluate("ts_sum(x, 2)", panel)[:, 0], [np.nan, np.nan, 3.0, 5.0])
    # but a rank is made of members only, so what is built on ranks starts with membership
    np.testing.assert_array_equal(evaluate("ts_sum(cs_rank(x), 2)", panel)[:, 0], [np.nan, np.nan, np.nan, 2.0])


def test_a_batch_equals_its_members(panel):
    texts = ["ts_mean(x, 3)", "cs_rank(ts_mean(x, 3))", "x", "ts_mean(x, 3)", "group_mean(x * y, g)"]
    batch = evaluate(texts, panel)
    assert isinstance(batch, list)
    for text, values in zip(texts, batch, strict=True):
        np.testing.assert_array_equal(values, evaluate(text, panel))
    assert not np.shares_memory(batch[0], batch[3])
    assert evaluate([], panel) == []


def test_shared_parts_are_one_step():
    lowering = Lowering()
    texts = ["ts_mean(x, 3) + ts_mean(x, 3)", "-ts_mean(x, 3)", "ts_mean(x, 4)", "ts_mean(x, 3)"]
    schedule = Schedule.of([lowering(parse(text)) for text in texts])
    windows = [step.window for event in schedule.events for step in event.steps if step.kernel == "block_sums"]
    assert windows == [3, 4]


def test_returns_are_derived_from_close():
    close = np.array([[10.0, 20.0], [11.0, 10.0]])
    dates = np.arange("2020-01-01", "2020-01-03", dtype="datetime64[D]")
    derived = Panel.from_arrays({"close": close}, dates, ["a", "b"])
    np.testing.assert_array_equal(evaluate("returns", derived), evaluate("pct_change(close, 1)", derived))
    own = Panel.from_arrays({"close": close, "returns": 0 * close}, dates, ["a", "b"])
    np.testing.assert_array_equal(evaluate("returns", own), np.zeros((2, 2)))


@pytest.mark.parametrize("engine", ["numba", "reference"])
def test_numbers_stand_for_constant_series(panel, engine):
    for text in ("x + 1", "1 - x", "max(x, 0.5, y)", "if_else(x > 0, 1, 0 - 1)", "fill(x, 0)", "x * (2 + 3)"):
        got = evaluate(text, panel, engine=engine)
        assert got.shape == panel.shape, text
    np.testing.assert_array_equal(
        evaluate("trade_when(1, x, 0)", panel, engine=engine), evaluate("x", panel, engine=engine)
    )


def test_options_and_literals_reach_the_operator(panel):
    full = evaluate("ts_mean(x, 5)", panel)
    some = evaluate("ts_mean(x, 5, min_obs=2)", panel)
    assert np.isnan(full).sum() > np.isnan(some).sum()
    np.testing.assert_allclose(evaluate("cs_scale(x, a=3)", panel), 3 * evaluate("cs_scale(x)", panel), rtol=1e-15)


def test_fixed_groups_equal_the_same_labels_on_every_date(panel):
    labels = np.array(["u", "v", "", "u", "v"])
    args = (dict(panel.fields), panel.dates, panel.symbols, panel.universe)
    fixed = Panel.from_arrays(*args, {"g": labels})
    dated = Panel.from_arrays(*args, {"g": np.tile(labels, (20, 1)).copy()})
    for text in ("group_rank(x, g)", "group_backfill(x, g, 3)"):
        np.testing.assert_array_equal(evaluate(text, fixed), evaluate(text, dated))


def test_float32_is_float32_throughout(panel):
    single = replace(
        panel, fields={name: values.astype(np.float32).astype(np.float64) for name, values in panel.fields.items()}
    )
    got = evaluate("ts_mean(x, 3)", single, dtype="float32")
    assert got.dtype == np.float32
    expected = evaluate("ts_mean(x, 3)", single)
    np.testing.assert_array_equal(got, expected.astype(np.float32))
    assert not np.isinf(evaluate("x * 1e200", panel, dtype="float32")).any()
    assert np.isnan(evaluate("x * 1e30 * 1e30", panel, dtype="float32")).all()


def test_nothing_is_infinite(panel):
    for text in ("exp(exp(exp(x * 9)))", "x / (x - x)", "1e300 * (1 + abs(x)) * 1e10"):
        assert not np.isinf(evaluate(text, panel)).any()


def test_what_is_refused(panel):
    with pytest.raises(UnknownName, match="numba, reference"):
        evaluate("x", panel, engine="numbaa")
    with pytest.raises(UnknownName, match="float32, float64"):
        evaluate("x", panel, dtype="float16")
    with pytest.raises(DataInvalid, match="threads"):
        evaluate("x", panel, threads=0)
    with pytest.raises(FieldNotFound, match="close"):
        evaluate("close", panel)
    with pytest.raises(FieldNotFound, match="sector"):
        evaluate("group_rank(x, sector)", panel)
    with pytest.raises(ExpressionError):
        evaluate("ts_mean(x, ", panel)
    with pytest.raises(ExpressionError):  # a tree is checked too
        evaluate(call("ts_mean", field("x"), 0), panel)


@pytest.mark.parametrize("engine", ["numba", "reference"])
def test_memory_limit_is_kept_before_anything_is_computed(panel, monkeypatch, engine):
    texts = [f"ts_mean(cs_rank(x), {d})" for d in range(2, 12)]
    for module in (engine_of_kernels, engine_of_reference):
        monkeypatch.setattr(module, "_Run" if module is engine_of_kernels else "_run", None)
    with pytest.raises(BudgetExceeded, match="memory_limit must be at least") as refused:
        evaluate(texts, panel, engine=engine, memory_limit=1000)
    monkeypatch.undo()
    enough = int(str(refused.value).split("at least ")[1].split(" ")[0])
    assert len(evaluate(texts, panel, engine=engine, memory_limit=enough)) == 10
    with pytest.raises(BudgetExceeded):
        evaluate(texts, panel, engine=engine, memory_limit=enough - 1)


def test_a_batch_that_is_too_large_is_done_in_parts(panel):
    texts = [f"ts_mean(cs_rank(ts_std(x, {d})) * cs_rank(y), {d})" for d in range(2, 40)]
    with pytest.raises(BudgetExceeded) as refused:
        evaluate(texts, panel, memory_limit=1)
    enough = int(str(refused.value).split("at least ")[1].split(" ")[0])
    for parts, whole in zip(evaluate(texts, panel, memory_limit=enough), evaluate(texts, panel), strict=True):
        np.testing.assert_array_equal(parts, whole)


def test_a_deep_tree_is_no_danger_to_the_stack(panel):
    expr = field("x")
    for _ in range(30):
        expr = call("abs", call("neg", expr)) if expr.depth < 30 else expr
    assert evaluate(expr, panel).shape == panel.shape


def test_results_do_not_depend_on_the_batch(panel):
    alone = evaluate("cs_rank(-ts_sum(x, 5, min_obs=2))", panel)
    batch = evaluate(["ts_sum(x, 5, min_obs=2)", "cs_rank(-ts_sum(x, 5, min_obs=2))"], panel)
    np.testing.assert_array_equal(alone, batch[1])
    np.testing.assert_array_equal(alone, evaluate("cs_rank(-ts_sum(x, 5, min_obs=2))", panel))


def test_warm_up_compiles_every_kernel_for_good(panel):
    warm_up()
    code = """
import gc
from numba.core.dispatcher import Dispatcher
from alphaswarm.dsl.evaluate import warm_up
warm_up()
made = [one for one in gc.get_objects() if isinstance(one, Dispatcher) and "alphaswarm.dsl" in one.py_func.__module__]
print(len(made), sum(sum(one.stats.cache_misses.values()) for one in made))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    kernels, misses = map(int, done.stdout.split())
    assert kernels > 10
    assert misses == 0
