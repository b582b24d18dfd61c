"""`data.backtests.*`: run a backtest, at once when it is short, and read it again later."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Literal, cast

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from alphaswarm.core.errors import UnknownName
from alphaswarm.core.summary import canonical_json
from alphaswarm.mcp_server.desk import Desk
from alphaswarm.mcp_server.tools.alphas import Expression, Plain
from alphaswarm.mcp_server.tools.base import tool
from alphaswarm.mcp_server.tools.catalog import PanelName, known_panel
from alphaswarm.research.backtests import BacktestRecord

if TYPE_CHECKING:
    from alphaswarm.research import Workspace

__all__ = ["BacktestAnswer"]

# Under the patience of every client that is known.
MAX_WAIT = 25.0
JOB = "job-"


class BacktestAnswer(BaseModel):
    """A backtest, or the handle of one that still runs."""

    id: str = Field(description="give it to data_backtests_get")
    status: Literal["done", "running"]
    result: BacktestRecord | None
    note: str


@tool(
    "data.backtests.start",
    "Backtest a formula on the panel's search window, with costs. The result comes at once if it is there within "
    "wait_s seconds, else a handle for data_backtests_get. The same call again does nothing twice.",
    read_only=False,
)
async def start(
    desk: Desk,
    context: Context,
    expression: Expression,
    panel: PanelName = None,
    horizon: Annotated[int, Field(ge=1, le=252, description="days each position is held")] = 5,
    cost_bp: Annotated[float, Field(ge=0, le=1000, description="cost of one trade in basis points")] = 5,
    wait_s: Annotated[float, Field(ge=0, description="seconds to wait, at most 25")] = 20,
) -> BacktestAnswer:
    """Run it, or join the same one that runs already."""
    key = JOB + hashlib.sha256(canonical_json([expression, panel, horizon, cost_bp])).hexdigest()[:24]

    def work(workspace: Workspace) -> BacktestRecord:
        return workspace.backtest(
            expression, panel=known_panel(desk, workspace, panel), horizon=horizon, cost_bp=cost_bp
        )

    return await _await(desk, context, key, desk.job(key, work), wait_s)


@tool(
    "data.backtests.get",
    "Read a backtest by the id that data_backtests_start gave, waiting up to wait_s seconds for one that runs.",
    read_only=True,
)
async def get(
    desk: Desk,
    context: Context,
    id: Annotated[Plain, Field(description="id of a backtest or of its job", min_length=4, max_length=80)],  # noqa: A002
    wait_s: Annotated[float, Field(ge=0, description="seconds to wait, at most 25")] = 0,
) -> BacktestAnswer:
    """The stored record, or how far the job is."""
    job = desk.find_job(id)
    if job is not None:
        return await _await(desk, context, id, cast("Future[BacktestRecord]", job), wait_s)
    if id.startswith(JOB):
        raise UnknownName(
            f"this server runs no {id!r}: it was interrupted when the server that ran it ended, or never was. Start it "
            "again with the same arguments; if it had ended, its stored result comes back at once"
        )
    record = await desk.run(lambda workspace: workspace.backtest_record(id), context, lane="read")
    return BacktestAnswer(id=record.id, status="done", result=record, note="")


async def _await(desk: Desk, context: Context, key: str, job: Future[BacktestRecord], seconds: float) -> BacktestAnswer:
    if await desk.wait(job, min(seconds, MAX_WAIT), context, keep=True):
        record = job.result()
        return BacktestAnswer(id=record.id, status="done", result=record, note="")
    return BacktestAnswer(id=key, status="running", result=None, note="ask data_backtests_get for it, with wait_s")
