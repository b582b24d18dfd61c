"""The command line in process, on a small market."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alphaswarm.cli.main import main
from alphaswarm.data import synthetic_market


@dataclass(frozen=True)
class Outcome:
    """What the shell would see."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON document."""
        return json.loads(self.out)


Shell = Callable[..., Outcome]


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Run a command line: `shell("alpha", "evaluate", "close")`."""

    def run(*arguments: str) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["alphaswarm", *arguments])
        code: Any = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return Outcome(int(code or 0), captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def market_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small market as a long CSV file."""
    panel = synthetic_market("null", seed=1, days=200, names=40)
    path = tmp_path_factory.mktemp("market") / "market.csv"
    lines = ["date,symbol,close,volume,sector"]
    close, volume = panel["close"].tolist(), panel["volume"].tolist()
    for row, date in enumerate(np.datetime_as_string(panel.dates, "D")):
        for column, symbol in enumerate(panel.symbols):
            sector = panel.groups["sector"][row, column]
            lines.append(f"{date},{symbol},{close[row][column]},{volume[row][column]},{sector}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def tiny(shell: Shell, market_file: Path) -> str:
    """The market's name, imported into the workspace of the present directory."""
    assert shell("data", "import", str(market_file), "--name", "tiny").code == 0
    return "tiny"
