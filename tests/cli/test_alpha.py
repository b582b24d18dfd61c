"""`alphaswarm alpha`: keys, exit codes, and expressions that begin with a minus."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


# Users' scripts rely on these.
KEYS = {
    "expression",
    "digest",
    "panel",
    "panel_digest",
    "window",
    "horizon",
    "ic",
    "ic_t",
    "rank_ic",
    "rank_ic_t",
    "icir",
    "turnover",
    "coverage",
    "breakeven_bp",
    "n_days",
    "trial",
    "trials_total",
    "warnings",
}


def test_evaluate_counts_each_trial_once(shell: Shell, tiny: str) -> None:
    first = shell("alpha", "evaluate", "cs_rank(-delta(close, 5))", "--panel", tiny, "--json")
    assert first.code == 0
    assert first.json.keys() >= KEYS
    assert first.json["window"].keys() == {"role", "start", "end"}
    assert first.json["window"]["role"] == "search"
    assert (first.json["trials_total"], first.json["known"]) == (1, False)
    again = shell("alpha", "evaluate", "cs_rank( -delta(close,5) )", "--panel", tiny, "--json")
    assert (again.json["trials_total"], again.json["known"]) == (1, True)
    assert again.json["rank_ic"] == first.json["rank_ic"]
    other = shell("alpha", "evaluate", "cs_rank(-delta(close, 5))", "--panel", tiny, "--horizon", "1", "--json")
    assert other.json["trials_total"] == 2
    text = shell("alpha", "evaluate", "cs_rank(-delta(close, 5))", "--panel", tiny)
    assert "search window" in text.out
    assert "RankIC" in text.out


@pytest.mark.parametrize("expression", ["-ts_sum(close, 5)", "-close", "-(close - open_interest)", "--close"])
def test_an_expression_may_begin_with_a_minus(shell: Shell, tiny: str, expression: str) -> None:
    outcome = shell("alpha", "validate", expression, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["fields"]


def test_validate_counts_nothing(shell: Shell, tiny: str) -> None:
    assert shell("alpha", "validate", "cs_rank(close)", "--panel", tiny).code == 0
    assert shell("alpha", "list", "--json").json == {"trials": []}


def test_a_refusal_points_and_is_counted(shell: Shell, tiny: str) -> None:
    refused = shell("alpha", "evaluate", "cs_rank(clse)", "--panel", tiny)
    assert refused.code == 2
    assert "column 9" in refused.err
    assert "close" in refused.err
    assert refused.err.splitlines()[-1].endswith("^")
    as_json = shell("alpha", "evaluate", "cs_rank(__import__('os'))", "--panel", tiny, "--json")
    assert as_json.code == 2
    assert as_json.json["error"]["column"] == 9
    good = shell("alpha", "evaluate", "cs_rank(close)", "--panel", tiny, "--json")
    assert good.json["trials_total"] == 3


def test_an_unknown_panel_lists_the_valid_ones(shell: Shell) -> None:
    outcome = shell("alpha", "evaluate", "close", "--panel", "us43")
    assert outcome.code == 2
    assert "us431" in outcome.err


def test_a_field_that_is_not_there_is_refused_by_name(shell: Shell, tiny: str) -> None:
    outcome = shell("alpha", "evaluate", "cs_rank(vwap)", "--panel", tiny)
    assert outcome.code == 2
    assert "vwap" in outcome.err
    assert "it offers close, dollar_volume, returns, volume" in outcome.err


def test_weights_are_the_canonical_target(shell: Shell, tiny: str) -> None:
    dates = shell("data", "show", tiny, "--json").json
    arguments = ("alpha", "weights", "-delta(close, 5)", "--as-of", dates["end"], "--panel", tiny)
    body = shell(*arguments, "--json").json
    assert body["as_of"] == dates["end"]
    assert sum(abs(weight) for weight in body["weights"].values()) == pytest.approx(body["gross"])
    assert 1.0 - sum(body["weights"].values()) == pytest.approx(body["cash"])
    assert body["digest"][:16] in shell(*arguments).out
    assert shell(*arguments[:4], "1990-01-01", "--panel", tiny).code == 2


def test_list_and_show(shell: Shell, tiny: str) -> None:
    trial = shell("alpha", "evaluate", "cs_rank(volume)", "--panel", tiny, "--json").json
    listed = shell("alpha", "list", "--panel", tiny, "--json").json["trials"]
    assert [one["id"] for one in listed] == [trial["id"]]
    assert shell("alpha", "show", trial["id"][:12], "--json").json["digest"] == trial["digest"]
    assert "cs_rank(volume)" in shell("alpha", "show", trial["id"][:12]).out
    assert "cs_rank(volume)" in shell("alpha", "list").out
    assert shell("alpha", "show", "ffff").code == 2


def test_operators_are_listed_with_examples(shell: Shell) -> None:
    rows = shell("alpha", "operators", "--json").json["operators"]
    assert len(rows) >= 50
    for row in rows:
        assert shell("alpha", "validate", row["example"]).code == 0, row["example"]
    assert "decay_linear" in shell("alpha", "operators").out


PROGRAM = "def f(x):\n    return cs_rank(-delta(x, 5))\n\nalpha = f(close)\n"


def test_a_program_is_built(shell: Shell, tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    assert shell("alpha", "build", str(file)).out == "cs_rank(-delta(close, 5))\n"
    body = shell("alpha", "build", str(file), "--panel", tiny, "--json").json
    assert (body["expression"], body["nodes"]) == ("cs_rank(-delta(close, 5))", 5)


@pytest.mark.parametrize("command", [("validate",), ("evaluate",), ("explain",)])
def test_a_program_stands_where_an_expression_does(
    shell: Shell, tiny: str, tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    panel = () if command == ("explain",) else ("--panel", tiny)
    outcome = shell("alpha", *command, f"@{file}", *panel, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["expression"] == "cs_rank(-delta(close, 5))"


def test_a_program_decides_weights_and_is_backtested(shell: Shell, tiny: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    end = shell("data", "show", tiny, "--json").json["end"]
    decided = [
        shell("alpha", "weights", text, "--as-of", end, "--panel", tiny, "--json").json["digest"]
        for text in (f"@{file}", "cs_rank(-delta(close, 5))")
    ]
    assert decided[0] == decided[1]
    held = shell("backtest", "run", f"@{file}", "--panel", tiny, "--json").json
    assert held["expression"] == "cs_rank(-delta(close, 5))"


def test_a_program_may_be_the_text(shell: Shell, tiny: str) -> None:
    for command in ("validate", "evaluate"):
        outcome = shell("alpha", command, PROGRAM, "--dialect", "program", "--panel", tiny, "--json")
        assert outcome.json["expression"] == "cs_rank(-delta(close, 5))"
    refused = shell("alpha", "evaluate", "alpha = ts_mean(clse, 5)", "--dialect", "program", "--panel", tiny)
    assert refused.code == 2
    assert refused.err.splitlines()[-2:] == ["  alpha = ts_mean(clse, 5)", "          ^"]
    assert shell("alpha", "list", "--json").json["trials"][0]["trials_total"] == 2


def test_a_program_may_come_from_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(PROGRAM.encode())))
    assert shell("alpha", "build", "-").out == "cs_rank(-delta(close, 5))\n"
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"alpha = \xff")))
    assert shell("alpha", "validate", "@-").code == 2


def test_a_program_that_is_refused_names_its_line(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("x = 1\nimport os\n")
    refused = shell("alpha", "build", str(file))
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.startswith("DSL_SYNTAX in line 2")
    error = shell("alpha", "validate", f"@{file}", "--json").json["error"]
    assert (error["line"], error["reason"]) == (2, "DSL_SYNTAX")
    missing = shell("alpha", "build", str(tmp_path / "none.py"))
    assert missing.code == 2
    assert "none.py" in missing.err


def test_explain_says_it_all(shell: Shell) -> None:
    told = shell("alpha", "explain", "cs_rank(2 * close)").out
    assert "the rank within the day of (2 times close)" in told
    assert "cs_rank(close)" in told
    assert "up to rounding" in told
    body = shell("alpha", "explain", "-ema(close, 5)", "--json").json
    assert body.keys() >= {"words", "latex", "depth", "nodes", "lookback", "fingerprint", "suggestions", "notes"}
    assert body["lookback"] is None
    assert "all history" in shell("alpha", "explain", "-ema(close, 5)").out
    assert "at most 60 nodes" in shell("alpha", "explain", "+".join(["close"] * 31)).out
