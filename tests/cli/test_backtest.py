"""`alphaswarm backtest`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

REVERSAL = "-ts_sum(returns, 5)"
# Of `backtest run`; the same in docs/cli.md.
KEYS = [
    "id",
    "kind",
    "name",
    "trial",
    "expression",
    "digest",
    "panel",
    "panel_digest",
    "window",
    "as_of",
    "horizon",
    "fill",
    "cost_bp",
    "engine",
    "rule",
    "settings",
    "words",
    "periods",
    "metrics",
    "dates",
    "equity",
    "turnover",
    "gross",
    "net",
    "costs",
    "positions",
    "fills",
    "decisions",
    "decisions_digest",
    "result_digest",
    "warnings",
    "page",
]
VECTOR = {
    "sharpe": 0.2940719397064261,
    "ann_return": 0.00906613513469024,
    "volatility": 0.03247098340441355,
    "total_return": 0.005062633578864828,
    "max_drawdown": -0.020379971125731866,
    "turnover": 0.2628520989591064,
    "cost": 0.018682391482241066,
}
EVENT = {
    "sharpe": -0.043512051318374545,
    "ann_return": -0.0019315130854967585,
    "total_return": -0.001081187720300525,
    "max_drawdown": -0.026609943114587642,
    "turnover": 0.26049175739588576,
    "cost": 0.0183826863203,
}
PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_run_stores_and_show_finds(shell: Shell, tiny: str) -> None:
    arguments = ("backtest", "run", "-delta(close, 5)", "--panel", tiny, "--horizon", "2")
    record = shell(*arguments, "--json").json
    assert record["window"]["role"] == "search"
    assert record["metrics"]
    assert shell("backtest", "show", record["id"][:12], "--json").json == record
    assert record["id"][:16] in shell(*arguments).out
    dearer = shell(*arguments, "--cost-bp", "50", "--json").json
    assert dearer["id"] != record["id"]
    assert shell("backtest", "show", "ffff").code == 2
    assert shell("backtest", "run", "close", "--panel", tiny, "--engine", "warp").code == 2


def test_the_text_says_what_was_held_and_how(shell: Shell, tiny: str) -> None:
    told = shell("backtest", "run", REVERSAL, "--panel", tiny, "--horizon", "3", "--cost-bp", "2")
    lines = told.out.splitlines()
    assert lines[0] == REVERSAL
    assert lines[2].startswith("panel   tiny, search window ")
    assert lines[3] == "held    in proportion to ranks, long and short, held 3 days in staggered parts"
    assert lines[4] == "traded  vector engine, filled at close t+1, 2 bp a traded dollar"
    assert lines[6].split()[0] == "Sharpe"
    assert lines[7].startswith("Yearly return")
    assert lines[7].endswith("%")
    page = Path(lines[-1].removeprefix("page "))
    assert page.read_text("utf-8").startswith("<!doctype html>")


def test_json_has_the_documented_keys(shell: Shell, tiny: str) -> None:
    record = shell("backtest", "run", REVERSAL, "--panel", tiny, "--json").json
    assert list(record) == KEYS
    documented = PAGE.read_text("utf-8").split("### backtest run")[1].split("### ")[0]
    for key in (*KEYS, *record["metrics"]):
        assert f"`{key}`" in documented, key


def test_the_event_engine(shell: Shell, tiny: str) -> None:
    record = shell("backtest", "run", REVERSAL, "--panel", tiny, "--engine", "event", "--json").json
    assert (record["engine"], record["settings"]["mode"]) == ("event", "close_to_close")  # it has no open
    assert record["fills"] > 0
    assert shell("backtest", "run", REVERSAL, "--panel", tiny, "--mode", "next_open").code == 2
    assert shell("backtest", "run", REVERSAL, "--panel", tiny, "--engine", "event", "--fill", "close_t1").code == 2
    lacking = shell("backtest", "run", REVERSAL, "--panel", tiny, "--engine", "event", "--mode", "next_open", "--json")
    assert (lacking.code, lacking.json["error"]["reason"]) == (2, "DSL_FIELD")


def test_baselines_and_the_pool(shell: Shell, tiny: str) -> None:
    record = shell("backtest", "run", "--baseline", "equal_weight", "--panel", tiny, "--json").json
    assert (record["kind"], record["trial"]) == ("baseline", None)
    ranked = shell("backtest", "run", REVERSAL, "--baseline", "quantile_long_short", "--panel", tiny, "--json").json
    assert ranked["expression"] == REVERSAL
    for arguments in (("--baseline", "luck"), ("close", "--baseline", "equal_weight"), ("pool",), ()):
        assert shell("backtest", "run", *arguments, "--panel", tiny).code == 2


def test_a_program_is_an_expression(shell: Shell, tiny: str, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("alpha = -ts_sum(returns, 5)\n")
    record = shell("backtest", "run", f"@{tmp_path / 'p.py'}", "--panel", tiny, "--json").json
    assert record["id"] == shell("backtest", "run", REVERSAL, "--panel", tiny, "--json").json["id"]


def test_weights_from_a_file(shell: Shell, tiny: str, tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    first = shell("backtest", "run", "close", "--panel", tiny, "--json").json
    symbol = first["positions"][0]["symbol"]
    path.write_text(f"date,symbol,weight\n{first['dates'][4]},{symbol},0.5\n")
    record = shell("backtest", "run", str(path), "--panel", tiny, "--json").json
    assert (record["kind"], record["decisions"], record["trial"]) == ("weights", 1, None)
    assert record["positions"][0]["symbol"] == symbol
    path.write_text(f"date,symbol,weight\n{first['dates'][4]},NOBODY,0.5\n")
    refused = shell("backtest", "run", str(path), "--panel", tiny, "--json")
    assert (refused.code, refused.json["error"]["reason"]) == (2, "DATA_INVALID")
    assert "row 2, column 'symbol'" in refused.json["error"]["message"]
    assert shell("backtest", "run", str(tmp_path / "none.csv"), "--panel", tiny).code == 2


def test_a_spec(shell: Shell, tiny: str, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text("{expression: '-ts_sum(returns, 5)', horizon: 2, weights: {rule: quantile}}\n")
    record = shell("backtest", "run", str(path), "--panel", tiny, "--json").json
    assert (record["horizon"], record["rule"]["rule"]) == (2, "quantile")
    twice = shell("backtest", "run", str(path), "--panel", tiny, "--horizon", "3", "--json")
    assert (twice.code, twice.json["error"]["reason"]) == (2, "ARGUMENT_INVALID")
    assert "--horizon" in twice.json["error"]["message"]
    path.write_text("{expression: close, engine: {class: Popen, module_path: subprocess}}\n")
    refused = shell("backtest", "run", str(path), "--panel", tiny, "--json")
    assert (refused.code, refused.json["error"]["reason"]) == (2, "SPEC_NOT_ALLOWED")


def test_list_and_compare(shell: Shell, tiny: str) -> None:
    record = shell("backtest", "run", REVERSAL, "--panel", tiny, "--json").json
    answer = shell(
        "backtest",
        "compare",
        record["id"][:8],
        "cs_rank(volume)",
        "--panel",
        tiny,
        "--baseline",
        "equal_weight",
        "--json",
    ).json
    assert [one["kind"] for one in answer["backtests"]] == ["expression", "expression", "baseline"]
    assert answer["benchmark"] == answer["backtests"][2]["id"]
    assert answer["backtests"][0]["id"] == record["id"]
    listed = shell("backtest", "list", "--json").json["backtests"]
    assert {one["id"] for one in listed} == {one["id"] for one in answer["backtests"]}
    assert "equity" not in listed[0]
    text = shell("backtest", "compare", record["id"][:8], "-delta(close, 2)", "--baseline", "equal_weight").out
    assert "correlations of daily returns" in text
    assert "beta" in text
    assert REVERSAL in shell("backtest", "list").out
    assert shell("backtest", "compare", record["id"][:8]).code == 2


def test_a_known_answer_on_the_embedded_panel(shell: Shell) -> None:
    """The figures of two engines on real prices, to nine digits."""
    record = shell("backtest", "run", REVERSAL, "--panel", "us500", "--json").json
    assert record["window"] == {"role": "search", "start": "2009-08-21", "end": "2010-03-31"}
    assert record["panel_digest"] == "31c063d81dd9c3c257ac636b57816d7f6702d7ef2d8d21e5bbb6ffa71225d43e"
    for name, value in VECTOR.items():
        assert record["metrics"][name] == pytest.approx(value, rel=1e-9), name
    event = shell("backtest", "run", REVERSAL, "--panel", "us500", "--engine", "event", "--json").json
    for name, value in EVENT.items():
        assert event["metrics"][name] == pytest.approx(value, rel=1e-9), name
    assert event["decisions_digest"] == record["decisions_digest"]
