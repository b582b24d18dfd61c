"""From a program's text to a checked expression, through the box."""

import numpy as np
import pytest

from alphaswarm.core import ExpressionError, Panel, ProgramError, Reason, UnknownName
from alphaswarm.dsl import build, parse, translate
from alphaswarm.dsl.limits import MAX_PROGRAM

PROGRAM = '''"""Momentum at several speeds."""
def z(x, d):
    return (x - ts_mean(x, d)) / ts_std(x, d)

parts = []
for d in (5, 10, 20):
    parts.append(cs_rank(z(close, d)))
alpha = -sum(parts) / len(parts)
'''
MEANT = "-(" + " + ".join(f"cs_rank((close - ts_mean(close, {d})) / ts_std(close, {d}))" for d in (5, 10, 20)) + ") / 3"


@pytest.mark.parametrize("text", [PROGRAM, PROGRAM.replace("\n", "\r\n")])
def test_a_program_builds_its_expression(text):
    assert build(text) is parse(MEANT)


def test_an_error_points_into_the_program():
    with pytest.raises(ProgramError) as caught:
        build("x = close\nalpha = ts_meen(x, 5)")
    error = caught.value
    assert isinstance(error, ExpressionError)
    assert (error.reason, error.line) == (Reason.DSL_NAME, 2)
    assert str(error) == "DSL_NAME in line 2: there is no operator 'ts_meen'; did you mean 'ts_mean'?"
    assert error.pointed().splitlines()[1] == "  alpha = ts_meen(x, 5)"


@pytest.mark.parametrize(
    ("program", "line", "column"),
    [
        ("x = close\nalpha = 1 + ts_meen(x, 5)", 2, 13),
        ("alpha = cs_rank(close) + ts_mean(close, 0)", 1, 26),
        ("alpha = cs_rank(close) + ts_mean(close, [0])", 1, 26),
        ("def f(x):\n    return 2 * ts_mean(x,\n        delay(x, 0))\nalpha = close + f(close)", 3, 9),
        ("alpha = sum([delta(close, d) for d in (2, 0)])", 1, 14),
        ("alpha = close * (1 / 0)", 1, 18),
        ("alpha = close\nfor i in range(99):\n    alpha = alpha + close", 3, 13),
        ("alpha = 2 * ts_mean(clse, 5)", 1, 13),
    ],
)
def test_a_fault_is_found_where_its_operator_stands(program, line, column):
    close = Panel.from_arrays({"close": np.ones((2, 1))}, np.datetime64("2020-01-01") + np.arange(2), ["s"])
    with pytest.raises(ProgramError) as caught:
        build(program, close)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.pointed().splitlines()[2] == " " * (column + 1) + "^"


def test_a_syntax_error_has_its_column():
    with pytest.raises(ProgramError) as caught:
        build("x = 1\ny = x.real")
    assert (caught.value.line, caught.value.column) == (2, 5)
    assert caught.value.pointed().splitlines()[2] == "      ^"


def test_what_the_language_refuses_is_told_by_line():
    with pytest.raises(ProgramError, match="look back at least 1 row") as caught:
        build("def before(x, d):\n    return delay(x, d)\n\nalpha = close - before(close, 0)")
    assert (caught.value.reason, caught.value.line) == (Reason.LOOKAHEAD, 2)
    assert "delay" in str(caught.value)


def test_other_spellings_get_a_hint():
    with pytest.raises(ProgramError, match=r"write ts_mean\(x, d\)"):
        build("alpha = sma(close, 5)")


@pytest.mark.parametrize(
    ("text", "reason", "line", "column"),
    [
        ("x = 1\nalpha = \u0441lose", Reason.DSL_NON_ASCII, 2, 9),
        ("alpha = close\x00", Reason.DSL_SYNTAX, 1, 14),
        ("alpha = close\n" + "#" * MAX_PROGRAM, Reason.DSL_TOO_LARGE, 2, 1),
    ],
)
def test_odd_text_is_refused_before_anything_starts(text, reason, line, column, monkeypatch):
    monkeypatch.setattr("subprocess.Popen", None)
    with pytest.raises(ProgramError) as caught:
        build(text)
    assert (caught.value.reason, caught.value.line, caught.value.column) == (reason, line, column)


def test_the_program_error_without_a_line_is_only_its_message():
    error = ProgramError("no", text="a\nb", line=0, column=1, reason=Reason.DSL_PROGRAM)
    assert error.pointed() == str(error)


def test_a_program_is_a_way_to_write_an_expression():
    close = Panel.from_arrays({"close": np.ones((2, 1))}, np.datetime64("2020-01-01") + np.arange(2), ["s"])
    assert parse(PROGRAM, "program") is parse(MEANT)
    assert translate(PROGRAM, "program", close).notes == ()
    with pytest.raises(ProgramError, match="no field 'open'"):
        parse("alpha = open", "program", close)
    with pytest.raises(UnknownName, match="native, program, qlib, worldquant"):
        parse("close", "programme")
