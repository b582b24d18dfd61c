"""The grammar: precedence, calls, options, caps; and that printing and reading undo each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import ExpressionError, Reason, UnknownName
from alphaswarm.dsl import call, field, group, number, parse, random_expr
from alphaswarm.dsl.limits import MAX_BRACKETS, MAX_BYTES, MAX_DEPTH, MAX_NODES

a, b, c, d = (field(name) for name in "abcd")


def refused(text):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    assert caught.value.text == text
    return caught.value.reason, caught.value.column


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", a),
        ("(a)", a),
        ("a + b * c", call("add", a, call("mul", b, c))),
        ("(a + b) * c", call("mul", call("add", a, b), c)),
        ("a - b - c", call("sub", call("sub", a, b), c)),
        ("a - (b - c)", call("sub", a, call("sub", b, c))),
        ("a / b / c", call("div", call("div", a, b), c)),
        ("a ** b ** c", call("pow", a, call("pow", b, c))),
        ("(a ** b) ** c", call("pow", call("pow", a, b), c)),
        ("-a ** b", call("neg", call("pow", a, b))),
        ("(-a) ** b", call("pow", call("neg", a), b)),
        ("a ** -b ** c", call("pow", a, call("neg", call("pow", b, c)))),
        ("a ** -b * c", call("mul", call("pow", a, call("neg", b)), c)),
        ("-a * b", call("mul", call("neg", a), b)),
        ("a * -b", call("mul", a, call("neg", b))),
        ("a - -b", call("sub", a, call("neg", b))),
        ("--a", call("neg", call("neg", a))),
        ("-2 * a", call("mul", number(-2), a)),
        ("- 2 * a", call("mul", number(-2), a)),
        ("-2 ** a", call("neg", call("pow", number(2), a))),
        ("a ** -2", call("pow", a, number(-2))),
        ("a-2", call("sub", a, number(2))),
        ("a--2", call("sub", a, number(-2))),
        ("-(2) * a", call("mul", number(-2), a)),
        ("a < b + c", call("lt", a, call("add", b, c))),
        ("(a < b) < c", call("lt", call("lt", a, b), c)),
        ("not a < b", call("not", call("lt", a, b))),
        ("not (a < b) and c > d", call("and", call("not", call("lt", a, b)), call("gt", c, d))),
        ("a < b or c < d and a == d", call("or", call("lt", a, b), call("and", call("lt", c, d), call("eq", a, d)))),
        ("a != b or a >= c", call("or", call("ne", a, b), call("ge", a, c))),
        ("not not a <= b", call("not", call("not", call("le", a, b)))),
        ("(not a < b) * c", call("mul", call("not", call("lt", a, b)), c)),
        ("add(a, neg(b))", call("add", a, call("neg", b))),
        ("max(a, b, c)", call("max", a, b, c)),
        ("ts_mean(a, 5, min_obs=2)", call("ts_mean", a, 5, min_obs=2)),
        ("ts_mean ( (a) , (5) , min_obs = 2 )", call("ts_mean", a, 5, min_obs=2)),
        ("ts_mean(a, 5, min_obs=5)", call("ts_mean", a, 5)),
        ("cs_scale(a, 2)", call("cs_scale", a, a=2)),
        ("cs_scale(a, a=2)", call("cs_scale", a, a=2)),
        ("group_rank(a, sector)", call("group_rank", a, group("sector"))),
        ("group_rank(sector, (sector))", call("group_rank", field("sector"), group("sector"))),
        ("adv(20)", call("ts_mean", field("dollar_volume"), 20)),
        ("adv_shares(20, min_obs=3)", call("ts_mean", field("volume"), 20, min_obs=3)),
        ("cs_rank(\n  -ts_sum(returns, 5)\n)", call("cs_rank", call("neg", call("ts_sum", field("returns"), 5)))),
        ("trade_when(a > 1, 1, 0)", call("trade_when", call("gt", a, 1), 1, 0)),
    ],
)
def test_what_a_text_means(text, tree):
    assert parse(text) is tree
    assert parse(str(tree)) is tree


@pytest.mark.parametrize(
    "text",
    [
        "cs_rank(-ts_sum(returns, 5))",
        "-a * b + c ** -2",
        "a - (b - c) / (d * a)",
        "(a < b) == (c < d)",
        "not (a < b and c < d) or a == b",
        "(-2) ** a ** b",
        "-(a + b) * -(c / d)",
        "-a ** b",
        "(a ** b) ** c",
        "ts_mean(a, 20, min_obs=10)",
        "1e+16 * a + 1e-07 * b + 0.1",
        "if_else(not a < b, fill(a, 0), -b)",
    ],
)
def test_text_without_needless_parentheses_prints_as_it_was(text):
    assert str(parse(text)) == text


def test_the_same_formula_is_the_same_object():
    assert parse("cs_rank( a+b )") is parse("cs_rank(add(a, b))")
    assert parse("a + b") is not parse("b + a")


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("", Reason.DSL_SYNTAX, 1),
        (" \n", Reason.DSL_SYNTAX, 1),
        ("a b", Reason.DSL_SYNTAX, 3),
        ("a 5", Reason.DSL_SYNTAX, 3),
        ("a +", Reason.DSL_SYNTAX, 4),
        ("a not b", Reason.DSL_SYNTAX, 3),
        ("* a", Reason.DSL_SYNTAX, 1),
        ("+a", Reason.DSL_SYNTAX, 1),
        ("a // b", Reason.DSL_SYNTAX, 4),
        ("and", Reason.DSL_SYNTAX, 1),
        ("or(a > b, c > d)", Reason.DSL_SYNTAX, 1),
        ("(a", Reason.DSL_SYNTAX, 3),
        ("a)", Reason.DSL_SYNTAX, 2),
        ("()", Reason.DSL_SYNTAX, 2),
        ("a, b", Reason.DSL_SYNTAX, 2),
        ("(a, b)", Reason.DSL_SYNTAX, 3),
        ("abs(a,)", Reason.DSL_SYNTAX, 7),
        ("abs(a", Reason.DSL_SYNTAX, 6),
        ("a < b < c", Reason.DSL_SYNTAX, 7),
        ("not a < b == c", Reason.DSL_SYNTAX, 11),
        ("a * not b > c", Reason.DSL_SYNTAX, 5),
        ("-not a > b", Reason.DSL_SYNTAX, 2),
        ("a = b", Reason.DSL_SYNTAX, 3),
        ("a = 1", Reason.DSL_SYNTAX, 3),
        ("(a = 1)", Reason.DSL_SYNTAX, 4),
        ("ts_mean(a, -k=1)", Reason.DSL_SYNTAX, 14),
        ("ts_mean(a, 5, min_obs=b)", Reason.DSL_SYNTAX, 23),
        ("ts_mean(a, 5, min_obs=)", Reason.DSL_SYNTAX, 23),
        ("ts_mean(a, 5, min_obs=1+1)", Reason.DSL_SYNTAX, 24),
        ("ts_mean(a, 5, min_obs=1, min_obs=1)", Reason.DSL_SYNTAX, 26),
        ("ts_mean(min_obs=3, a, 5)", Reason.DSL_SYNTAX, 20),
        ("ts_mean(min_obs=3,", Reason.DSL_SYNTAX, 19),
        ("ts_mean(min_obs=3, a", Reason.DSL_SYNTAX, 20),
        ("cs_scale(a, b)", Reason.DSL_SYNTAX, 13),
        ("cs_scale(a, 1, a=2)", Reason.DSL_SYNTAX, 13),
        ("foo(a)", Reason.DSL_NAME, 1),
        ("a + rank(b)", Reason.DSL_NAME, 5),
        ("ts_mean(a, 5, mino=3)", Reason.DSL_NAME, 15),
        ("ts_mean(a, d=5)", Reason.DSL_NAME, 12),
        ("abs()", Reason.DSL_ARITY, 1),
        ("1 + abs(a, b)", Reason.DSL_ARITY, 5),
        ("max(a)", Reason.DSL_ARITY, 1),
        ("cs_scale(a, 1, 2)", Reason.DSL_ARITY, 1),
        ("adv()", Reason.DSL_ARITY, 1),
        ("ts_mean(a, 5.0)", Reason.DSL_WINDOW, 12),
        ("ts_mean(a, 5e0)", Reason.DSL_WINDOW, 12),
        ("ts_mean(a, 2 + 3)", Reason.DSL_WINDOW, 12),
        ("ts_mean(a, neg(-5))", Reason.DSL_WINDOW, 12),
        ("ts_mean(a, b)", Reason.DSL_WINDOW, 12),
        ("ts_mean(a, 5, min_obs=2.0)", Reason.DSL_WINDOW, 23),
        ("ts_moment(a, 5, 2.0)", Reason.DSL_KIND, 17),
        ("adv(0)", Reason.DSL_WINDOW, 5),
        ("1 / 0 + a", Reason.DSL_CONSTANT, 3),
        ("a + 2", None, None),
    ],
)
def test_where_and_why_a_text_is_refused(text, reason, column):
    if reason is None:
        assert parse(text)
    else:
        assert refused(text) == (reason, column)


def test_an_unknown_operator_gets_its_other_spelling():
    with pytest.raises(ExpressionError, match=r"cs_rank\(x\)"):
        parse("rank(a)")
    with pytest.raises(ExpressionError, match="did you mean 'ts_mean'"):
        parse("ts_meen(a, 5)")


def test_the_error_points_at_the_column():
    with pytest.raises(ExpressionError) as caught:
        parse("a + rank(b)")
    assert caught.value.pointed().splitlines()[1:] == ["  a + rank(b)", "      ^"]


def test_dialects_are_known_by_name():
    assert parse("a", dialect="native") is a
    with pytest.raises(UnknownName, match="native"):
        parse("a", dialect="nativ")


def nested(depth):
    return "abs(" * (depth - 1) + "a" + ")" * (depth - 1)


def test_depth_is_capped_while_reading():
    assert parse(nested(MAX_DEPTH)).depth == MAX_DEPTH
    assert refused(nested(MAX_DEPTH + 1)) == (Reason.DSL_TOO_LARGE, 4 * (MAX_DEPTH - 1) + 1)
    assert parse("-" * (MAX_DEPTH - 1) + "a").depth == MAX_DEPTH
    assert refused("-" * MAX_DEPTH + "a") == (Reason.DSL_TOO_LARGE, MAX_DEPTH)
    assert parse("+".join("a" * MAX_DEPTH)).depth == MAX_DEPTH
    assert refused("+".join("a" * (MAX_DEPTH + 1))) == (Reason.DSL_TOO_LARGE, 2 * MAX_DEPTH)
    assert parse("**".join("a" * MAX_DEPTH)).depth == MAX_DEPTH
    assert refused("**".join("a" * (MAX_DEPTH + 1)))[0] is Reason.DSL_TOO_LARGE


def test_nodes_are_capped_while_reading():
    widest = f"max({', '.join('a' * (MAX_NODES - 1))})"
    assert parse(widest).nodes == MAX_NODES
    assert refused(f"max({', '.join('a' * MAX_NODES)})")[0] is Reason.DSL_TOO_LARGE
    shorthand = f"max({', '.join(['adv(2)'] * 85)})"
    assert parse(shorthand).nodes == 1 + 3 * 85
    assert refused(f"max({', '.join(['adv(2)'] * 86)})")[0] is Reason.DSL_TOO_LARGE


def test_lookback_is_capped_where_it_is_exceeded():
    assert parse("delay(" * 5 + "a" + ", 504)" * 5).lookback == 2520
    assert refused("delay(" * 6 + "a" + ", 504)" * 6) == (Reason.DSL_TOO_LARGE, 1)
    assert refused("a + delay(" + "delay(" * 5 + "a" + ", 504)" * 5 + ", 1)") == (Reason.DSL_TOO_LARGE, 5)


def test_redundant_brackets_are_no_nodes_but_capped():
    assert parse("(" * MAX_BRACKETS + "a" + ")" * MAX_BRACKETS) is a
    assert refused("(" * (MAX_BRACKETS + 1) + "a") == (Reason.DSL_TOO_LARGE, MAX_BRACKETS + 1)
    assert parse("+".join(["(a)"] * 30))


def test_a_text_that_would_print_longer_than_the_cap_is_refused():
    long = "z" * 60
    text = "+".join(f"max({','.join([long] * 8)})" for _ in range(8))
    assert len(text) < MAX_BYTES
    assert len(str(parse(text))) <= MAX_BYTES
    tight = f"max({','.join([long] * 67)})"
    assert len(tight) < MAX_BYTES
    assert refused(tight) == (Reason.DSL_TOO_LARGE, 1)


@given(st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=150, deadline=None)
def test_printing_and_reading_undo_each_other(seed, depth):
    expr = random_expr(np.random.default_rng(seed), ("close", "open", "returns"), ("sector",), max_depth=depth)
    assert parse(str(expr)) is expr


@given(st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_more_parentheses_and_spaces_change_nothing(seed):
    expr = random_expr(np.random.default_rng(seed), ("close", "open"), max_depth=5)
    spaced = str(expr).replace("(", " ( ").replace(",", "\t,\n").replace(")", " ) ")
    assert parse(f"(({spaced}))") is expr
