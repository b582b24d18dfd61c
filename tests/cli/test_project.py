"""`alphaswarm init` and `alphaswarm doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


def test_init_once_and_again(shell: Shell, tmp_path: Path) -> None:
    where = str(tmp_path / "project")
    assert shell("init", "--workspace", where, "--json").json == {"workspace": where, "unsealed": False}
    assert (tmp_path / "project" / "ledger.db").exists()
    assert shell("init", "--workspace", where).code == 0
    assert shell("init", "--unsealed", "--workspace", where).code == 3
    unsealed = shell("init", "--unsealed", "--workspace", str(tmp_path / "open"), "--json").json
    assert unsealed["unsealed"] is True


def test_a_workspace_that_can_not_be_made(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    outcome = shell("init", "--workspace", str(tmp_path / "file"))
    assert outcome.code in {2, 3}
    assert "Traceback" not in outcome.err


def test_doctor_looks_at_everything(shell: Shell) -> None:
    body = shell("doctor", "--json").json
    assert body["ok"] is True
    assert {check["what"] for check in body["checks"]} >= {"panels", "language", "workspace", "MCP tools"}
    assert "ok" in shell("doctor").out
