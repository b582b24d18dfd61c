"""Processes that die, and processes that work side by side."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from alphaswarm.core import make_rng
from alphaswarm.research import Workspace

Open = Callable[..., Workspace]

WORKER = """
import json, sys
from pathlib import Path
from alphaswarm.core import ExpressionError
from alphaswarm.data import Catalog
from alphaswarm.research import Workspace
directory, home, first, last, run = sys.argv[1:]
workspace = Workspace.open(Path(directory), catalog=Catalog(Path(home)))
if run == "start":
    workspace.start_run(panel="small", proposer="search", budget=99, seed=1)
elif run:
    workspace.resume_run(run)
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(first), int(last)):
    text = f"cs_rank(ts_mean(returns, {2 + number % 90})) * {1 + number // 90}"
    if number % 7 == 3:
        text += " +"
    try:
        trial = workspace.evaluate(text, panel="small", run="r0001" if run else None, rationale=f"number {number}")
        print(json.dumps([number, trial.id, trial.known, trial.rank_ic_t]), flush=True)
    except ExpressionError:
        print(json.dumps([number, "", None, None]), flush=True)
workspace.close()
"""


def worker(tmp_path: Path, home: Path, first: int, last: int, run: str) -> subprocess.Popen:
    command = [sys.executable, "-c", WORKER, str(tmp_path / "ws"), str(home), str(first), str(last), run]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def test_killed_at_any_moment_nothing_acknowledged_is_lost(
    open_workspace: Open, tmp_path: Path, market_home: Path
) -> None:
    rng = make_rng(1, "kills")
    acknowledged: dict[int, str] = {}
    for attempt in range(3):
        process = worker(tmp_path, market_home, len(acknowledged), 10_000, "r0001" if attempt else "start")
        process.stdin.write("go\n")
        process.stdin.flush()
        for _ in range(int(rng.integers(1, 30))):
            number, key, *_ = json.loads(process.stdout.readline())
            acknowledged[number] = key
        time.sleep(float(rng.uniform(0, 0.02)))
        os.kill(process.pid, signal.SIGKILL)
        for line in process.stdout:  # what was said before the end
            if line.endswith("\n"):
                number, key, *_ = json.loads(line)
                acknowledged[number] = key
        process.wait()
        process.stdin.close()
        process.stdout.close()
        with sqlite3.connect(tmp_path / "ws" / "ledger.db") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        connection.close()
    workspace = open_workspace()
    rows = workspace.trials(run="r0001", status=None, order="proposed", limit=None)
    kept = [int(row.rationale.split()[1]) for row in rows]
    assert kept == sorted(set(kept))
    assert set(acknowledged) <= set(kept) <= set(range(len(acknowledged) + 1))
    assert {key for key in acknowledged.values() if key} <= {row.id for row in rows}
    assert workspace.trials_total("small") == len(rows) == workspace.run("r0001").trials
    measured = [row for row in rows if row.status == "evaluated"]
    assert workspace.memory.stats()["documents"] == len(measured)
    assert workspace.run("r0001").status == "interrupted"
    workspace.resume_run("r0001")
    assert workspace.finish_run("r0001").trials == len(rows)


def test_two_processes_that_try_the_same_keep_it_once(open_workspace: Open, tmp_path: Path, market_home: Path) -> None:
    both = [worker(tmp_path, market_home, 0, 25, "") for _ in range(2)]
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [[json.loads(line) for line in process.communicate()[0].splitlines()] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    for mine, theirs in zip(*said, strict=True):
        assert mine[:2] == theirs[:2]
        assert mine[3] == theirs[3]
        assert mine[2] is None or {mine[2], theirs[2]} != {False}
    workspace = open_workspace()
    assert workspace.trials_total("small") == 25
    assert len(workspace.trials(status=None, limit=None)) == 25
    new = sum(row[2] is False for rows in said for row in rows)
    assert new == len(workspace.trials(limit=None)) == workspace.memory.stats()["documents"]
    assert np.isfinite([row.rank_ic_t for row in workspace.trials(limit=None)]).all()
