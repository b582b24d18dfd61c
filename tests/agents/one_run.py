"""A process that researches and is killed: run by the tests of crashes, never collected as a test.

``one_run.py HOME WORKSPACE BUDGET`` runs to the end; with ``KILLS`` (JSON: event counts or seconds) each
attempt is made in a forked child that dies there, and the last one runs to the end. The end prints
what the run found; every measurement leaves a line in WORKSPACE/measured. ``PROPOSER`` in the environment says
who proposes (search if absent), and the variables of the model which model.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from alphaswarm.agents import AlphaResearcher, connected, make_proposer
from alphaswarm.data import Catalog
from alphaswarm.mcp_server import create_server
from alphaswarm.research import Workspace
from alphaswarm.research.examine import Examiner

MEASURE = Examiner._measure
PROPOSER = os.environ.get("PROPOSER", "search")


def measured(examiner: Examiner, key: str, *rest: Any) -> Any:
    """Note each measurement before it is made."""
    with Path("measured").open("a") as file:
        file.write(f"{key}\n")
    return MEASURE(examiner, key, *rest)


def research(home: Path, directory: Path, budget: int, die_at: int | None) -> dict[str, Any]:
    """Start or resume the one run of the project."""
    Examiner._measure = measured  # type: ignore[method-assign,assignment]
    events = 0

    def seen(_event: dict[str, Any]) -> None:
        nonlocal events
        events += 1
        if events == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    async def go(workspace: Workspace) -> dict[str, Any]:
        if workspace.runs():
            run = workspace.resume_run("r0001")
        else:
            run = workspace.start_run(panel="tiny", horizon=5, proposer=PROPOSER, budget=budget, seed=7)
        server = create_server(workspace)
        place = directory / "runs" / run.id
        async with connected(server) as client:
            researcher = AlphaResearcher(
                client,
                make_proposer(PROPOSER, os.environ, place),
                run=run.id,
                panel="tiny",
                horizon=5,
                budget=budget,
                seed=7,
                checkpoint=place / "checkpoint.sqlite",
                kept=place / "recalled",
                on_event=seen,
            )
            result = await researcher.run()
        server.desk.close()
        workspace.finish_run(run.id, result["outcome"])
        return result | {"summary": workspace.run_summary(run.id).digest, "total": workspace.trials_total("tiny")}

    with Workspace.open(directory, catalog=Catalog(home)) as workspace:
        return asyncio.run(go(workspace))


def killed(home: Path, directory: Path, budget: int, moment: float) -> bool:
    """One attempt in a child that is killed at its n-th event, or after so many seconds; whether it was."""
    child = os.fork()
    if child == 0:
        research(home, directory, budget, int(moment) if isinstance(moment, int) else None)
        os._exit(0)
    if not isinstance(moment, int):
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


if __name__ == "__main__":
    home_, directory_, budget_ = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    directory_.mkdir(parents=True, exist_ok=True)
    os.chdir(directory_)
    moments = json.loads(sys.argv[4]) if len(sys.argv) > 4 else []
    kills = sum(killed(home_, directory_, budget_, moment) for moment in moments)
    print(json.dumps(research(home_, directory_, budget_, None) | {"kills": kills}))
