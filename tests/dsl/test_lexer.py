"""Tokens: what is read, where it stands, and what is refused before any of it is understood."""

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import ExpressionError, Reason
from alphaswarm.dsl.lexer import Token, TokenKind, tokens
from alphaswarm.dsl.limits import MAX_BYTES, MAX_NAME, MAX_TOKENS


def refused(text):
    with pytest.raises(ExpressionError) as caught:
        tokens(text)
    return caught.value.reason, caught.value.column


def test_every_kind_of_token_with_its_column():
    assert tokens("a1 <= -.5e+3\n*(x,") == [
        Token(TokenKind.NAME, "a1", 1),
        Token(TokenKind.SYMBOL, "<=", 4),
        Token(TokenKind.SYMBOL, "-", 7),
        Token(TokenKind.NUMBER, ".5e+3", 8),
        Token(TokenKind.SYMBOL, "*", 14),
        Token(TokenKind.SYMBOL, "(", 15),
        Token(TokenKind.NAME, "x", 16),
        Token(TokenKind.SYMBOL, ",", 17),
        Token(TokenKind.END, "", 18),
    ]


@pytest.mark.parametrize("symbol", ["**", "<=", ">=", "==", "!=", "+", "-", "*", "/", "<", ">", "=", "(", ")", ","])
def test_the_longest_symbol_wins(symbol):
    assert [token.text for token in tokens(f"a{symbol}b")] == ["a", symbol, "b", ""]


@pytest.mark.parametrize("text", ["0", "7", "10", "0.5", "5.", ".5", "1e3", "1E-3", "1.5e+10", "0e0", "0.0", "1e308"])
def test_decimal_numbers(text):
    assert tokens(text)[0] == Token(TokenKind.NUMBER, text, 1)


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("1_0", Reason.DSL_SYNTAX, 2),
        ("0x1f", Reason.DSL_SYNTAX, 2),
        ("0o7", Reason.DSL_SYNTAX, 2),
        ("0b1", Reason.DSL_SYNTAX, 2),
        ("3j", Reason.DSL_SYNTAX, 2),
        ("1e", Reason.DSL_SYNTAX, 2),
        ("1.2.3", Reason.DSL_SYNTAX, 4),
        ("5.x", Reason.DSL_SYNTAX, 3),
        ("007", Reason.DSL_SYNTAX, 1),
        ("00.5", Reason.DSL_SYNTAX, 1),
        ("1e400", Reason.DSL_CONSTANT, 1),
        ("a + 1e-400", Reason.DSL_CONSTANT, 5),
        ("9" * 400, Reason.DSL_CONSTANT, 1),
    ],
)
def test_what_is_no_decimal_number(text, reason, column):
    assert refused(text) == (reason, column)


@pytest.mark.parametrize("character", list(".'\"`[]{}$#?:&|!~^%@;\\"))
def test_foreign_characters_are_refused_where_they_stand(character):
    assert refused(f"close {character} 1") == (Reason.DSL_SYNTAX, 7)


@pytest.mark.parametrize(
    "character", [chr(code) for code in (*range(9), 11, 12, *range(14, 32), 127, 128, 0xE9, 0x3B1)]
)
def test_only_printable_ascii_and_plain_space(character):
    assert refused(f"clo{character}se") == (Reason.DSL_NON_ASCII, 4)


@pytest.mark.parametrize(
    "character", ["\u0430", "\uff41", "\u202e", "\u200b", "\u200d", "\ud800", "\U0001f600", "\u0661"]
)
def test_nothing_is_folded(character):
    assert refused(f"a + {character}") == (Reason.DSL_NON_ASCII, 5)


@pytest.mark.parametrize("name", ["Close", "closE", "__class__", "__x"])
def test_names_are_lower_case_and_carry_no_magic(name):
    assert refused(f"1 + {name}") == (Reason.DSL_SYNTAX, 5)


@pytest.mark.parametrize("name", ["_x", "_", "x__y", "a_1", "z" * MAX_NAME])
def test_names_that_are_fine(name):
    assert tokens(name)[0] == Token(TokenKind.NAME, name, 1)


def test_the_caps():
    assert refused("z" * (MAX_NAME + 1)) == (Reason.DSL_TOO_LARGE, 1)
    assert refused(" " * (MAX_BYTES + 1)) == (Reason.DSL_TOO_LARGE, MAX_BYTES + 1)
    assert refused("\x00" * (MAX_BYTES + 1)) == (Reason.DSL_TOO_LARGE, MAX_BYTES + 1)
    assert tokens(" " * MAX_BYTES)[0].kind is TokenKind.END
    assert len(tokens("-" * MAX_TOKENS + " ")) == MAX_TOKENS + 1
    assert refused("-" * (MAX_TOKENS + 1)) == (Reason.DSL_TOO_LARGE, MAX_TOKENS + 1)


@pytest.mark.parametrize("text", ["a & b", "a.b", "x ? y : z", "$close"])
def test_a_hint_says_what_to_write(text):
    with pytest.raises(ExpressionError) as caught:
        tokens(text)
    assert caught.value.hint


@given(st.text(alphabet="ab01._+-*/<>=(), \n", max_size=60))
@settings(max_examples=200, deadline=None)
def test_tokens_rebuild_the_text(text):
    found, column = [], 0
    with contextlib.suppress(ExpressionError):
        found = tokens(text)
    for token in found:
        assert token.column > column
        assert text[token.column - 1 :].startswith(token.text)
        column = token.column
    assert "".join(token.text for token in found) in ("".join(text.split()), "")
