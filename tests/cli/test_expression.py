"""Expressions on the command line: they may begin with a minus, and a slip is not taken for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


@pytest.mark.parametrize("text", ["-close", "--close", "-ts_sum(close, 5)", "-(close - open)", "--returns", "-high"])
def test_a_minus_needs_no_separator(shell: Shell, text: str) -> None:
    for arguments in ((text, "--json"), ("--json", text), ("--json", "--", text)):
        outcome = shell("alpha", "validate", *arguments)
        assert outcome.code == 0, outcome.err
        assert outcome.json["fields"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--panl",), "No such option: --panl. Did you mean --panel?"),
        (("--panl", "tiny", "close"), "No such option: --panl. Did you mean --panel?"),
        (("close", "--panl", "tiny"), "No such option: --panl. Did you mean --panel?"),
        (("close", "--panl=tiny"), "No such option: --panl. Did you mean --panel?"),
        (("-panel", "tiny", "close"), "No such option: -panel. Did you mean --panel?"),
        (("-close", "--jsn"), "No such option: --jsn. Did you mean --json?"),
        (("close", "--Dialect", "qlib"), "No such option: --Dialect. Did you mean --dialect?"),
        (("close", "--nothing"), "No such option: --nothing."),
        (("close", "--nothing=5"), "No such option: --nothing."),
        (("--nothing", "close"), "No such option: --nothing."),
        (("close", "open"), "Got unexpected extra argument(s) (open)"),
    ],
)
def test_a_slip_is_refused_with_what_is_near(shell: Shell, arguments: tuple[str, ...], said: str) -> None:
    outcome = shell("alpha", "validate", *arguments, "--json")
    assert outcome.code == 2
    assert outcome.json["error"] == {"reason": "ARGUMENT_INVALID", "message": said}


@pytest.mark.parametrize(
    "command", [("alpha", "evaluate"), ("alpha", "weights", "--as-of", "2020-01-01"), ("backtest", "run")]
)
def test_every_command_with_an_expression_refuses_slips(shell: Shell, command: tuple[str, ...]) -> None:
    for arguments in (("--horizn", "3", "close"), ("close", "--horizn=3"), ("--horizn",)):
        outcome = shell(*command, *arguments, "--json")
        assert outcome.code == 2
        assert outcome.json["error"]["message"] == "No such option: --horizn. Did you mean --horizon?"
    outcome = shell("alpha", "explain", "--jsom")
    assert outcome.code == 2
    assert "--json?" in outcome.err


def test_behind_the_separator_everything_is_an_expression(shell: Shell) -> None:
    assert shell("alpha", "validate", "--json", "--", "--panl").json["fields"] == ["panl"]
    assert shell("alpha", "validate", "--json").json["error"]["message"] == "Missing argument 'expression'."
