"""`alphaswarm backtest`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


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
