"""Nodes: interned, frozen, and counted right."""

import copy
import gc
import sys
import threading
import weakref

import numpy as np
import pytest

from alphaswarm.core import ExpressionError, Reason
from alphaswarm.dsl import Expr, call, canonical, check, field, group, number, parse, random_expr
from alphaswarm.dsl.limits import MAX_DEPTH, MAX_NODES

close = field("close")


def test_equal_trees_are_one_object():
    assert field("close") is close
    assert number(2) is number(2.0)
    assert number(-0.0) is number(0)
    assert call("ts_mean", close, 5) is call("ts_mean", close, number(5))
    assert call("neg", number(3)) is number(-3)
    assert call("adv", 20) is call("ts_mean", field("dollar_volume"), 20)
    assert call("ts_mean", close, 5, min_obs=5) is call("ts_mean", close, 5)
    assert call("cs_scale", close, a=1) is call("cs_scale", close)
    assert field("sector") is not group("sector")


def test_copies_are_the_object_itself():
    expr = parse("ts_mean(close, 5, min_obs=2) + 1")
    assert copy.copy(expr) is expr
    assert copy.deepcopy([expr])[0] is expr


def test_a_node_is_frozen():
    with pytest.raises(AttributeError, match="immutable"):
        close.name = "open"
    with pytest.raises(AttributeError, match="immutable"):
        del close.name
    with pytest.raises(TypeError, match="parse"):
        Expr()


def test_what_nobody_uses_is_forgotten():
    expr = parse("ts_mean(close, 499) + ts_sum(a_field_of_this_test, 498)")
    ghost = weakref.ref(expr)
    assert ghost() is expr
    del expr
    gc.collect()
    assert ghost() is None


def test_threads_get_the_same_object():
    found = []
    start = threading.Barrier(8)

    def work():
        start.wait()
        found.append([parse(f"ts_mean(close, {rows}) * {rows}") for rows in range(2, 60)])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(one is other for row in found for one, other in zip(row, found[0], strict=True))


def test_parts_of_a_node():
    expr = parse("ts_corr(close, volume, 20, min_obs=10)")
    assert (expr.kind, expr.op, expr.options) == ("call", "ts_corr", (("min_obs", 10),))
    assert expr.args == (close, field("volume"), number(20))
    assert [part.kind for part in expr.args] == ["field", "field", "number"]
    assert (close.kind, close.name, number(2.5).value, group("sector").name) == ("field", "close", 2.5, "sector")
    assert repr(expr) == "Expr('ts_corr(close, volume, 20, min_obs=10)')"


def test_counts_and_names():
    expr = parse("group_rank(close - open, sector) * ts_mean(close - open, 5)")
    assert (expr.depth, expr.nodes) == (4, 11)
    assert (expr.fields, expr.groups) == (("close", "open"), ("sector",))


@pytest.mark.parametrize(
    ("text", "lookback", "warmup"),
    [
        ("close", 0, 0),
        ("close + open", 0, 0),
        ("delay(close, 1)", 1, 1),
        ("delta(close, 5)", 5, 5),
        ("ts_mean(close, 5)", 4, 4),
        ("ts_mean(close, 5, min_obs=1)", 4, 4),
        ("ts_mean(delay(close, 3), 5)", 7, 7),
        ("ts_corr(ts_mean(close, 10), delay(close, 2), 5)", 13, 13),
        ("cs_rank(-ts_sum(returns, 5))", 4, 4),
        ("ts_autocorr(close, 20, 3)", 22, 22),
        ("ts_backfill(close, 5)", 4, 4),
        ("group_backfill(close, sector, 5)", 4, 4),
        ("ema(close, 12)", None, 11),
        ("ts_mean(ema(close, 12), 5)", None, 15),
        ("sma_cn(close, 12, 2)", None, 11),
        ("trade_when(close > open, close, 0)", None, 0),
        ("hump(close, 0.1) + ts_mean(close, 5)", None, 4),
        ("ts_days_since(close > open)", None, 0),
    ],
)
def test_rows_of_history(text, lookback, warmup):
    expr = parse(text)
    assert (expr.lookback, expr.warmup) == (lookback, warmup)


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("close", False),
        ("close > open", True),
        ("close > open and close > 1", True),
        ("is_nan(close)", True),
        ("delay(close > open, 1)", True),
        ("fill(close > open, 0)", True),
        ("fill(close > open, 2)", False),
        ("if_else(close > open, close > 1, 0)", True),
        ("if_else(close > open, close, 0)", False),
        ("if_else(close > open, 1, 0)", False),
        ("trade_when(close > open, close > 1, 0)", True),
        ("(close > open) + 0", False),
    ],
)
def test_conditions(text, condition):
    assert parse(text).condition is condition


def test_constants():
    expr = parse("close * (1 + 2) + max(1, 2) ** 3")
    assert [node.constant for node in expr.walk() if node.op in ("add", "max", "pow")] == [3, 2, 8, None]
    assert close.constant is None
    assert np.isnan(call("div", 1, 0).constant)
    assert np.isnan(call("add", call("div", 1, 0), 1).constant)


def test_walk_gives_each_node_once_arguments_first():
    expr = parse("(close - open) * (close - open) + ts_mean(close - open, 5)")
    order = list(expr.walk())
    assert len(order) == len(set(order)) == 7
    assert order[-1] is expr
    assert all(order.index(part) < order.index(node) for node in order for part in node.args)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (-5, "-5"),
        (0.1, "0.1"),
        (1 / 3, "0.3333333333333333"),
        (1e15, "1000000000000000"),
        (1e16, "1e+16"),
        (1e-5, "1e-05"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
    ],
)
def test_numbers_print_exactly(value, text):
    assert str(number(value)) == text
    assert parse(f"close + {text}").args[1].value == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_are_finite(value):
    with pytest.raises(ExpressionError) as caught:
        number(value)
    assert caught.value.reason is Reason.DSL_CONSTANT


@pytest.mark.parametrize("name", ["", "Close", "1a", "a b", "__x", "and", "not", "é"])
def test_names_are_checked(name):
    with pytest.raises(ExpressionError) as caught:
        field(name)
    assert caught.value.reason is Reason.DSL_SYNTAX
    with pytest.raises(ExpressionError):
        group("z" * 65)


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: call("nope", close), Reason.DSL_NAME),
        (lambda: call("ts_mean", close, 5, k=1), Reason.DSL_NAME),
        (lambda: call("abs", close, close), Reason.DSL_ARITY),
        (lambda: call("max", close), Reason.DSL_ARITY),
    ],
)
def test_builders_refuse_what_has_no_shape(build, reason):
    with pytest.raises(ExpressionError) as caught:
        build()
    assert caught.value.reason is reason


def test_builders_keep_the_caps():
    expr = close
    for _ in range(MAX_DEPTH - 1):
        expr = call("abs", expr)
    with pytest.raises(ExpressionError, match="levels"):
        call("abs", expr)
    wide = close
    for _ in range(7):
        wide = call("add", wide, wide)
    assert wide.nodes == MAX_NODES - 1
    with pytest.raises(ExpressionError, match="nodes"):
        call("add", wide, wide)


def test_no_step_recurses():
    """The deepest tree passes with fewer frames left than it has levels."""
    expr = parse("abs(" * 10 + "-" * 10 + "(" * 10 + "close" + " + 1)" * 10 + " ** 2" + ")" * 10)
    assert expr.depth == MAX_DEPTH
    text = str(expr)
    del expr  # so that it is built again
    depth, frame = 0, sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + MAX_DEPTH - 4)
    try:
        again = parse(text)
        printed, name = str(again), canonical(again)
        check(again)
    finally:
        sys.setrecursionlimit(limit)
    assert printed == text
    assert name.fields == ("close",)


def test_fields_are_sorted_whatever_the_order():
    for seed in range(20):
        expr = random_expr(np.random.default_rng(seed), ("zeta", "alpha", "mid"), max_depth=6)
        assert list(expr.fields) == sorted(expr.fields)
