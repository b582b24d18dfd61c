"""What every command shares: documents, tables, numbers, and what an error becomes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from alphaswarm.cli.output import (
    ExitCode,
    exit_code,
    fail,
    number,
    open_catalog,
    open_workspace,
    print_json,
    print_table,
    progress_console,
)
from alphaswarm.core import (
    AlphaSwarmError,
    BudgetExceeded,
    DataInvalid,
    EvidenceInvalid,
    FieldNotFound,
    Panel,
    ProviderError,
    Reason,
    SpecInvalid,
    StoreBusy,
    StoreError,
    UnknownName,
    WeightsInvalid,
)
from alphaswarm.dsl import parse

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UnknownName("x"), 2),
        (DataInvalid("x"), 2),
        (SpecInvalid("x"), 2),
        (WeightsInvalid("x"), 2),
        (EvidenceInvalid("x"), 2),
        (FieldNotFound("x"), 2),
        (AlphaSwarmError("x", Reason.ARGUMENT_INVALID), 2),
        (ProviderError("x"), 3),
        (StoreError("x"), 3),
        (StoreBusy("x"), 3),
        (BudgetExceeded("x"), 4),
    ],
)
def test_exit_codes(error: AlphaSwarmError, code: int) -> None:
    assert exit_code(error) == code
    assert list(ExitCode) == [0, 2, 3, 4, 5]


def refused(text: str) -> AlphaSwarmError:
    with pytest.raises(AlphaSwarmError) as caught:
        parse(text)
    return caught.value


def test_an_error_as_text_goes_to_stderr(capsys: Capture) -> None:
    assert fail(StoreBusy("wait a little"), as_json=False) is ExitCode.PROVIDER
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "STORE_BUSY: wait a little\n")


def test_a_refused_expression_is_pointed_at(capsys: Capture) -> None:
    assert fail(refused("cs_rank(closs) + )"), as_json=False) is ExitCode.USAGE
    *_, line, caret = capsys.readouterr().err.splitlines()
    assert line == "  cs_rank(closs) + )"
    assert line.index(")", 16) == caret.index("^")


def test_an_error_as_json_goes_to_stdout(capsys: Capture) -> None:
    fail(UnknownName("no such panel"), as_json=True)
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"error": {"reason": "UNKNOWN_NAME", "message": "no such panel"}}
    assert captured.err == ""
    fail(refused("ts_mean(close, 0)"), as_json=True)
    body = json.loads(capsys.readouterr().out)["error"]
    assert body.keys() == {"reason", "message", "column", "hint", "expression"}
    assert (body["reason"], body["column"], body["expression"]) == ("DSL_WINDOW", 16, "ts_mean(close, 0)")


def test_a_document_is_one_and_never_holds_nan(capsys: Capture) -> None:
    print_json({"a": [1, None], "b": "\N{LATIN SMALL LETTER E WITH ACUTE}"})
    assert json.loads(capsys.readouterr().out) == {"a": [1, None], "b": "\N{LATIN SMALL LETTER E WITH ACUTE}"}
    with pytest.raises(ValueError, match="JSON compliant"):
        print_json({"a": float("nan")})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(None, 2, "-"), (1.0, 2, "1.00"), (-0.012345, 4, "-0.0123"), (12.5, 0, "12"), (0, 1, "0.0")],
)
def test_numbers(value: float | None, digits: int, text: str) -> None:
    assert number(value, digits) == text


def test_a_piped_table_keeps_whole_lines_and_plain_text(capsys: Capture) -> None:
    long = "cs_rank(" + "ts_sum(returns, 5) + " * 6 + "close)"
    print_table(("name", "n"), [(long, "1"), ("[bold]x[/bold]", "23")], right=("n",))
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "n"]
    assert first.split("close)")[0] + "close)" == long
    assert second.startswith("[bold]x[/bold] ")
    assert first.rstrip().endswith(" 1")
    assert second.rstrip().endswith("23")
    assert first.index("1", len(long)) == second.index("3")  # the right column is flush right
    assert "\x1b" not in head + first + second


def test_progress_goes_to_stderr(capsys: Capture) -> None:
    progress_console().print("working")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "working\n")


def test_a_workspace_and_its_catalog_share_imported_panels(tmp_path: Path) -> None:
    panel = Panel.from_arrays({"close": [[1.0], [2.0]]}, ["2013-01-02", "2013-01-03"], ["A"], meta={"name": "x"})
    open_catalog(tmp_path / "project").add("mine", panel)
    with open_workspace(tmp_path / "project") as project:
        assert project.catalog.open("mine").digest == panel.digest
        assert project.path == tmp_path / "project"


def test_a_narrow_terminal_cuts_the_formula_and_nothing_else(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    long = "cs_rank(" + "ts_sum(returns, 5) + " * 6 + "close)"
    print_table(("id", "expression", "RankIC"), [("abcdef12", long, "0.0123")], right=("RankIC",))
    head, row = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
    assert row.split()[0] == "abcdef12"
    assert row.rstrip().endswith("0.0123")
    assert "..." in row
    assert max(map(len, (head, row))) <= 60
