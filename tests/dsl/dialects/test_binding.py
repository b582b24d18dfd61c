"""Which row of a name a call takes."""

import pytest

from alphaswarm.core import Reason
from alphaswarm.dsl import field, number, parse
from alphaswarm.dsl.check import Fault
from alphaswarm.dsl.dialects import Word
from alphaswarm.dsl.dialects.binding import Operand, bind, shortened, written

WORDS = (
    Word("f(x, d)", "ts_max(x, d)"),
    Word("f(x, y)", "max(x, y)"),
    Word("f(x, y, k)", "x + y * k", only={"k": 2}),
    Word("f(x, g, n, q=0.5)", "x * n * q", only={"g": "sector"}),
)


def operand(value, column=1):
    if isinstance(value, str) and not value[0].isalpha():
        return Operand(number(float(value)), column, value)
    return Operand(field(value), column)


def bound(*values, floors=False, **options):
    parts = [operand(value, place) for place, value in enumerate(values, 1)]
    return bind(WORDS, 99, parts, {name: operand(value) for name, value in options.items()}, floors=floors)


@pytest.mark.parametrize(
    ("values", "options", "native"),
    [
        (("a", "5"), {}, "ts_max(x, d)"),
        (("a",), {"d": "5"}, "ts_max(x, d)"),
        (("a", "b"), {}, "max(x, y)"),
        (("a", "0"), {}, "max(x, y)"),
        (("a", "2.5"), {}, "max(x, y)"),
        (("a", "-3"), {}, "max(x, y)"),
        (("a", "b", "2"), {}, "x + y * k"),
        (("a", "sector", "3"), {}, "x * n * q"),
        (("a", "sector"), {"n": "3", "q": "0.1"}, "x * n * q"),
    ],
)
def test_the_first_row_that_fits(values, options, native):
    assert bound(*values, **options).word.native == native


def test_defaults_stand_at_the_call():
    given = bound("a", "sector", "3").arguments
    assert given["q"] == Operand(number(0.5), 99, "0.5")
    assert given["n"].column == 3


@pytest.mark.parametrize(
    ("values", "options", "reason"),
    [
        (("a",), {}, Reason.DSL_ARITY),
        (("a", "b", "c", "d", "e"), {}, Reason.DSL_ARITY),
        (("a", "5"), {"d": "5"}, Reason.DSL_ARITY),
        (("a",), {"z": "5"}, Reason.DSL_ARITY),
        (("a", "b", "3"), {}, Reason.DSL_CONSTANT),
        (("a", "industry", "3"), {}, Reason.DSL_CONSTANT),
    ],
)
def test_no_row_fits(values, options, reason):
    fault = bound(*values, **options)
    assert isinstance(fault, Fault)
    assert fault.reason is reason
    assert fault.hint == written(WORDS)
    assert fault.hint.endswith("f(x, d) or f(x, y) or f(x, y, 2) or f(x, sector, n, q)")


def test_fractions_are_floored_where_the_dialect_says_so():
    word = (Word("g(x, d)", "ts_sum(x, d)"),)
    part = Operand(number(3.9), 7, "3.9")
    plain = bind(word, 1, [operand("a"), part], {}, floors=False)
    assert plain.arguments["d"] is part
    assert plain.notes == ()
    floored = bind(word, 1, [operand("a"), part], {}, floors=True)
    assert floored.arguments["d"] == Operand(number(3), 7, "3")
    assert floored.notes == ("column 7: 3.9 rows are read as 3",)
    small = bind(word, 1, [operand("a"), Operand(number(0.2), 7, "0.2")], {}, floors=True)
    assert small.arguments["d"].literal == "1"
    negative = bind(word, 1, [operand("a"), Operand(number(-0.2), 7, "-0.2")], {}, floors=True)
    assert negative.arguments["d"].literal == "-0.2"


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("x > y", "x > y"),
        ("(x > y) > 0", "x > y"),
        ("(x > y) > 1", "(x > y) > 1"),
        ("x > 0", "x > 0"),
        ("x * 2", "x * 2"),
    ],
)
def test_what_is_shortened(text, short):
    assert str(shortened(Operand(parse(text), 1)).node) == short


def test_numbers_are_folded():
    part = shortened(Operand(parse("x + (5 - 1) / 2").args[1], 3))
    assert part.node.op == "div"  # only what is all numbers at once: arguments are folded before
    assert shortened(Operand(part.node.args[0], 3)) == Operand(number(4), 3, "4")
