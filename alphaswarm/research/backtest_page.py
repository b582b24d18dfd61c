"""One HTML file per backtest: equity, drawdown, exposure, turnover, months, positions and every figure's meaning."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

import jinja2
import numpy as np
from markupsafe import Markup

from alphaswarm.core import atomic_write, canonical_json
from alphaswarm.research import backtest_pictures as drawn
from alphaswarm.research import pictures
from alphaswarm.research.backtest_words import METRICS, Metric, shown
from alphaswarm.research.backtests import BacktestRecord

__all__ = ["render_backtest", "write_page"]

TEMPLATES = Path(__file__).parent / "templates"
# What the pages of runs don't have: wide cells, and room for the names beside bars.
STYLE = (
    ".months { padding: 18px 0 0 64px; } #figures .expr { width: auto; padding-left: 0; }"
    " #figures .t { padding-right: 22px; }"
    " #figures h2 { margin-bottom: 14px; } #money .charts { grid-template-columns: repeat(auto-fill, "
    "minmax(min(100%, 330px), 1fr)); }"
)


def write_page(workspace: Path, record: BacktestRecord) -> Path:
    """Write ``reports/backtest-ID.html`` in the workspace, whole or not at all, and return its path."""
    path = workspace / "reports" / f"backtest-{record.id[:16]}.html"
    atomic_write(path, render_backtest(record).encode("utf-8", "replace"))
    return path


def render_backtest(record: BacktestRecord) -> str:
    """The page: no script, no request, every text escaped; equal records give equal bytes."""
    style = Markup((TEMPLATES / "report.css").read_text("utf-8") + STYLE)  # noqa: S704  our own file
    dates = np.array(record.dates, "datetime64[D]")
    equity, turnover = np.array(record.equity), np.array(record.turnover)
    money = [
        ("Equity", "after costs, from 1", drawn.equity_line(dates, equity)),
        ("Drawdown", "below the highest point before", pictures.drawdown_area(dates, equity)),
        ("Turnover", f"a day, both sides, mean of {pictures.QUARTER} days", pictures.turnover_line(dates, turnover)),
    ]
    if record.gross:
        gross, net = np.array(record.gross), np.array(record.net)
        money.append(("Exposure", "gross as an area, net as a line", drawn.exposure_lines(dates, gross, net)))
    if record.costs:
        money.append(("Costs", "paid so far, of the starting capital", drawn.cost_line(dates, np.array(record.costs))))
    return _template().render(
        r=record,
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        headline=_headline(record),
        pictures=money,
        months=drawn.month_map(dates, equity),
        bars=drawn.position_bars([(one.symbol, one.mean, one.last) for one in record.positions]),
        fills=f"{record.fills:,} orders filled" if record.fills else "fractions of equity traded, no orders",
        figures=[(metric, _shown(metric, record)) for metric in METRICS if metric.name in record.metrics],
        provenance=_provenance(record),
    )


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("backtest.html")


def _headline(record: BacktestRecord) -> str:
    by_name = {metric.name: metric for metric in METRICS}
    sharpe, yearly, worst = (_shown(by_name[name], record) for name in ("sharpe", "ann_return", "max_drawdown"))
    return f"Sharpe {sharpe} after costs, {yearly} a year, worst fall {worst}"


def _shown(metric: Metric, record: BacktestRecord) -> str:
    return shown(metric, record.metrics.get(metric.name)).replace("-", "\N{MINUS SIGN}")


def _provenance(record: BacktestRecord) -> list[tuple[str, str | Markup]]:
    code = Markup("<code>{}</code>").format
    facts: list[tuple[str, str | Markup]] = [
        ("Backtest", code(record.id)),
        ("Trial", code(record.trial or "none: no expression was tried")),
        ("Content held", code(record.digest) if record.digest else ""),
        ("Panel digest", code(record.panel_digest)),
        ("Decisions", code(record.decisions_digest)),
        ("Result", code(record.result_digest)),
        ("Rule", code(canonical_json(record.rule).decode()) if record.rule else ""),
        ("Engine", code(canonical_json(record.settings).decode())),
        ("Rows in a year", f"{record.periods:g}"),
    ]
    return [(name, value) for name, value in facts if value]
