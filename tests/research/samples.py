"""Reports put together from made trials, real tear sheets and real gates; and a page taken apart."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np

from alphaswarm.core import Panel
from alphaswarm.data import synthetic_market
from alphaswarm.evaluation import DECAY_HORIZONS, Evaluator, Window, hurdle
from alphaswarm.evaluation.gates import (
    Thresholds,
    book_figures,
    confirmation_gate,
    distinct_gate,
    economic_gates,
    search_gates,
    selection_gates,
)
from alphaswarm.evaluation.sheet import TearSheet, TearSheets
from alphaswarm.evaluation.verdict import Verdict, sentence
from alphaswarm.research.report_data import FactorSheet, PanelFacts, ReportData
from alphaswarm.research.runs import Run
from alphaswarm.research.trial import Trial, TrialWindow

COSTS = (0, 1, 2, 5, 10)
SEARCH = TrialWindow(role="search", start="2007-01-03", end="2012-12-31")
TEXTS = (
    "cs_rank(-ts_sum(returns, {0}))",
    "-ts_corr(cs_rank(close), cs_rank(dollar_volume), {0})",
    "where(ts_min(ts_delta(close, 1), {0}) > 0, ts_delta(close, 1), where(ts_max(ts_delta(close, 1), {0}) < 0, "
    "ts_delta(close, 1), -ts_delta(close, 1)))",
    "cs_zscore(-ts_decay_linear(returns, {0}))",
    "ts_mean(dollar_volume, {0}) / ts_std(returns, {0})",
)
SURVIVORS = "the panel holds survivors only: size, illiquidity and reversal look better than they were"

PANEL = PanelFacts(
    name="us431",
    digest="9f2c" * 16,
    source="source package of cvxportfolio 1.5.1",
    licence="downloaded by each user, never redistributed",
    caveats=(
        "survivorship-biased: only names with a full history to 2016 are in it",
        "close is a total-return index that starts at 1 for every name",
        "returns carry four significant digits, so ties are real",
        "stale days: 2014-08-04 and 2014-07-18",
    ),
    survivorship_biased=True,
    rows=2518,
    symbols=431,
    start="2007-01-03",
    end="2016-12-30",
)


def make_trial(place: int, t: float | None, rng: np.random.Generator, **changes: object) -> Trial:
    ic = None if t is None else t * 0.0058
    breakeven = 1.5 * (t or 0) + float(rng.normal(0, 0.5))
    said = {
        "id": f"{place:064x}",
        "trial": f"{place:064x}",
        "status": "evaluated",
        "expression": TEXTS[place % len(TEXTS)].format(place + 5),
        "digest": f"{place:064x}",
        "panel": "us431",
        "panel_digest": PANEL.digest,
        "window": SEARCH,
        "horizon": 5,
        "fill": "close_t1",
        "ic": None if ic is None else 0.8 * ic,
        "ic_t": None if t is None else 0.7 * t,
        "rank_ic": ic,
        "rank_ic_t": None if t is None else 0.7 * t,
        "evidence": ic,
        "evidence_t": t,
        "evidence_z": t,
        "residual_rank_ic": ic,
        "residual_rank_ic_t": None if t is None else 0.9 * t,
        "ann_return": breakeven / 100,
        "turnover": float(rng.uniform(0.05, 0.6)),
        "coverage": 0.98,
        "breakeven_bp": breakeven,
        "n_days": 1504,
        "decay": {str(h): {"rank_ic": None if ic is None else ic * (1.2 - 0.03 * h), "t": t} for h in DECAY_HORIZONS},
        "quantiles": [4e-4 + 4e-4 * (fifth - 2) * (t or 0) / 4 for fifth in range(5)],
        "sharpe": 0.3 * breakeven,
        "net_sharpe": {str(cost): 0.3 * (breakeven - cost) for cost in COSTS},
        "max_drawdown": -0.08,
        "trials_total": 60,
        "first_run": "r0001",
        "as_of": "2012-12-31",
        "source": ("known:wq009", "known:rev_5", "search")[place % 3],
        "warnings": [SURVIVORS],
    }
    return Trial.model_validate(said | changes)


@cache
def sheets_of(days: int) -> tuple[TearSheets, Panel]:
    panel = synthetic_market("null", seed=2, days=days, names=70)
    return TearSheets(Evaluator(panel, Window("search", panel.dates[0], panel.dates[-1]))), panel


@cache
def tear_sheet(place: int, days: int = 420) -> TearSheet:
    """Of a factor without sense, slow enough to be held."""
    maker, panel = sheets_of(days)
    noise = np.random.default_rng(place).normal(size=panel.shape)
    return maker.sheet(np.cumsum(noise, axis=0)[:, ::-1] if place % 2 else noise, n_trials=60)


def make_verdict(
    trial: Trial,
    status: str,
    sheet: TearSheet | None = None,
    k: int = 4,
    stronger: str | None = None,
    **changes: object,
) -> Verdict:
    """As the judge would put it together; `sheet` is that of a bet."""
    gates = search_gates(trial.model_dump(), rows=1510, n_trials=60, synthetic=False)
    thresholds, reported = Thresholds(), {}
    if stronger is not None:
        gates.append(distinct_gate(stronger, 0.83, kept=False))
    if sheet is not None:
        gates += [distinct_gate(None, None, kept=True), confirmation_gate(9.0 if status == "confirmed" else 0.0, 1, k)]
        reported = {
            "trials": 59,
            "effective_trials": 14,
            "pbo": {"probability": 0.31, "slope": -0.4, "loss_probability": 0.12},
            "bh": {"q": 0.05, "discoveries": 7},
            "dsr_1T": 0.91,
            "dsr_empirical": 0.02,
            "known": {"name": "wq009", "citation": "x", "correlation": 0.93, "label": "known: wq009"},
            "cost_curve": [{"bp": float(cost), "sharpe": 1.2 - 0.2 * cost, "ann_return": 0.0} for cost in COSTS],
        }
    if status == "confirmed":
        book = book_figures(sheet.series, 1, thresholds.cost_bp)
        gates += economic_gates(book, thresholds, n_trials=60, weight=0.012, capacity=2.2e7, likeness=None)
        gates += selection_gates(book, thresholds)
    bet = k if sheet is not None else None
    words = sentence(status, gates, n_trials=60, k=bet, thresholds=thresholds, biased=True)  # type: ignore[arg-type]
    said: dict[str, Any] = {
        "expression": trial.expression,
        "digest": trial.digest,
        "panel": "us431",
        "panel_digest": PANEL.digest,
        "lineage": "us431",
        "horizon": 5,
        "fill": "close_t1",
        "sign": -1 if (trial.evidence_z or 0) < 0 else 1,
        "status": status,
        "tradable": False,
        "words": words,
        "gates": gates,
        "reported": reported,
        "thresholds": thresholds,
        "n_trials": 60,
        "k": bet,
        "trial": trial.id,
    }
    return Verdict.model_validate(said | changes)


def make_run(**changes: object) -> Run:
    said = {
        "id": "r0001",
        "status": "finished",
        "panel": "us431",
        "panel_digest": PANEL.digest,
        "horizon": 5,
        "fill": "close_t1",
        "proposer": "search",
        "budget": 60,
        "seed": 7,
        "intent": "short-term reversal that survives costs",
        "config": {},
        "started": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:01:00+00:00",
        "outcome": "complete",
        "trials": 60,
        "trials_total": 60,
    }
    return Run.model_validate(said | changes)


def make_report(count: int = 60, beat: int = 2, *, sheets: int = 6, days: int = 420, **changes: object) -> ReportData:
    """A run that was not judged."""
    rng = np.random.default_rng(count + beat)
    height = hurdle(max(count, 1))
    scores = sorted(rng.normal(0.4, 1.3, count), key=abs, reverse=True)
    scores = [math.copysign(min(abs(t), height - 0.06), t) for t in scores]
    scores[:beat] = [height + 1.4 - 0.9 * place / max(beat - 1, 1) for place in range(beat)]
    trials = tuple(make_trial(place, float(t), rng) for place, t in enumerate(scores))
    shown = trials[: min(beat or sheets, sheets)]
    said = {
        "run": make_run(budget=count),
        "panel": PANEL,
        "window": SEARCH,
        "hurdle": height,
        "trials_total": count,
        "line": f"search evidence only, not judged: {count} tried, {beat} beat the hurdle {height:.2f} (N = {count})",
        "trials": trials,
        "sheets": tuple(
            FactorSheet(trial, -1 if (trial.evidence_z or 0) < 0 else 1, tear_sheet(place, days))
            for place, trial in enumerate(shown)
        ),
        "versions": {"alphaswarm": "0.1.0", "numpy": "2.4.6"},
    }
    return ReportData(**(said | changes))  # type: ignore[arg-type]


def judged_report() -> ReportData:
    """Two confirmed bets, one that failed, one that moves with the first, and near misses."""
    data = make_report(60, 4)
    statuses = ("confirmed", "confirmed", "unconfirmed", "redundant")
    found = {}
    for place, (trial, status) in enumerate(zip(data.trials, statuses, strict=False)):
        redundant = status == "redundant"
        sheet, stronger = (None, data.trials[0].expression) if redundant else (tear_sheet(place), None)
        found[trial.digest] = make_verdict(trial, status, sheet, stronger=stronger)
    for trial in data.trials[4:6]:
        found[trial.digest] = make_verdict(trial, "rejected")
    sheets = tuple(
        FactorSheet(sheet.trial, sheet.sign, sheet.sheet, found[sheet.trial.digest]) for sheet in data.sheets[:3]
    )
    line = "60 tried, 4 beat the hurdle, 3 bets, 2 confirmed, 0 tradable at 5 bp (best break-even 6.9 bp in search)"
    return replace(data, line=line, verdicts=found, sheets=sheets)


class Page(HTMLParser):
    """A page as its elements and its words; complains of a tag that is not closed where it should be."""

    VOID = frozenset({"meta", "link", "br"})

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def spaced(html: str) -> str:
    """The words of a page, those of neighbouring cells apart."""
    return Page(re.sub(r"</(dt|dd|li|b|i|span)>", r"</\1> ", html)).words
