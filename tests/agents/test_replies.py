"""What is read of a reply, and that nothing in it does harm."""

from __future__ import annotations

import time

import pytest

from alphaswarm.agents.replies import first_object, plain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}', {"a": 1}),
        ('well: ```json\n{"a": 1}\n```', {"a": 1}),
        ('{"b": 2} then {"a": 1}', {"a": 1}),
        ('{"b": 2} and no more', {"b": 2}),
        ('{"a": ', None),
        ("[1, 2]", None),
        ("", None),
        ('{{{"a": 1}', {"a": 1}),
    ],
)
def test_the_first_object_with_the_key(text: str, found: object) -> None:
    assert first_object(text, "a") == found


@pytest.mark.parametrize("text", ["{" * 100_000, '{"a": ' * 50_000, '{"a": [' + "[" * 100_000])
def test_bombs_are_read_quickly(text: str) -> None:
    began = time.monotonic()
    first_object(text, "a")
    assert time.monotonic() - began < 2


def test_plain_text_is_one_printable_line() -> None:
    assert plain("one\n\x07 two\u202e three", 100) == "one two three"
    assert plain("x" * 50, 10) == "x" * 10
    assert plain(["x"], 10) == plain(None, 10) == ""
