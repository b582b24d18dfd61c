"""`alphaswarm alpha operators|library`, and dialects on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from alphaswarm.dsl import operators
from alphaswarm.dsl.manual import operators_markdown

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_operators_say_all_that_the_table_says(shell: Shell) -> None:
    rows = shell("alpha", "operators", "--json").json["operators"]
    assert [row["name"] for row in rows] == list(operators())
    assert {"signature", "doc", "example", "units", "cost", "lookback", "slots", "family"} <= rows[0].keys()
    assert shell("alpha", "operators", "--markdown").out == operators_markdown()
    assert "decay_linear" in shell("alpha", "operators").out


def test_operators_of_a_dialect(shell: Shell) -> None:
    rows = shell("alpha", "operators", "--dialect", "qlib", "--json").json["operators"]
    assert {"signature": "Mean(x, d)", "native": "ts_mean(x, d)", "note": ""} in rows
    assert "| `Mean(x, d)` | `ts_mean(x, d)` |  |" in shell("alpha", "operators", "--dialect", "qlib", "--markdown").out
    assert "indneutralize" in shell("alpha", "operators", "--dialect", "worldquant").out
    unknown = shell("alpha", "operators", "--dialect", "klingon")
    assert unknown.code == 2
    assert "native, qlib, worldquant" in unknown.err


def test_the_library_lists_and_shows(shell: Shell, tiny: str) -> None:
    every = shell("alpha", "library", "--json").json["formulas"]
    assert sum(one["library"] == "worldquant101" for one in every) == 101
    assert all(one["fits"] is None for one in every)
    (one,) = shell("alpha", "library", "wq001", "--json").json["formulas"]
    assert one["formula"].startswith("(rank(Ts_ArgMax(")
    assert one["native"].startswith("cs_rank(ts_argmax(")
    assert one["source"]
    assert any("oldest row" in note for note in one["notes"])
    shown = shell("alpha", "library", "wq001").out
    assert "native" in shown
    assert "Kakushadze" in shown
    assert "wq101" in shell("alpha", "library", "worldquant101").out
    unknown = shell("alpha", "library", "wq102")
    assert unknown.code == 2
    assert "did you mean wq101" in unknown.err
    assert "libraries: alpha158, classics, worldquant101" in unknown.err
    assert len(unknown.err.strip()) < 200
    assert "did you mean alpha158?" in shell("alpha", "library", "alpha15").err.replace(" or ", "? or ")
    assert "did you mean" not in shell("alpha", "library", "nothing").err


def test_the_library_says_what_fits_a_panel(shell: Shell, tiny: str) -> None:
    fits = {one["name"]: one for one in shell("alpha", "library", "--panel", tiny, "--json").json["formulas"]}
    assert fits["reversal_5"]["fits"] is True
    assert fits["reversal_5"]["lacks"] is None
    assert fits["wq056"]["fits"] is False
    assert "no field 'cap'" in fits["wq056"]["lacks"]
    text = shell("alpha", "library", "classics", "--panel", tiny).out
    assert "yes" in text
    assert "no field 'open'" in shell("alpha", "library", "wq005", "--panel", tiny).out
    assert "no field" in shell("alpha", "library", "worldquant101", "--panel", tiny).out


@pytest.mark.parametrize(
    ("dialect", "text", "native"),
    [
        ("worldquant", "-1 * Ts_Rank(rank(close), 9.7)", "-1 * ts_rank(cs_rank(close), 9)"),
        ("qlib", "Ref($close, 5)/$close - 1", "delay(close, 5) / close - 1"),
        ("native", "-delta(close, 5)", "-delta(close, 5)"),
    ],
)
def test_a_dialect_is_read_and_noted(shell: Shell, tiny: str, dialect: str, text: str, native: str) -> None:
    checked = shell("alpha", "validate", text, "--dialect", dialect, "--json").json
    assert checked["expression"] == native
    assert bool(checked["notes"]) == (dialect != "native")
    measured = shell("alpha", "evaluate", text, "--dialect", dialect, "--panel", tiny, "--json").json
    assert (measured["expression"], measured["digest"]) == (native, checked["digest"])
    assert measured["notes"] == checked["notes"]
    again = shell("alpha", "evaluate", native, "--panel", tiny, "--json").json
    assert (again["known"], again["trials_total"], again["notes"]) == (True, 1, [])
    for note in checked["notes"]:
        assert f"note: {note}" in shell("alpha", "validate", text, "--dialect", dialect).out
        assert f"note: {note}" in shell("alpha", "evaluate", text, "--dialect", dialect, "--panel", tiny).out


def test_a_refusal_in_a_dialect_points_into_the_text_and_is_counted(shell: Shell, tiny: str) -> None:
    refused = shell("alpha", "evaluate", "Ref($close, -1)", "--dialect", "qlib", "--panel", tiny)
    assert refused.code == 2
    assert "LOOKAHEAD at column 13" in refused.err
    assert "Ref($close, -1)" in refused.err
    lacking = shell("alpha", "evaluate", "Mean($vwap, 5)", "--dialect", "qlib", "--panel", tiny, "--json")
    assert lacking.code == 2
    assert lacking.json["error"]["expression"] == "Mean($vwap, 5)"
    assert lacking.json["error"]["column"] == 6
    unknown = shell("alpha", "evaluate", "close", "--dialect", "klingon", "--panel", tiny)
    assert unknown.code == 2
    assert "native, program, qlib, worldquant" in unknown.err
    good = shell("alpha", "evaluate", "close", "--panel", tiny, "--json").json
    assert good["trials_total"] == 3


def test_doubts_are_warnings(shell: Shell, tiny: str) -> None:
    warning = "+ needs one unit, got price and shares in close + volume"
    assert shell("alpha", "validate", "close + volume", "--json").json["warnings"] == [warning]
    assert f"warning: {warning}" in shell("alpha", "validate", "close + volume").out
    assert warning in shell("alpha", "evaluate", "close + volume", "--panel", tiny, "--json").json["warnings"]
    assert f"warning: {warning}" in shell("alpha", "evaluate", "close + volume", "--panel", tiny).out
    assert shell("alpha", "validate", "cs_rank(close)", "--json").json["warnings"] == []


def test_the_cost_is_estimated_where_a_panel_is_given(shell: Shell, tiny: str) -> None:
    assert shell("alpha", "validate", "ts_mean(close, 10)", "--json").json["cost"] is None
    estimated = shell("alpha", "validate", "ts_mean(close, 10)", "--panel", tiny, "--json").json["cost"]
    doubled = shell("alpha", "validate", "ts_mean(close, 20)", "--panel", tiny, "--json").json["cost"]
    assert doubled == 2 * estimated > 0
