"""Dialects as data: every word's native formula is sound, and whatever is read is native or refused."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import ExpressionError, UnknownName
from alphaswarm.dsl import DIALECTS, parse, translate
from alphaswarm.dsl.dialects import NATIVE, QLIB, WORLDQUANT, dialect_of
from alphaswarm.dsl.operators import OPERATORS

FOREIGN = (QLIB, WORLDQUANT)
WORDS = [(dialect, word) for dialect in FOREIGN for rows in dialect.words.values() for word in rows]
# A value for each parameter of a word that is neither series, condition nor group.
VALUES = {"d": "5", "n": "5", "k": "3", "q": "0.8", "f": "2", "lower": "-1", "upper": "1", "factor": "0.5"}


def sample(dialect, word):
    """A call of `word` that it must take."""

    def argument(name, default):
        field = "$v" if dialect is QLIB else "v"
        given = {"a": f"({field} > 0)", "b": f"({field} < 9)", "c": f"({field} > 1)", "g": "sector"} | VALUES
        series = field if name in "xyzw" else "1"
        return str(word.only.get(name) or default or given.get(name, series))

    return f"{word.name}({', '.join(argument(*one) for one in word.parameters.items())})"


@pytest.mark.parametrize(("dialect", "word"), WORDS, ids=lambda part: getattr(part, "signature", ""))
def test_every_word_is_sound(dialect, word):
    assert word.parameters
    assert word.name == word.signature.split("(")[0]
    text = sample(dialect, word)
    expr = parse(text, dialect.name)
    assert parse(str(expr)) is expr
    used = {token.text for token in word.tokens}
    ignored = [name for name in word.parameters if name not in used and name not in word.only]
    assert not ignored or word.note, f"{word.signature} says nothing of {ignored}"


def test_unknown_dialects_list_the_valid_ones():
    for call in (dialect_of, lambda name: parse("close", name), lambda name: translate("close", name)):
        with pytest.raises(UnknownName, match=r"valid: native, (program, )?qlib, worldquant; did you mean 'qlib'"):
            call("qlip")
    assert list(DIALECTS) == ["native", "qlib", "worldquant"]
    assert dialect_of("native") is NATIVE


def test_native_needs_no_notes():
    translation = translate("ts_mean(close, 5) > 0", "native")
    assert translation.expr is parse("ts_mean(close, 5) > 0")
    assert translation.notes == ()
    assert translation.dialect == "native"


def attempt(text, dialect):
    """The expression, or the error."""
    try:
        return parse(text, dialect), None
    except ExpressionError as error:
        return None, error


PIECES = {
    "qlib": ["$close", "$open", "Mean(", "Ref(", "If(", "Resi(", "&", "|", ">", "close", "$", "5", "-1", "0.5"],
    "worldquant": [
        "close",
        "adv20",
        "rank(",
        "max(",
        "indneutralize(",
        "IndClass.sector",
        "?",
        ":",
        "||",
        "!",
        "^",
        "5",
    ],
}
SHARED = [
    "(",
    ")",
    ",",
    "+",
    "-",
    "*",
    "/",
    "**",
    "<",
    "==",
    "=",
    " ",
    "2.7",
    "x",
    "and",
    "not(",
    "fwd_x",
    "\u0430",
    "[",
]


@pytest.mark.parametrize("dialect", PIECES)
@given(data=st.data())
@settings(max_examples=400, deadline=None)
def test_any_text_is_native_afterwards_or_refused(dialect, data):
    pieces = st.sampled_from(PIECES[dialect] + SHARED)
    text = "".join(data.draw(st.lists(pieces, max_size=25)))
    expr, error = attempt(text, dialect)
    if error is None:
        assert parse(str(expr)) is expr
        return
    assert error.text == text
    assert 1 <= error.column <= len(text) + 1
    assert error.hint


@st.composite
def nested(draw, dialect, depth=4):
    """A well-formed text of a dialect."""
    field = "$v" if dialect is QLIB else "v"
    if depth == 0 or draw(st.booleans()):
        return field
    _, word = draw(st.sampled_from([one for one in WORDS if one[0] is dialect]))
    return sample(dialect, word).replace(field, f"({draw(nested(dialect, depth - 1))})", 1)


@pytest.mark.parametrize("dialect", FOREIGN, ids=lambda dialect: dialect.name)
@given(data=st.data())
@settings(max_examples=200, deadline=None)
def test_whatever_is_translated_reads_natively(dialect, data):
    text = data.draw(nested(dialect))
    expr, error = attempt(text, dialect.name)
    if error is not None:  # beyond the caps, a condition that is none in its place, ...
        assert error.text == text
        return
    assert parse(str(expr)) is expr
    assert {node.op for node in expr.walk()} - {""} <= set(OPERATORS)
    assert all(isinstance(note, str) and note for note in translate(text, dialect.name).notes)


@pytest.mark.parametrize("dialect", FOREIGN, ids=lambda dialect: dialect.name)
def test_caps_hold_in_every_dialect(dialect):
    field, mean = ("$v", "Mean") if dialect is QLIB else ("v", "ts_mean")
    for text in (
        f"{mean}(" * 40 + field + ", 2)" * 40,
        "+".join([field] * 300),
        f"{mean}({field}, 504) + {mean}(" * 12 + field + ", 504)" * 12,
        "(" * 70 + field + ")" * 70,
        "-" * 100 + field,
        field * 5000,
    ):
        with pytest.raises(ExpressionError) as caught:
            parse(text, dialect.name)
        assert caught.value.reason == "DSL_TOO_LARGE"
        assert caught.value.hint


def test_a_hundred_questions_are_refused_in_time():
    with pytest.raises(ExpressionError):
        parse("x > 0 ? " * 100 + "x" + " : 1" * 100, "worldquant")
    deep = parse("x > 0 ? " * 20 + "x" + " : 1" * 20, "worldquant")
    assert deep.depth == 22
