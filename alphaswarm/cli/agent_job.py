"""One run from its spec to its report, in this process."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alphaswarm.cli.agent_live import watched
from alphaswarm.cli.exit_codes import ExitCode
from alphaswarm.cli.output import exit_code, open_workspace, progress_console

if TYPE_CHECKING:
    import mcp

    from alphaswarm.agents.spec import RunSpec
    from alphaswarm.research import Run, Workspace

__all__ = ["EXIT_CODES", "begin", "body_of", "pursue", "research", "work"]

TOKEN_VARIABLE = "ALPHASWARM_MCP_TOKEN"  # noqa: S105 - the variable's name
RECALLED = "recalled"
# A run that waits, was stopped or met a limit stays open, to be resumed.
EXIT_CODES = {
    "complete": ExitCode.OK,
    "exhausted": ExitCode.OK,
    "declined": ExitCode.OK,
    "limit": ExitCode.LIMIT,
    "stopped": ExitCode.PARTIAL,
    "waiting": ExitCode.PARTIAL,
}
LLM_PROPOSERS = ("llm", "hybrid")


def begin(project: Workspace, specs: list[RunSpec]) -> list[Run]:
    """Start a run for each spec, all of one proposer; a dead endpoint leaves none behind.

    Raises:
        The errors of `Workspace.start_run`; ProviderError where proposing can't work.
    """
    from alphaswarm.agents import resolve_proposer

    chosen = resolve_proposer(specs[0].proposer, os.environ)
    config: dict[str, Any] = _model() if chosen in LLM_PROPOSERS else {}
    with _tried(chosen) as found:
        started = []
        for spec in specs:
            asked = config | ({"approve": True} if spec.approve else {}) | ({"mcp": spec.mcp} if spec.mcp else {})
            run = project.start_run(
                panel=spec.panel or project.catalog.default(),
                horizon=spec.horizon,
                proposer=chosen,
                budget=spec.budget,
                seed=spec.seed,
                intent=spec.intent,
                config=asked,
            )
            shutil.copytree(found, project.path / "runs" / run.id, dirs_exist_ok=True)
            started.append(run)
    return started


def pursue(project: Workspace, run: Run, *, approval: str | None = None, mcp_url: str | None = None) -> dict[str, Any]:
    """Go on with a run that is held here, and close it if it ended; the documented JSON of `agent run`, and `message`.

    Raises:
        SpecInvalid: `approval` of a run that does not wait for any.
        ProviderError, StoreError: the surroundings failed; the run can be resumed.
    """
    outcome = research(project, run, os.environ, approval=approval, mcp_url=mcp_url)
    return _closing(project, run, outcome) | {"message": outcome["message"]}


def work(task: Mapping[str, Any]) -> dict[str, Any]:
    """One run of several, in whatever process: ``{workspace, run}`` to its document, `code` and `stopped`.

    An error is an answer: ``{run_id, error: {reason, message}, code}``.
    """
    from alphaswarm.core import AlphaSwarmError

    identifier = task["run"]
    try:
        with open_workspace(Path(task["workspace"])) as project:
            body = pursue(project, project.resume_run(identifier))
    except AlphaSwarmError as error:
        about = {"reason": str(error.reason), "message": error.message}
        return {"run_id": identifier, "error": about, "code": int(exit_code(error))}
    except KeyboardInterrupt:
        about = {"reason": "INTERRUPTED", "message": "stopped by Ctrl-C"}
        return {"run_id": identifier, "error": about, "code": int(ExitCode.PARTIAL), "stopped": True}
    return body | {"code": int(EXIT_CODES[body["outcome"]]), "stopped": body["outcome"] == "stopped"}


def body_of(project: Workspace, run: Run) -> dict[str, Any]:
    """The documented JSON of a run: its hashed summary, and what lies outside the hash."""
    summary = project.run_summary(run.id)
    report = project.path / "reports" / f"{run.id}.html"
    outside = {"run_id": run.id, "summary": summary.digest, "report": str(report) if report.exists() else None}
    return dict(summary.body) | outside


def research(
    project: Workspace,
    run: Run,
    environ: Mapping[str, str],
    *,
    approval: str | None = None,
    mcp_url: str | None = None,
    show: Callable[..., Any] = watched,
) -> dict[str, Any]:
    """The researcher's result on a run that is held here.

    Args:
        project: which holds the run.
        run: as it was started.
        environ: settings of the proposer, the checkpoint and the remote server.
        approval: "yes" or "no", for a run that waits.
        mcp_url: of the server that serves this project; the run's own, else one in this process.
        show: as `watched`.
    """
    from alphaswarm.agents import AlphaResearcher, connected, make_proposer
    from alphaswarm.agents.checkpoint import checkpoint_place
    from alphaswarm.agents.tools import connected_to
    from alphaswarm.mcp_server import create_server

    directory = project.path / "runs" / run.id
    proposer = make_proposer(run.proposer, environ, directory)
    url = mcp_url or run.config.get("mcp")
    server = None if url else create_server(project)
    place = checkpoint_place(environ, directory)

    def connection() -> AbstractAsyncContextManager[mcp.Client]:
        if server is not None:
            return connected(server)
        return connected_to(str(url), environ.get(TOKEN_VARIABLE))

    async def go() -> dict[str, Any]:
        with show(run, _limits(run, environ)) as on_event:
            async with connection() as client:
                researcher = AlphaResearcher(
                    client,
                    proposer,
                    run=run.id,
                    panel=run.panel,
                    horizon=run.horizon,
                    budget=run.budget,
                    seed=run.seed,
                    intent=run.intent,
                    checkpoint=place,
                    thread=None if isinstance(place, Path) else f"{run.id} {run.started}",  # of many projects
                    kept=directory / RECALLED,
                    as_of=str(project.window(run.panel).end),
                    gate=bool(run.config.get("approve")),
                    approval=approval,
                    on_event=on_event if server is not None else _checked(project, str(url), on_event),
                )
                with _stoppable(researcher.stop):
                    return await researcher.run()

    try:
        return asyncio.run(go())
    finally:
        if server is not None:
            server.desk.close()


@contextmanager
def _stoppable(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C ends the node that is at work and saves; a second one kills."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        stop()
        loop.remove_signal_handler(signal.SIGINT)

    loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _checked(project: Workspace, url: str, on_event: Callable[[Any], None]) -> Callable[[dict[str, Any]], None]:
    """`on_event`, which first sees that what a remote server measured is in this project's ledger."""
    from alphaswarm.core import ProviderError, UnknownName

    def heard(event: dict[str, Any]) -> None:
        trial = (event.get("candidate") or {}).get("id")
        if event["phase"] == "evaluate" and trial:
            try:
                project.trial(trial)
            except UnknownName:
                raise ProviderError(
                    f"the server at {url} serves another project: it must open this workspace's ledger"
                ) from None
        on_event(event)

    return heard


def _limits(run: Run, environ: Mapping[str, str]) -> dict[str, float]:
    """What the model of a run may cost; nothing where none is asked."""
    if run.proposer not in LLM_PROPOSERS:
        return {}
    from alphaswarm.agents.llm import LlmConfig

    config = LlmConfig.from_environment(environ)
    limits: dict[str, float | None] = {
        "calls": config.max_calls,
        "tokens": config.max_tokens,
        "money": config.max_money,
        "seconds": config.max_seconds,
    }
    return {name: limit for name, limit in limits.items() if limit is not None}


def _model() -> dict[str, str]:
    """Which model proposes, and the last date that it may have read about, as far as the environment says."""
    from alphaswarm.research.appraise import last_read

    said = {"model": os.environ.get("ALPHASWARM_LLM_MODEL"), "cutoff": os.environ.get("ALPHASWARM_LLM_CUTOFF")}
    known = {name: value for name, value in said.items() if value}
    last_read(known.get("cutoff"))
    return known


@contextmanager
def _tried(proposer: str) -> Iterator[Path]:
    """Try the proposer, so that a dead endpoint leaves no run behind; what it found lies in the directory."""
    from alphaswarm.agents import make_proposer

    with tempfile.TemporaryDirectory(prefix="alphaswarm-") as directory:
        tried = make_proposer(proposer, os.environ, Path(directory))

        async def start() -> None:
            try:
                await tried.start()
            finally:
                await tried.close()

        asyncio.run(start())
        yield Path(directory)


def _closing(project: Workspace, run: Run, outcome: dict[str, Any]) -> dict[str, Any]:
    from alphaswarm.research import write_report

    ended = EXIT_CODES[outcome["outcome"]] is ExitCode.OK
    finished = project.finish_run(run.id, outcome["outcome"]) if ended else project.run(run.id)
    with progress_console().status("drawing the report"):
        report = write_report(project, run.id)
    about = {"outcome": outcome["outcome"], "report": str(report), "spent": outcome["spent"]}
    return body_of(project, finished) | about
