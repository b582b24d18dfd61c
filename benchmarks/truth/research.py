"""One search from its start to its verdicts, as `alphaswarm agent run` makes it, in a project that is thrown away."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from alphaswarm.agents import AlphaResearcher, Proposal, ProposalRequest, Proposer, connected, make_proposer
from alphaswarm.core import Panel
from alphaswarm.mcp_server import create_server
from alphaswarm.research import Workspace
from benchmarks.truth.markets import MemoryCatalog

PANEL = "market"
HORIZON = 5
PROPOSER = "search"
# Thousands of small transactions: on a disk in memory where the system has one.
SHARED_MEMORY = Path("/dev/shm")


class Injected:
    """The default search, with formulas of somebody else as its first candidates."""

    def __init__(self, inner: Proposer, formulas: Sequence[str]) -> None:
        self._inner = inner
        self._formulas = tuple(formulas)
        self.name = inner.name
        self.notice = inner.notice
        self.batch = inner.batch
        self.uses_memory = inner.uses_memory
        self.start = inner.start
        self.close = inner.close

    async def propose(self, request: ProposalRequest) -> Sequence[Proposal]:
        """First the formulas, then what the search proposes."""
        if request.round:
            return await self._inner.propose(request)
        given = [Proposal(text, "given from outside", "injected") for text in self._formulas]
        return [*given, *await self._inner.propose(replace(request, count=request.count - len(given)))]


@contextmanager
def project(panel: Panel, gates: str = "") -> Iterator[Workspace]:
    """A sealed research project on `panel`; `gates` is the text of its gates.yaml."""
    place = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="truth-", dir=place) as directory:
        path = Path(directory) / "project"
        with Workspace.open(path, catalog=MemoryCatalog({PANEL: panel}, Path(directory))) as workspace:
            if gates:
                (path / "gates.yaml").write_text(gates, "utf-8")
            yield workspace


def researched(
    workspace: Workspace, name: str, make: Callable[[Path], Proposer], *, seed: int, budget: int
) -> tuple[str, dict[str, Any]]:
    """A run's id, and what the researcher says of it; `make` is given the directory of the run."""
    run = workspace.start_run(panel=PANEL, horizon=HORIZON, proposer=name, budget=budget, seed=seed)
    directory = workspace.path / "runs" / run.id
    proposer = make(directory)
    server = create_server(workspace)

    async def research() -> dict[str, Any]:
        async with connected(server) as client:
            researcher = AlphaResearcher(
                client,
                proposer,
                run=run.id,
                panel=PANEL,
                horizon=HORIZON,
                budget=budget,
                seed=seed,
                checkpoint=directory / "checkpoint.sqlite",
            )
            return await researcher.run()

    try:
        return run.id, asyncio.run(research())
    finally:
        server.desk.close()


def searched(workspace: Workspace, *, seed: int, budget: int, inject: Sequence[str] = ()) -> dict[str, Any]:
    """The summary of a finished run."""

    def proposer(directory: Path) -> Proposer:
        search = make_proposer(PROPOSER, {}, directory)
        return Injected(search, inject) if inject else search

    run, outcome = researched(workspace, PROPOSER, proposer, seed=seed, budget=budget)
    workspace.finish_run(run, outcome["outcome"])
    return dict(workspace.run_summary(run).body) | {"run_id": run}


def one_search(
    panel: Panel, *, seed: int, budget: int, inject: Sequence[str] = (), note: Callable[[str], Any] = lambda _: {}
) -> dict[str, Any]:
    """What is kept of one search: counts, and the accepted formulas with what `note` says of each."""
    with project(panel) as workspace:
        body = searched(workspace, seed=seed, budget=budget, inject=inject)
    accepted = [
        {"expression": one["expression"], "evidence_z": one["evidence_z"], **note(one["expression"])}
        for one in body["accepted"]
    ]
    strongest = body["candidates"] and max(abs(one["evidence_z"] or 0.0) for one in body["candidates"])
    return {
        "accepted": accepted,
        "strongest_z": strongest,
        "top_line": body["verdict"],
        **{name: body["counts"][name] for name in ("proposed", "beat", "bets", "confirmed", "tradable")},
    }
