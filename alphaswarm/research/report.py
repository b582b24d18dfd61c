"""One HTML file per run: what was tried, what stood out, and why to doubt it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import jinja2
import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from alphaswarm.core import atomic_write
from alphaswarm.research import pictures
from alphaswarm.research.plot import figure
from alphaswarm.research.report_data import FactorSheet, ReportData, collect
from alphaswarm.research.trial import Trial
from alphaswarm.trading import COST_CURVE_BP

if TYPE_CHECKING:
    from alphaswarm.evaluation import FactorSeries
    from alphaswarm.research.runs import Run
    from alphaswarm.research.workspace import Workspace

__all__ = ["render", "write_report"]

EQUITY = "Equity after costs"  # needs room for its labels at the right
ROWS_SHOWN = 20  # of the ranked table; the others fold away
MISSES_SHOWN = 8
CAVEATS_SHOWN = 3
SAME_BET = 0.7  # |correlation| from which two factors count as one, as on WorldQuant BRAIN
PROPOSERS = {
    "search": "a seeded genetic search over the grammar that starts from published formulas; no LLM took part",
    "random": "random draws from the grammar; no LLM took part",
    "llm": "a language model",
}
FILLS = {
    "close_t1": "decided at close t, filled at close t+1",
    "open_t1": "decided at close t, filled at open t+1",
}
AT_LEAST = "\N{GREATER-THAN OR EQUAL TO}"
# How each number is shown: format, unit, factor.
FORMATS: Mapping[str, tuple[str, str, float]] = {
    "rank_ic": (".4f", "", 1),
    "rank_ic_t": (".2f", "", 1),
    "ic": (".4f", "", 1),
    "ic_t": (".2f", "", 1),
    "rank_icir": (".2f", "", 1),
    "turnover": (".1f", "%", 100),
    "breakeven_bp": (".1f", " bp", 1),
    "net_sharpe": (".2f", "", 1),
    "sharpe": (".2f", "", 1),
    "max_drawdown": (".1f", "%", 100),
    "coverage": (".0f", "%", 100),
    "n_days": (",.0f", "", 1),
}
SHEET_NUMBERS = (
    ("RankIC", "rank_ic"),
    ("t", "rank_ic_t"),
    ("IC", "ic"),
    ("t of IC", "ic_t"),
    ("Turnover", "turnover"),
    ("Break-even", "breakeven_bp"),
    ("Sharpe, no cost", "sharpe"),
    ("Sharpe, {cost} bp", "net_sharpe"),
    ("Drawdown, {cost} bp", "max_drawdown"),
    ("Coverage", "coverage"),
    ("Days", "n_days"),
)


def write_report(workspace: Workspace, run_id: str) -> Path:
    """Write ``reports/RUN.html`` in the workspace, whole or not at all, and return its path.

    Raises:
        UnknownName: no such run, or its panel is gone.
    """
    data = collect(workspace, run_id)
    path = workspace.path / "reports" / f"{data.run.id}.html"
    atomic_write(path, render(data).encode("utf-8", "replace"))
    return path


def render(data: ReportData) -> str:
    """The report as one HTML page: no script, no request, every text escaped; equal data give equal bytes."""
    style = Markup((Path(__file__).parent / "templates" / "report.css").read_text("utf-8"))  # noqa: S704  our own file
    places = {sheet.trial.id: place for place, sheet in enumerate(data.sheets, 1)}
    top = max([data.hurdle * 1.25, *(abs(trial.rank_ic_t or 0.0) for trial in data.measured)])
    rows = [_row(data, rank, trial, places.get(trial.id), top) for rank, trial in enumerate(data.measured, 1)]
    beat = [row for row in rows if row.gate == "beat"]
    alike = _correlations(data.sheets)
    page = _templates().get_template("report.html")
    return page.render(
        d=data,
        run=data.run,
        style=style,
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        headline=f"{len(data.trials):,} tried, {len(beat) or 'none'} beat the search hurdle "
        f"t {AT_LEAST} {data.hurdle:.2f}",
        proposer=_proposer(data.run),
        caveats=_caveats(data),
        caveats_shown=CAVEATS_SHOWN,
        window=f"{data.window.start} to {data.window.end}" if data.window else "not begun",
        funnel=_funnel(data, len(beat)),
        dots=pictures.t_dots([(row.t, row.title) for row in rows if row.t is not None], data.hurdle),
        rows=rows,
        rows_shown=max(ROWS_SHOWN, len(beat)),
        beat=beat,
        unmeasured=[(trial.expression, _refusal(trial)) for trial in data.trials if trial.status != "evaluated"],
        misses=[row for row in rows if row.gate == "near" and not row.sheet][:MISSES_SHOWN],
        sheets=[_sheet(data, place, sheet) for place, sheet in enumerate(data.sheets, 1)],
        sheet_numbers=[(name.format(cost=f"{data.cost_bp:g}"), key) for name, key in SHEET_NUMBERS],
        wide=EQUITY,
        heat=None if alike is None else pictures.heat_map([f"F{place + 1}" for place in range(len(alike))], alike),
        bets=None if alike is None else _bets(alike),
        curve=_curve(data),
        provenance=_provenance(data),
        number=lambda trial, key: _number(trial, key, data.cost_bp),
        cost=f"{data.cost_bp:g}",
    )


@cache
def _templates() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _proposer(run: Run) -> str:
    model = _model(run)
    return f"the language model {model}" if model else PROPOSERS.get(run.proposer, f"the proposer {run.proposer}")


def _model(run: Run) -> str:
    return str(run.config.get("model") or "")


def _refusal(trial: Trial) -> str:
    place = f" at column {trial.column}" if trial.column else ""
    return f"{trial.reason or trial.status}{place}: {trial.message or 'no reason was kept'}"


def _row(data: ReportData, rank: int, trial: Trial, sheet: int | None, top: float) -> SimpleNamespace:
    t = trial.rank_ic_t
    return SimpleNamespace(
        rank=rank,
        trial=trial,
        t=t,
        sheet=sheet,
        gate="rest" if t is None else pictures.gate(t, data.hurdle),
        gauge=pictures.t_bar(t, data.hurdle, top),
        title="" if t is None else f"#{rank}  t {figure(t, '.2f')}  {trial.expression}",
        remarks=_remarks(data, trial),
    )


def _sheet(data: ReportData, place: int, sheet: FactorSheet) -> SimpleNamespace:
    """The nine pictures of one factor, three rows: is it there, what is it like, does it pay."""
    trial, series = sheet.trial, sheet.series
    dates, rank_ic = series.dates, series.rank_ic
    decay = {int(days): (point["rank_ic"], point["t"]) for days, point in trial.decay.items()}
    curves = {cost: series.equity(cost) for cost in sorted({*COST_CURVE_BP, data.cost_bp})}
    drawn = (
        ("Cumulative RankIC", "a steady slope is a steady factor", pictures.cumulative_ic(dates, rank_ic)),
        ("RankIC", f"mean of {pictures.QUARTER} days", pictures.rolling_ic(dates, rank_ic)),
        ("RankIC by year", "", pictures.yearly_bars(dates, rank_ic)),
        ("Decay", "RankIC by horizon, two standard errors", pictures.decay_bars(decay, data.run.horizon)),
        ("Quantile returns", "next day, fifths less their mean, bp", pictures.quantile_bars(trial.quantiles)),
        (
            "Turnover",
            "a day, both sides",
            pictures.turnover_line(dates, _steady(series)),
        ),
        (EQUITY, "from 1, by cost per traded dollar", pictures.equity_lines(dates, curves, data.cost_bp)),
        ("Drawdown", f"after {data.cost_bp:g} bp", pictures.drawdown_area(dates, curves[data.cost_bp])),
        (
            "Sharpe by cost",
            "bp; zero is the break-even",
            pictures.cost_curve(_by_cost(trial), trial.breakeven_bp, data.cost_bp),
        ),
    )
    return SimpleNamespace(place=place, trial=trial, remarks=_remarks(data, trial), pictures=drawn)


def _steady(series: FactorSeries) -> NDArray[np.float64]:
    """Turnover [D] from the day on which all tranches are in: entering is not trading."""
    entered = series.active & (np.cumsum(series.active) > series.horizon)
    return np.where(entered, series.turnover, np.nan)


def _remarks(data: ReportData, trial: Trial) -> list[str]:
    """What speaks against a factor, in words; what holds for every candidate stands beside the data."""
    found: list[str] = []
    t, breakeven = trial.rank_ic_t, trial.breakeven_bp
    if t is not None and abs(t) < data.hurdle:
        found.append(f"t falls {data.hurdle - abs(t):.2f} short of the hurdle")
    if t is not None and t < 0:
        found.append("the sign is negative: only the opposite bet could pay")
    elif breakeven is not None and breakeven < data.cost_bp:
        found.append(f"breaks even at {figure(breakeven, '.1f')} bp, below the default cost of {data.cost_bp:g} bp")
    return found + [warning for warning in trial.warnings if warning not in _shared(data)]


def _shared(data: ReportData) -> list[str]:
    """The warnings that every candidate carries."""
    first, *others = [trial.warnings for trial in data.measured] or [[]]
    return [warning for warning in first if all(warning in warnings for warnings in others)]


def _caveats(data: ReportData) -> list[str]:
    """What to know of the data before believing a number, the gravest first."""
    known = any("surviv" in caveat for caveat in data.panel.caveats)  # the panel's own words say more
    found = [warning for warning in _shared(data) if not (known and "surviv" in warning)]
    found += data.panel.caveats
    if data.panel.digest and data.panel.survivorship_biased is None:
        found.append("nobody said whether names that were delisted are in it; if not, the figures flatter")
    if data.panel.digest not in ("", data.run.panel_digest):
        found.insert(0, "the panel has changed since this run: the daily pictures of its factors can't be drawn again")
    return [_sentence(text) for text in dict.fromkeys(found)]


def _funnel(data: ReportData, beat: int) -> list[tuple[str, int, Markup]]:
    measured = data.measured
    counts = {
        "proposed": len(data.trials),
        "valid": sum(trial.status != "invalid" for trial in data.trials),
        "evaluated": len(measured),
        "new": sum(trial.first_run == data.run.id for trial in measured),
        f"|t| {AT_LEAST} {pictures.NEAR:g}": sum(abs(trial.rank_ic_t or 0.0) >= pictures.NEAR for trial in measured),
        f"beat {data.hurdle:.2f}": beat,
    }
    *before, last = counts
    styles = dict.fromkeys(before, "pale") | {last: "main"}
    most = max(1, *counts.values())
    return [(name, count, pictures.share_bar(count / most, styles[name])) for name, count in counts.items()]


def _correlations(sheets: Sequence[FactorSheet]) -> NDArray[np.float64] | None:
    """Correlations [S, S] of the daily gross returns, over the days that all have."""
    if len(sheets) < 2:
        return None
    returns = np.stack([sheet.series.gross for sheet in sheets])
    returns = returns[:, np.isfinite(returns).all(axis=0)]
    if returns.shape[1] < 3:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):  # a book that never trades correlates with nothing
        return np.atleast_2d(np.corrcoef(returns))


def _bets(correlations: NDArray[np.float64]) -> int:
    """How many of the factors, best first, are unlike every one kept before."""
    kept: list[int] = []
    for place, row in enumerate(np.abs(correlations)):
        if not (row[kept] >= SAME_BET).any():
            kept.append(place)
    return len(kept)


def _curve(data: ReportData) -> Markup:
    from alphaswarm.evaluation import hurdle

    counts = [round(10 ** (power / 8)) for power in range(8 * 4 + 1)]
    return pictures.hurdle_curve(counts, [hurdle(count) for count in counts], data.trials_total, data.hurdle)


def _provenance(data: ReportData) -> list[tuple[str, str | Markup]]:
    code = Markup("<code>{}</code>").format
    run, window = data.run, data.window
    model = _model(run) or ("" if run.proposer == "llm" else "no LLM" if run.proposer in PROPOSERS else "")
    facts: list[tuple[str, str | Markup]] = [
        ("Repeat it", code(data.command)),
        ("Panel digest", code(run.panel_digest)),
        ("Source", data.panel.source),
        ("Licence", data.panel.licence),
        ("Window", f"{window.role}, {window.start} to {window.end}; labels end inside it" if window else ""),
        ("Label and fill", f"{run.horizon} days, {FILLS.get(run.fill, run.fill)}"),
        ("Portfolio", f"ranks, gross 1, net 0, held in {run.horizon} staggered tranches"),
        ("Default cost", f"{data.cost_bp:g} bp a traded dollar"),
        ("Proposer", ", ".join(filter(None, (run.proposer, model)))),
        ("Seed, budget", f"{run.seed}, {run.budget} new trials"),
        ("Trials ever on this panel", f"{data.trials_total:,}"),
        ("Versions", ", ".join(f"{name} {number}" for name, number in sorted(data.versions.items()))),
    ]
    return [(name, value) for name, value in facts if value]


def _number(trial: Trial, key: str, cost_bp: float) -> Markup:
    """A metric as it is shown; a dash that says why where there is none."""
    value = _by_cost(trial).get(cost_bp) if key == "net_sharpe" else getattr(trial, key)
    if value is None:
        why = trial.missing.get(f"net_sharpe.{cost_bp:g}" if key == "net_sharpe" else key, "not to be had")
        return Markup('<span class="none" title="{}">&ndash;</span>').format(why)
    form, unit, scale = FORMATS[key]
    return Markup("{}").format(figure(value * scale, form, unit))


def _by_cost(trial: Trial) -> dict[float, float | None]:
    return {float(cost): value for cost, value in trial.net_sharpe.items()}


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:]
