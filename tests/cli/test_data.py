"""`alphaswarm data`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_list_says_what_is_at_hand(shell: Shell) -> None:
    body = shell("data", "list", "--json").json
    panels = {panel["name"]: panel for panel in body["panels"]}
    assert {"us431", "us500", "synthetic"} <= panels.keys()
    assert panels["us500"]["available"]
    assert body["default"] == "us500"
    assert "us500" in shell("data", "list").out


def test_show_names_fields_and_caveats(shell: Shell) -> None:
    body = shell("data", "show", "us431", "--json").json
    assert body["fields"] == ["close", "dollar_volume", "returns", "sigma"]
    assert body["survivorship_biased"] is True
    assert "survivorship" in shell("data", "show", "us431").out


def test_import_then_use(shell: Shell, tiny: str) -> None:
    assert tiny in shell("data", "list").out
    body = shell("data", "show", tiny, "--json").json
    assert (body["rows"], body["symbols"]) == (200, 40)
    assert body["groups"] == ["sector"]


def test_a_bad_file_is_refused_whole(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("date,symbol,close\n2020-01-01,A,1.0\n2020-01-02,A,oops\n")
    outcome = shell("data", "import", str(path), "--name", "bad")
    assert outcome.code == 2
    assert "oops" in outcome.err
    assert "bad.csv" in outcome.err
    assert "bad" not in [panel["name"] for panel in shell("data", "list", "--json").json["panels"]]
    assert shell("data", "import", str(tmp_path / "absent.csv"), "--name", "x").code == 2


def test_check_reports_and_changes_nothing(shell: Shell) -> None:
    body = shell("data", "check", "us500", "--json").json
    assert body["counts"]["missing_session"] == 7
    assert body["counts"]["bar_out_of_order"] == 78
    text = shell("data", "check", "us500").out
    assert "nothing was changed" in text
    assert "more: --all" in text


def test_only_us431_is_fetched(shell: Shell) -> None:
    assert shell("data", "fetch", "us500").code == 2
    assert shell("data", "fetch", "nope").code == 2


def test_bars_up_to_the_last_day_are_refused(shell: Shell, tiny: str, market_file: Path) -> None:
    before = shell("data", "show", tiny, "--json").json
    outcome = shell("data", "append", tiny, str(market_file))
    assert outcome.code == 2
    assert f"a day after the panel's last, {before['end']}" in outcome.err
    assert shell("data", "show", tiny, "--json").json == before
    assert before["unseen_rows"] is None  # it was not used yet
    assert shell("data", "append", "absent", str(market_file)).code == 2
