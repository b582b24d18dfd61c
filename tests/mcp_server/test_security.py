"""What comes in is cleaned, what goes out is masked."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, Field, ValidationError

from alphaswarm.core import AlphaSwarmError, ExpressionError, Reason, StoreError
from alphaswarm.mcp_server.security import (
    MAX_ERROR,
    REFUSAL_KEY,
    argument_refusal,
    clean,
    crash_refusal,
    refusal,
    unknown_arguments,
    without_paths,
)


def test_lone_surrogates_become_replacement_characters_wherever_they_stand() -> None:
    given = {"a\ud800": ["x\udfffy", {"b": "\ud83d"}, 3, None], "c": "\U0001f600"}
    assert clean(given) == {"a\ufffd": ["x\ufffdy", {"b": "\ufffd"}, 3, None], "c": "\U0001f600"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("can't open /home/ann/.alphaswarm/ledger.db: busy", "can't open <ledger.db>: busy"),
        ("'/home/x/y.csv' row 3", "'<y.csv>' row 3"),
        (r"C:\Users\ann\ledger.db is locked", "<ledger.db> is locked"),
        ("~/data/a.db", "<a.db>"),
        ("in /var/lib/data/", "in <directory>"),
        ("close/open/high and 1/2", "close/open/high and 1/2"),
        ("5 bp, 2010-08-04/2011", "5 bp, 2010-08-04/2011"),
    ],
)
def test_paths_are_taken_out(text: str, shown: str) -> None:
    assert without_paths(text) == shown


def test_a_refused_expression_names_reason_column_and_hint_and_points() -> None:
    error = ExpressionError(
        "no operator 'ts_men'",
        text="1 + ts_men(close, 5)",
        column=5,
        reason=Reason.DSL_NAME,
        hint="did you mean 'ts_mean'?",
    )
    answer = refusal(error)
    assert answer.is_error
    assert answer.content[0].text.splitlines() == [
        "DSL_NAME at column 5: no operator 'ts_men'; did you mean 'ts_mean'?",
        "  1 + ts_men(close, 5)",
        "      ^",
    ]
    assert answer.meta == {
        REFUSAL_KEY: {
            "reason": "DSL_NAME",
            "column": 5,
            "message": "no operator 'ts_men'",
            "hint": "did you mean 'ts_mean'?",
        }
    }


def test_other_errors_lose_their_paths() -> None:
    answer = refusal(StoreError("the store refused: unable to open database file /home/ann/x/ledger.db"))
    assert answer.content[0].text == "STORE: the store refused: unable to open database file <ledger.db>"
    assert answer.meta is not None
    assert "/home" not in str(answer.meta)


def test_a_long_or_unprintable_message_is_shortened_and_escaped() -> None:
    answer = refusal(AlphaSwarmError("\ud800\x00" + "x" * 10_000))
    text = answer.content[0].text
    assert len(text) <= MAX_ERROR
    assert "\x00" not in text
    assert answer.model_dump_json()


class Arguments(BaseModel):
    horizon: int = Field(ge=1)
    text: str


def test_bad_arguments_are_listed_one_by_one() -> None:
    with pytest.raises(ValidationError) as caught:
        Arguments.model_validate({"horizon": 0})
    answer = argument_refusal("data.alphas.evaluate", caught.value)
    assert answer.content[0].text == (
        "ARGUMENT_INVALID: data.alphas.evaluate can't take these arguments: "
        "horizon: Input should be greater than or equal to 1, got 0; text: Field required"
    )


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    answer = unknown_arguments("data.alphas.evaluate", ["pannel"], ["expression", "panel"])
    assert answer is not None
    assert "no argument 'pannel'; valid: expression, panel; did you mean 'panel'?" in answer.content[0].text
    assert unknown_arguments("t", ["panel"], ["expression", "panel"]) is None


def test_a_crash_says_nothing_about_the_machine() -> None:
    answer = crash_refusal("data.alphas.evaluate")
    assert answer.is_error
    assert answer.content[0].text.startswith("INTERNAL: data.alphas.evaluate failed inside the server")
