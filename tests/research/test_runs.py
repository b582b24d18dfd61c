from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import update

from alphaswarm.core import AlphaSwarmError, EvidenceInvalid, FixedClock, Reason, StoreBusy, StoreError, UnknownName
from alphaswarm.research import Workspace
from alphaswarm.research.lease import LEASE_SECONDS, Holder
from alphaswarm.research.tables import runs

Open = Callable[..., Workspace]
ASKED = {"panel": "small", "proposer": "search", "budget": 60, "seed": 7, "intent": "reversal"}

HOLDER = """
import sys
from pathlib import Path
from alphaswarm.data import Catalog
from alphaswarm.research import Workspace
workspace = Workspace.open(Path(sys.argv[1]), catalog=Catalog(Path(sys.argv[2])))
if len(sys.argv) > 3:
    workspace.resume_run(sys.argv[3])
else:
    workspace.start_run(panel="small", proposer="random", budget=1, seed=1)
print("ready", flush=True)
sys.stdin.readline()
"""


def test_a_run_says_what_was_asked(workspace: Workspace) -> None:
    run = workspace.start_run(**ASKED, horizon=3, config={"islands": 2})
    assert run.id == "r0001"
    assert run.status == "running"
    assert run.panel_digest == workspace.panel("small").digest
    assert (run.horizon, run.fill, run.budget, run.seed, run.config) == (3, "close_t1", 60, 7, {"islands": 2})
    assert (run.trials, run.trials_total, run.finished, run.outcome) == (0, None, None, None)
    assert workspace.run("r0001") == run
    assert [run.id for run in (workspace.start_run(**ASKED), *workspace.runs())] == ["r0002", "r0002", "r0001"]


def test_an_unknown_run_lists_the_known(workspace: Workspace) -> None:
    workspace.start_run(**ASKED)
    for call in (workspace.run, workspace.resume_run, workspace.finish_run, workspace.run_summary, workspace.heartbeat):
        with pytest.raises(UnknownName, match="valid: r0001"):
            call("r9999")


def test_a_run_can_not_be_asked_for_a_label_that_is_none(workspace: Workspace) -> None:
    with pytest.raises(AlphaSwarmError, match="horizon"):
        workspace.start_run(**ASKED, horizon=0)
    assert workspace.runs() == []


def test_a_run_whose_label_does_not_fit_the_window_is_not_begun(workspace: Workspace) -> None:
    with pytest.raises(EvidenceInvalid, match=r"at least horizon \+ 2 = 202 rows"):
        workspace.start_run(**ASKED, horizon=200)  # the search window has 180 rows
    assert workspace.runs() == []
    assert workspace.start_run(**ASKED, horizon=178).id == "r0001"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("budget", value) for value in (0, -1, 1_000_001, True, 2.0)),
        *(("seed", value) for value in (-1, 2**63, 10**30, False, "7")),
    ],
)
def test_budget_and_seed_are_numbers_that_can_be_kept(workspace: Workspace, name: str, value: object) -> None:
    with pytest.raises(AlphaSwarmError, match=f"{name} must be a whole number from ") as caught:
        workspace.start_run(**{**ASKED, name: value})
    assert caught.value.reason is Reason.ARGUMENT_INVALID
    assert workspace.runs() == []


def test_the_largest_budget_and_seed_are_kept(workspace: Workspace) -> None:
    run = workspace.start_run(**{**ASKED, "budget": 1_000_000, "seed": 2**63 - 1})
    assert (run.budget, run.seed) == (1_000_000, 2**63 - 1)


def test_one_holder_at_a_time_in_one_process(open_workspace: Open, clock: FixedClock) -> None:
    mine, other = open_workspace(), open_workspace()
    mine.start_run(**ASKED)
    with pytest.raises(StoreBusy, match=str(os.getpid())):
        other.resume_run("r0001")
    with pytest.raises(StoreBusy):
        other.finish_run("r0001")
    clock.advance(LEASE_SECONDS - 1)
    mine.heartbeat("r0001")
    clock.advance(LEASE_SECONDS - 1)
    with pytest.raises(StoreBusy):
        other.resume_run("r0001")
    assert other.run("r0001").status == "running"
    clock.advance(2)
    assert other.run("r0001").status == "interrupted"
    assert other.resume_run("r0001").status == "running"


def test_who_lost_a_run_must_stop(open_workspace: Open, clock: FixedClock) -> None:
    mine, other = open_workspace(), open_workspace()
    mine.start_run(**ASKED)
    clock.advance(LEASE_SECONDS + 1)
    other.resume_run("r0001")
    for act in (
        lambda: mine.heartbeat("r0001"),
        lambda: mine.evaluate("cs_rank(close)", panel="small", run="r0001"),
        lambda: mine.finish_run("r0001"),
    ):
        with pytest.raises(StoreBusy):
            act()
    assert mine.trials_total("small") == 0
    other.evaluate("cs_rank(close)", panel="small", run="r0001")
    mine.close()
    assert other.run("r0001").status == "running"


def test_evaluating_is_a_sign_of_life(open_workspace: Open, clock: FixedClock) -> None:
    mine, other = open_workspace(), open_workspace()
    mine.start_run(**ASKED)
    for text in ("cs_rank(close)", "cs_rank(open)", "cs_rank(open)"):
        clock.advance(LEASE_SECONDS - 1)
        mine.evaluate(text, panel="small", run="r0001", critique=str(clock.now()))
    with pytest.raises(StoreBusy):
        other.resume_run("r0001")


def test_a_closed_workspace_gives_its_runs_back(open_workspace: Open) -> None:
    mine, other = open_workspace(), open_workspace()
    mine.start_run(**ASKED)
    mine.close()
    assert other.run("r0001").status == "interrupted"
    assert other.resume_run("r0001").status == "running"


def test_a_finished_run_is_closed_for_ever(workspace: Workspace) -> None:
    workspace.start_run(**ASKED)
    workspace.evaluate("cs_rank(close)", panel="small", run="r0001")
    run = workspace.finish_run("r0001", {"stopped_by": "budget"})
    assert (run.status, run.outcome, run.trials, run.trials_total) == ("finished", {"stopped_by": "budget"}, 1, 1)
    assert workspace.finish_run("r0001", "again") == run
    with pytest.raises(StoreError, match="finished"):
        workspace.resume_run("r0001")
    with pytest.raises(StoreError, match="finished"):
        workspace.evaluate("cs_rank(open)", panel="small", run="r0001")
    assert workspace.trials_total("small") == 1


def test_another_machine_must_wait(open_workspace: Open, clock: FixedClock) -> None:
    workspace = open_workspace()
    workspace.start_run(**ASKED)
    far = Holder("elsewhere/boot/pid", 1, "1", 1)
    with workspace.store.write() as connection:
        connection.execute(update(runs).values(holder=str(far)))
    other = open_workspace()
    with pytest.raises(StoreBusy, match="elsewhere"):
        other.resume_run("r0001")
    clock.advance(LEASE_SECONDS)
    other.resume_run("r0001")


def test_a_live_process_is_refused_and_a_dead_one_replaced(
    open_workspace: Open, tmp_path: Path, market_home: Path
) -> None:
    workspace = open_workspace()
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "ws"), str(market_home)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as child:
        assert child.stdout.readline() == b"ready\n"
        with pytest.raises(StoreBusy, match=str(child.pid)):
            workspace.resume_run("r0001")
        second = subprocess.run([*command, "r0001"], stdin=subprocess.DEVNULL, capture_output=True)
        assert second.returncode != 0
        assert b"StoreBusy" in second.stderr
        os.kill(child.pid, signal.SIGKILL)
    assert workspace.run("r0001").status == "interrupted"
    assert workspace.resume_run("r0001").status == "running"


def test_ids_are_given_once(open_workspace: Open) -> None:
    workspaces = [open_workspace() for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        started = list(pool.map(lambda workspace: [workspace.start_run(**ASKED).id for _ in range(4)], workspaces))
    assert sorted(itertools.chain(*started)) == [f"r{number:04d}" for number in range(1, 13)]
