"""The language of factor programs, in this process: what builds what, what is refused. Attacks: tests/hostile."""

import sys

import pytest

from alphaswarm.dsl import parse, programs
from alphaswarm.dsl.limits import MAX_BYTES, MAX_DEPTH, MAX_NODES

TABLE = sys.modules["alphaswarm.dsl.build"]._TABLE


def run(source):
    programs.prepare()
    caps = {"max_nodes": MAX_NODES, "max_depth": MAX_DEPTH, "max_bytes": MAX_BYTES}
    return programs.work({"source": source, "operators": TABLE, **caps})


def built(source):
    answer = run(source)
    assert "text" in answer, answer
    return str(parse(answer["text"]))


@pytest.mark.parametrize(
    ("source", "expression"),
    [
        ("alpha = close", "close"),
        ("alpha = cs_rank(-ts_sum(returns, 5))", "cs_rank(-ts_sum(returns, 5))"),
        ("alpha = (close - open) / (high - low + 0.001)", "(close - open) / (high - low + 0.001)"),
        ("alpha = 2 * close ** -2", "2 * close ** -2"),
        ("alpha = (-close) ** 2", "(-close) ** 2"),
        ("alpha = -close ** 2", "-close ** 2"),
        ("alpha = (-2) ** close", "(-2) ** close"),
        ("alpha = +close", "close"),
        ("alpha = close - (open - high)", "close - (open - high)"),
        ("alpha = (close < open) == (open < high)", "(close < open) == (open < high)"),
        ("alpha = (close > open) & ~(volume < 5) | (returns == 0)", "close > open and not volume < 5 or returns == 0"),
        ("alpha = 5 < close", "close > 5"),
        ("alpha = close != open", "close != open"),
        ("alpha = (close <= open) & (open >= 5)", "close <= open and open >= 5"),
        ("alpha = max(open, close, high) - min(open, 5)", "max(open, close, high) - min(open, 5)"),
        ("alpha = close * max(2, 5, 3) + min([4, 2])", "close * 5 + 2"),
        ("alpha = max([open, close])", "max(open, close)"),
        ("alpha = max(ts_mean(close, d) for d in range(2, 4))", "max(ts_mean(close, 2), ts_mean(close, 3))"),
        ("alpha = abs(close) * abs(-3) + round(2.567, 1)", "abs(close) * 3 + 2.6"),
        ("alpha = round(close)", "round(close)"),
        ("alpha = ts_mean(close, 20, min_obs=5)", "ts_mean(close, 20, min_obs=5)"),
        ("alpha = group_rank(close, sector)", "group_rank(close, sector)"),
        ("alpha = adv(20)", "ts_mean(dollar_volume, 20)"),
        ("alpha = sub(add(close, 1), neg(open))", "close + 1 - -open"),
        ("d = 252 // 12 % 16\nalpha = ts_mean(close, d)", "ts_mean(close, 5)"),
        ("alpha = close * 1e-7", "close * 1e-07"),
        ("alpha = sum([close, open, high]) / 3", "(close + open + high) / 3"),
        ("alpha = close * sum([])", "close * 0"),
        ("alpha = sum((ts_mean(close, d) for d in (5, 10)), open)", "open + ts_mean(close, 5) + ts_mean(close, 10)"),
        ("alpha = [close, open, high][-1] * [1, 2, 3][1:][0]", "high * 2"),
        ("a, (b, c) = 1, (2, 3)\nalpha = close * (a + b * c)", "close * 7"),
        (
            "alpha = open\nfor i, x in enumerate([close, high], 1):\n    alpha = alpha + i * x",
            "open + 1 * close + 2 * high",
        ),
        ("alpha = close\nfor x, d in zip([open, high], [5, 10]):\n    alpha += ts_mean(x, d)", None),
        ("alpha = close\nfor d in reversed(list(range(2, 4))):\n    alpha -= ts_mean(alpha, d)", None),
        ("alpha = close\nalpha *= 2\nalpha /= 3\nalpha **= 2", "(close * 2 / 3) ** 2"),
        ("alpha = close > 1\nalpha &= open > 1\nalpha |= high > 1", "close > 1 and open > 1 or high > 1"),
        ("parts = []\nfor d in (5, 10):\n    parts.append(ts_mean(close, d))\nalpha = parts[0] - parts[1]", None),
        (
            '"""Words."""\ndef f(x, d=5):\n    """More."""\n    return ts_mean(x, d)\nalpha = f(close) / f(open, d=10)',
            None,
        ),
        ("def f(op):\n    return op(close, 5)\nalpha = f(ts_mean) - f(ts_max)", "ts_mean(close, 5) - ts_max(close, 5)"),
        ("WINDOWS = (5, 10)\nalpha = ts_mean(close, WINDOWS[1])", "ts_mean(close, 10)"),
        ("alpha = close\nif len([1, 2]) == 2 and not 0:\n    alpha = open\nelse:\n    alpha = high", "open"),
        ("alpha = open if 1 > 2 or None else high", "high"),
        (
            "for i in range(9):\n    if i < 3:\n        continue\n    if i > 4:\n        break\n    alpha = close + i",
            "close + 4",
        ),
        ("def f(n):\n    return f(n - 1) + close if n else close\nalpha = f(3)", "close + close + close + close"),
        ("close = close / delay(close, 1)\nalpha = close", "close / delay(close, 1)"),
        ("_ = 5\nfor _ in range(2):\n    alpha = close", "close"),
        ("x = int(2.5) + float(1) + len((1, 2))\nalpha = close + x\npass", "close + 5.0"),
        ("alpha = close + tuple([1, 2])[1]", "close + 2"),
        ("alpha = tanh(close)(5) if 0 else close", "close"),
    ],
)
def test_builds(source, expression):
    text = built(source)
    if expression is not None:
        assert text == str(parse(expression))


def test_text_is_minimal_and_places_are_those_of_the_program():
    answer = run("x = close + 1\ny = ts_mean(x,\n  5)\nalpha = y / x")
    assert answer["text"] == "ts_mean(close + 1, 5) / (close + 1)"
    assert [tuple(place) for place in answer["places"]] == [(1, 4, 9), (1, 2, 5), (9, 1, 5), (25, 1, 5)]


@pytest.mark.parametrize(
    ("source", "kind", "line", "words"),
    [
        ("x = 1\nimport os", "syntax", 2, "Import may not stand"),
        ("alpha = (close", "syntax", 1, "was never closed"),
        ("x = 1\nalpha = x.y", "syntax", 2, "attributes"),
        ("alpha = ts_meen(close, 5)", "name", 1, "no operator 'ts_meen'"),
        ("x = 1\nalpha = CLOSE", "name", 2, "CLOSE"),
        ("def f(x):\n    return x\nalpha = f()", "value", 3, "missing 1 required"),
        ("x = [1]\nalpha = close * x[3]", "value", 2, "IndexError"),
        ("alpha = close\nfor i in range(99):\n    alpha = alpha * alpha", "large", 3, "256 nodes"),
        ("x = 5", "value", 1, "assign an expression to alpha"),
        ("alpha = 5", "value", 1, "got int"),
        ("def f(n):\n    return f(n)\nf(1)", "large", 2, "recurses too deeply"),
        ("x = eval(1)", "syntax", 1, "Eval calls"),
    ],
)
def test_errors_say_where(source, kind, line, words):
    answer = run(source)
    assert (answer["kind"], answer["line"]) == (kind, line), answer
    assert words in answer["error"]


def test_an_unknown_operator_is_named_for_the_hint():
    assert run("alpha = ts_meen(close, 5)")["unknown"] == "ts_meen"


def test_runs_do_not_see_each_other():
    assert "error" in run("y = 5\nalpha = z9(1)")
    assert built("alpha = y") == "y"
    assert programs.place() == 1


def test_tracing_and_recursion_are_given_back():
    depth, trace = sys.getrecursionlimit(), sys.gettrace()
    run("alpha = close")
    run("alpha = 1 / 0")
    assert (sys.getrecursionlimit(), sys.gettrace()) == (depth, trace)


def test_an_expression_offers_nothing():
    expression = programs.Expression("close")
    assert not hasattr(expression, "__dict__")
    with pytest.raises(TypeError):
        hash(expression)
    with pytest.raises(ValueError, match="neither true nor false"):
        bool(expression)
