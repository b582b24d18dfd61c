"""A killed run goes on where it was, and ends as if nothing had happened, whatever the hash seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

BUDGET = 18
# Events of one attempt after which it is killed, or seconds: while it opens, proposes, evaluates, between
# evaluation and its checkpoint, while it stores, and at moments that nobody chose.
MOMENTS = [1, 0.05, 2, 5, 8, 0.3, 4, 9, 3, 0.6, 6]


def run(home: Path, directory: Path, hash_seed: str, moments: list[float] | None = None) -> dict[str, Any]:
    script = Path(__file__).with_name("one_run.py")
    command = [sys.executable, str(script), str(home), str(directory), str(BUDGET)]
    done = subprocess.run(
        command + ([json.dumps(moments)] if moments else []),
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_ten_kills_change_nothing(tiny_home: Path, tmp_path: Path) -> None:
    whole = run(tiny_home, tmp_path / "whole", "1")
    broken = run(tiny_home, tmp_path / "broken", "2", MOMENTS)
    assert broken["kills"] >= 10
    assert broken["candidates"] == whole["candidates"]
    assert broken["counts"] == whole["counts"]
    assert broken["summary"] == whole["summary"]
    assert broken["total"] == whole["total"] == BUDGET
    # A measurement that a kill cut off is made again; none that was kept is.
    repeated = Counter((tmp_path / "broken" / "measured").read_text().split())
    assert len(repeated) == BUDGET
    assert repeated.total() - BUDGET <= broken["kills"]
    assert set(Counter((tmp_path / "whole" / "measured").read_text().split()).values()) == {1}
