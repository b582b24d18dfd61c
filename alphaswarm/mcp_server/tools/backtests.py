"""`data.backtests.*`: run a backtest, at once when it is short, and read it again later."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Literal, cast

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from alphaswarm.core.errors import ExpressionError, FieldNotFound, UnknownName
from alphaswarm.core.summary import canonical_json
from alphaswarm.mcp_server.desk import Desk
from alphaswarm.mcp_server.tools.alphas import Expression, Plain
from alphaswarm.mcp_server.tools.base import NUMBER, tool
from alphaswarm.mcp_server.tools.catalog import PanelName, known_panel
from alphaswarm.research.trial import TrialWindow, trial_key

if TYPE_CHECKING:
    from alphaswarm.research import BacktestRecord, Workspace

__all__ = ["BacktestAnswer", "BacktestView"]

# Under the patience of every client that is known.
MAX_WAIT = 25.0
ENGINE = "vector"
FILL = "close_t1"
# Points of a curve that show its shape; every row is a call with `limit`, or the resource, away.
CURVE = 60
MAX_ROWS = 150


class BacktestView(BaseModel):
    """A backtest on the search window. Its curve is thinned; `rows` says to how many rows it belongs."""

    trial: str = Field(description="id of the trial of the same expression, panel and horizon")
    expression: str
    digest: str
    panel: str
    panel_digest: str
    window: TrialWindow
    horizon: int
    fill: str
    cost_bp: float
    engine: str
    metrics: dict[str, float | None]
    rows: int
    dates: list[str]
    equity: list[float] = Field(description="after costs, from 1")
    turnover: list[float] = Field(description="of the shown day, both sides")
    result_digest: str
    warnings: list[str]


class BacktestAnswer(BaseModel):
    """A backtest, or the handle of one that still runs."""

    id: str = Field(description="give it to data_backtests_get")
    status: Literal["done", "running"]
    result: BacktestView | None
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
    horizon: Annotated[int, Field(ge=1, le=252, description="days each position is held"), NUMBER] = 5,
    cost_bp: Annotated[float, Field(ge=0, le=1000, description="cost of one trade in basis points"), NUMBER] = 5,
    wait_s: Annotated[float, Field(ge=0, description="seconds to wait, at most 25"), NUMBER] = 20,
) -> BacktestAnswer:
    """Run it, or join the same one that runs already."""

    def work(workspace: Workspace) -> BacktestRecord:
        chosen = known_panel(workspace, panel)
        return workspace.backtest(expression, panel=chosen, horizon=horizon, cost_bp=cost_bp, engine=ENGINE)

    key = await desk.run(lambda workspace: _key(workspace, expression, panel, horizon, cost_bp), context, lane="read")
    return await _answer(desk, context, key, desk.job(key, work), wait_s)


@tool(
    "data.backtests.get",
    "Read a backtest by the id that data_backtests_start gave, waiting up to wait_s seconds for one that runs.",
    read_only=True,
)
async def get(
    desk: Desk,
    context: Context,
    id: Annotated[Plain, Field(description="id of the backtest, or its first characters", min_length=4, max_length=64)],  # noqa: A002
    wait_s: Annotated[float, Field(ge=0, description="seconds to wait, at most 25"), NUMBER] = 0,
    limit: Annotated[int, Field(ge=0, le=MAX_ROWS, description="rows of the curve; 0 for a thinned whole"), NUMBER] = 0,
    offset: Annotated[int, Field(ge=0, description="first row, with a limit"), NUMBER] = 0,
) -> BacktestAnswer:
    """The stored record, or how far the job is."""
    job = desk.find_job(id)
    if job is not None:
        return await _answer(desk, context, id, cast("Future[BacktestRecord]", job), wait_s, limit, offset)
    try:
        record = await desk.run(lambda workspace: workspace.backtest_record(id), context, lane="read")
    except UnknownName as error:
        raise UnknownName(
            f"{error}. One that was running when its server ended was interrupted and is not stored: "
            "start it again with the same arguments"
        ) from error
    return _done(record, limit, offset)


def _key(workspace: Workspace, expression: str, panel: str | None, horizon: int, cost_bp: float) -> str:
    """The id under which the result will be stored, so that a handle outlives this process."""
    from alphaswarm.dsl import parse
    from alphaswarm.research.backtests import backtest_key

    name = known_panel(workspace, panel)
    held = workspace.panel(name)
    try:
        digest = parse(expression, panel=held).digest
    except (ExpressionError, FieldNotFound):
        # The job refuses it, after counting the trial; its id is never asked for.
        return hashlib.sha256(canonical_json([expression, name, horizon, cost_bp])).hexdigest()
    stored_as = str(held.meta.get("name", name))
    trial = trial_key(digest=digest, panel=stored_as, panel_digest=held.digest, horizon=horizon, fill=FILL)
    return backtest_key(trial, cost_bp, ENGINE)


async def _answer(
    desk: Desk,
    context: Context,
    key: str,
    job: Future[BacktestRecord],
    seconds: float,
    limit: int = 0,
    offset: int = 0,
) -> BacktestAnswer:
    if await desk.wait(job, min(seconds, MAX_WAIT), context, keep=True):
        return _done(job.result(), limit, offset)
    return BacktestAnswer(id=key, status="running", result=None, note="ask data_backtests_get for it, with wait_s")


def _done(record: BacktestRecord, limit: int, offset: int) -> BacktestAnswer:
    rows = len(record.dates)
    if limit:
        shown = list(range(min(offset, rows), min(offset + limit, rows)))
        note = (
            f"rows {offset + 1} to {offset + len(shown)} of {rows}"
            if shown
            else f"offset {offset} is past the last row"
        )
    else:
        shown = sorted({round(point * (rows - 1) / (CURVE - 1)) for point in range(CURVE)})
        note = f"the curve shows {len(shown)} of {rows} rows; limit and offset give them all"
    known = record.model_dump(include=BacktestView.model_fields.keys() - {"rows", "dates", "equity", "turnover"})
    view = BacktestView(
        **known,
        rows=rows,
        dates=[record.dates[row] for row in shown],
        equity=[round(record.equity[row], 6) for row in shown],
        turnover=[round(record.turnover[row], 6) for row in shown],
    )
    return BacktestAnswer(id=record.id, status="done", result=view, note=note)
