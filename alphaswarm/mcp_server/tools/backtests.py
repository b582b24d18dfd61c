"""`data.backtests.*`: run a backtest, at once when it is short, and read it again later."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from mcp.server.mcpserver import Context
from pydantic import BaseModel, Field

from alphaswarm.core.errors import ExpressionError, FieldNotFound, UnknownName
from alphaswarm.core.summary import content_key
from alphaswarm.mcp_server.desk import Desk
from alphaswarm.mcp_server.paging import cut
from alphaswarm.mcp_server.tools.alphas import Expression, FillName, Plain
from alphaswarm.mcp_server.tools.base import NUMBER, tool
from alphaswarm.mcp_server.tools.catalog import PanelName, known_panel
from alphaswarm.research.backtest_compare import BacktestComparison, ComparedBacktest, compare_backtests
from alphaswarm.research.backtest_setup import BacktestRequest, engine_for, request_for
from alphaswarm.research.trial import TrialWindow

if TYPE_CHECKING:
    from alphaswarm.research import BacktestRecord, Workspace

__all__ = ["BacktestAnswer", "BacktestView"]

# Under the patience of every client that is known.
MAX_WAIT = 25.0
MOST_LISTED = 50
MAX_NAME = 120
COMPARED = ("sharpe", "ann_return", "volatility", "max_drawdown", "hit_rate", "turnover", "cost", "gross", "net")
# Points of a curve that show its shape; every row is a call with `limit`, or the resource, away.
CURVE = 60
MAX_ROWS = 150

HoldDays = Annotated[int, Field(ge=1, le=252, description="days each position is held"), NUMBER]
CostBp = Annotated[float, Field(ge=0, le=1000, description="cost of one trade in basis points"), NUMBER]
EngineName = Annotated[Literal["vector", "event"], Field(description="what trades")]
ModeName = Annotated[
    Literal["next_open", "close_to_close", "backtrader", "backtrader_coo", "cheat_on_close"],
    Field(description="of engine event; its own choice if absent"),
]
BaselineName = Literal["equal_weight", "buy_and_hold", "inverse_volatility", "minimum_variance", "random_weights"]


class BacktestView(BaseModel):
    """A backtest on the search window. Its curve is thinned; `rows` says to how many rows it belongs."""

    kind: str = Field(description="expression, pool, weights or baseline")
    name: str
    trial: str | None = Field(description="id of the trial of the same expression, panel, horizon and fill")
    expression: str
    digest: str
    panel: str
    panel_digest: str
    window: TrialWindow
    horizon: int | None
    fill: str
    cost_bp: float | None
    engine: str
    words: str
    fills: int
    decisions_digest: str
    metrics: dict[str, float | None]
    rows: int
    dates: list[str]
    equity: list[float] = Field(description="after costs, from 1")
    turnover: list[float] = Field(description="of the shown day, both sides")
    result_digest: str
    warnings: list[str]


class Listed(BaseModel):
    """A stored backtest in a few figures."""

    id: str
    kind: str
    name: str
    panel: str
    engine: str
    horizon: int | None
    cost_bp: float | None
    sharpe: float | None
    ann_return: float | None
    max_drawdown: float | None
    turnover: float | None


class BacktestList(BaseModel):
    """Stored backtests, the newest first."""

    backtests: list[Listed]
    note: str = Field(description="how to get the others; empty when none are left")


class BacktestAnswer(BaseModel):
    """A backtest, or the handle of one that still runs."""

    id: str = Field(description="give it to data_backtests_get")
    status: Literal["done", "running"]
    result: BacktestView | None
    note: str


@tool(
    "data.backtests.start",
    "Backtest a formula on the panel's search window, with costs. The result comes at once if it is there within "
    "wait_s seconds, else a handle for data_backtests_get. The same call again does nothing twice. Engine event trades "
    "whole shares with cash, by its mode; engine vector fractions of equity, at its fill.",
    read_only=False,
)
async def start(
    desk: Desk,
    context: Context,
    expression: Expression,
    panel: PanelName = None,
    horizon: HoldDays = 5,
    cost_bp: CostBp = 5,
    engine: EngineName = "vector",
    mode: ModeName | None = None,
    fill: FillName | None = None,
    wait_s: Annotated[float, Field(ge=0, description="seconds to wait, at most 25"), NUMBER] = 20,
) -> BacktestAnswer:
    """Run it, or join the same one that runs already."""
    how: dict[str, Any] = {"horizon": horizon, "cost_bp": cost_bp, "engine": engine, "mode": mode, "fill": fill}

    def work(workspace: Workspace) -> BacktestRecord:
        return workspace.backtest(expression, panel=known_panel(workspace, panel), **how)

    key = await desk.run(lambda workspace: _key(workspace, expression, panel, how), context, lane="read")
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


@tool("data.backtests.list", "List stored backtests, the newest first, with their main figures.", read_only=True)
async def listing(
    desk: Desk,
    context: Context,
    panel: PanelName = None,
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED, description="how many"), NUMBER] = 20,
    offset: Annotated[int, Field(ge=0, description="how many to leave out at the start"), NUMBER] = 0,
) -> BacktestList:
    """Ids and figures."""

    def work(workspace: Workspace) -> list[BacktestRecord]:
        return workspace.backtests(None if panel is None else known_panel(workspace, panel), None)

    records = await desk.run(work, context, lane="read")
    kept, note = cut([_listed(record) for record in records], limit, offset)
    return BacktestList(backtests=kept, note=note)


@tool(
    "data.backtests.compare",
    "Set backtests side by side: figures, correlations of their daily returns, alpha and beta to the first baseline. "
    "Each of `backtests` is the id of a stored one, or a formula, which is backtested and counted.",
    read_only=False,
)
async def compare(
    desk: Desk,
    context: Context,
    backtests: Annotated[list[Expression], Field(description="ids or formulas", min_length=1, max_length=8)],
    panel: PanelName = None,
    horizon: HoldDays = 5,
    cost_bp: CostBp = 5,
    engine: EngineName = "vector",
    mode: ModeName | None = None,
    fill: FillName | None = None,
    baselines: Annotated[list[BaselineName], Field(description="held beside them", max_length=4)] = [],  # noqa: B006
) -> BacktestComparison:
    """Figures and correlations."""

    def work(workspace: Workspace) -> BacktestComparison:
        known = [workspace.find_backtest(source) for source in backtests]
        stored = next((record.panel for record in known if record is not None), None)
        on = stored if panel is None and stored is not None else known_panel(workspace, panel)
        how: dict[str, Any] = {"horizon": horizon, "cost_bp": cost_bp, "engine": engine, "mode": mode, "fill": fill}
        records = [
            record or workspace.backtest(source, panel=on, **how)
            for source, record in zip(backtests, known, strict=True)
        ]
        trader = engine_for(engine, cost_bp=cost_bp, mode=mode, fill=fill)
        asked = [request_for(None, on, trader, baseline=name) for name in baselines]
        return compare_backtests(records + [workspace.run_backtest(request) for request in asked])

    found = await desk.run(work, context, lane="work")
    return found.model_copy(
        update={
            "backtests": [_shorter(one) for one in found.backtests],
            "correlations": [[_rounded(value) for value in row] for row in found.correlations],
        }
    )


def _listed(record: BacktestRecord) -> Listed:
    return Listed(
        id=record.id,
        kind=record.kind,
        name=record.title[:MAX_NAME],
        panel=record.panel,
        engine=record.engine,
        horizon=record.horizon,
        cost_bp=record.cost_bp,
        **{name: _rounded(record.metrics.get(name)) for name in ("sharpe", "ann_return", "max_drawdown", "turnover")},
    )


def _shorter(one: ComparedBacktest) -> ComparedBacktest:
    """What fits beside ten others into one answer."""
    kept = {
        "name": one.name[:MAX_NAME],
        "words": one.words[:MAX_NAME],
        "metrics": {name: _rounded(one.metrics.get(name)) for name in COMPARED},
        "alpha": _rounded(one.alpha),
        "beta": _rounded(one.beta),
    }
    return one.model_copy(update=kept)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 5)


def _key(workspace: Workspace, expression: str, panel: str | None, how: dict[str, Any]) -> str:
    """The id under which the result will be stored, so that a handle outlives this process."""
    name = known_panel(workspace, panel)
    trader = engine_for(how["engine"], cost_bp=how["cost_bp"], mode=how["mode"], fill=how["fill"])
    try:
        return workspace.backtest_key(BacktestRequest("expression", expression, name, trader, how["horizon"]))
    except (ExpressionError, FieldNotFound):
        # The job refuses it, after counting the trial; its id is never asked for.
        return content_key([expression, name, how])


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
