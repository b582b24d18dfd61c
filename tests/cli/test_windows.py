"""`alphaswarm windows`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from alphaswarm.data import load_table

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


@pytest.fixture
def later(market_file: Path, tmp_path: Path) -> Path:
    """Ninety days after the market's last."""
    panel = load_table(market_file)
    last = panel.dates[-1].astype("datetime64[D]")
    days = np.busday_offset(last, np.arange(1, 91), roll="forward")
    lines = [f"{day},{symbol},{10 + row % 7},100" for row, day in enumerate(days) for symbol in panel.symbols]
    path = tmp_path / "later.csv"
    path.write_text("\n".join(["date,symbol,close,volume", *lines]) + "\n")
    return path


def test_nothing_was_used_yet(shell: Shell) -> None:
    assert "no panel was used here yet" in shell("windows", "list").out
    assert shell("windows", "list", "--json").json == {"panels": []}


def test_the_windows_of_a_panel(shell: Shell, tiny: str, market_file: Path) -> None:
    dates = load_table(market_file).dates
    shell("alpha", "evaluate", "cs_rank(close)", "--panel", tiny)
    (state,) = shell("windows", "list", "--json").json["panels"]
    assert state == shell("windows", "list", "--panel", tiny, "--json").json["panels"][0]
    assert (state["panel"], state["lineage"], state["sealed"]) == (tiny, tiny, True)
    assert state["search"] == {"start": str(dates[0])[:10], "end": str(dates[119])[:10]}
    assert [each["finalists"] for each in state["selections"]] == [0]
    assert state["vault"] == {"start": str(dates[160])[:10], "end": str(dates[199])[:10], "reads": 0}
    assert state["forward"] == {"rows": 0, "start": None, "end": None, "needed": 63}
    text = shell("windows", "list").out
    assert "selection 1" in text
    assert "0 rows, 63 open a window" in text


def test_new_bars_open_a_window(shell: Shell, tiny: str, later: Path) -> None:
    first = shell("alpha", "evaluate", "cs_rank(close)", "--panel", tiny, "--json").json
    refused = shell("windows", "open", "--panel", tiny, "--reason", "impatience")
    assert refused.code == 2
    assert "has 0, so 63 are missing" in refused.err
    body = shell("data", "append", tiny, str(later), "--json").json
    assert body["appended"]["rows"] == 90
    assert body["rows"] == 290
    shown = shell("data", "show", tiny, "--json").json
    assert (shown["unseen_rows"], shown["end"]) == (90, body["appended"]["end"])
    assert "90 rows after the vault are unseen" in shell("data", "show", tiny).out

    again = shell("alpha", "evaluate", "cs_rank(close)", "--panel", tiny, "--json").json
    assert again["panel_digest"] == body["digest"] != first["panel_digest"]
    assert (again["window"], again["trials_total"]) == (first["window"], 1)
    figures = ("ic", "ic_t", "rank_ic", "rank_ic_t", "turnover", "breakeven_bp", "n_days")
    assert [again[name] for name in figures] == [first[name] for name in figures]

    window = shell("windows", "open", "--panel", tiny, "--reason", "a quarter of new bars", "--json").json
    assert (window["number"], window["finalists"], window["reason"]) == (2, 0, "a quarter of new bars")
    assert window["end"] == body["appended"]["end"]
    (state,) = shell("windows", "list", "--json").json["panels"]
    assert [each["number"] for each in state["selections"]] == [1, 2]
    assert state["selections"][1]["start"] == window["start"]
    assert shell("data", "show", tiny, "--json").json["unseen_rows"] == 0
    assert shell("windows", "open", "--panel", tiny, "--reason", "again").code == 2


def test_an_unsealed_project_has_no_windows(shell: Shell, market_file: Path) -> None:
    shell("init", "--unsealed")
    shell("data", "import", str(market_file), "--name", "tiny")
    (state,) = shell("windows", "list", "--panel", "tiny", "--json").json["panels"]
    assert not state["sealed"]
    assert state["search"]["end"] == state["vault"]["end"]
    assert "in-sample" in shell("windows", "list", "--panel", "tiny").out
    outcome = shell("windows", "open", "--panel", "tiny", "--reason", "more")
    assert outcome.code == 2
    assert "unsealed" in outcome.err


def test_a_panel_that_is_gone_hides_no_other(shell: Shell, market_file: Path) -> None:
    for name in ("one", "two"):
        shell("data", "import", str(market_file), "--name", name)
        shell("alpha", "evaluate", "cs_rank(close)", "--panel", name)
    Path(".alphaswarm/panels/one.npz").unlink()
    one, two = shell("windows", "list", "--json").json["panels"]
    assert "unknown panel 'one'" in one["unavailable"]
    assert two["lineage"] == "one"
    text = shell("windows", "list").out
    assert "one: unknown panel" in text
    assert "two, counted together with one" in text
