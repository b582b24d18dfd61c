"""`alpha evaluate --full`: the whole tear sheet, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from alphaswarm.cli.tear_sheet import print_tear_sheet, tear_sheet
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.research import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

ALPHA = "cs_rank(-delta(close, 5))"


def test_full_adds_the_tear_sheet_and_changes_nothing_else(shell: Shell, tiny: str) -> None:
    plain = shell("alpha", "evaluate", ALPHA, "--panel", tiny, "--json").json
    body = shell("alpha", "evaluate", ALPHA, "--panel", tiny, "--full", "--json").json
    sheet = body.pop("tear_sheet")
    assert body == plain | {"known": True}
    for name in ("rank_ic", "rank_ic_t", "evidence_t", "sharpe", "breakeven_bp", "net_sharpe"):
        assert sheet["evidence"][name] == plain[name], name
    assert sheet["gross"]["n_trials"] == plain["trials_total"]
    assert sheet["series"]["dates"][-1] <= plain["window"]["end"]
    text = shell("alpha", "evaluate", ALPHA, "--panel", tiny, "--full").out
    assert "market up" in text
    assert "left out   evidence: " in text  # the panel is too short for residuals


@pytest.fixture(scope="module")
def long_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    Catalog(home).add("long", synthetic_market("null", seed=3, days=600, names=70))
    return home


def test_the_text_holds_every_part(long_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Workspace.open(tmp_path / "w", catalog=Catalog(long_home)) as workspace:
        sheet = tear_sheet(workspace, workspace.evaluate(ALPHA, panel="long"))
    print_tear_sheet(sheet)
    text = capsys.readouterr().out
    for name in ("2010", "market up", "volatility low", "without beta", "without all", "20 days ahead", "capacity"):
        assert name in text, name
    rows = [line for line in text.splitlines() if line.startswith("all days")]
    assert rows[0].split()[2:4] == [str(sheet.evidence.n_days), f"{sheet.evidence.rank_ic:.4f}"]
    assert f"PSR {sheet.gross.psr:.2f}, DSR {sheet.gross.dsr:.2f} of 1 trials" in text
