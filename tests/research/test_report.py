"""The report: honest words, consistent numbers, one self-contained file, and no text that breaks out."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import time
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.data import synthetic_market
from alphaswarm.evaluation import DECAY_HORIZONS, Evaluator, Window, hurdle
from alphaswarm.evaluation.gates import (
    GateResult,
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
from alphaswarm.research.report import render
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
        "sign": -1 if (trial.evidence_t or 0) < 0 else 1,
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
            FactorSheet(trial, -1 if (trial.evidence_t or 0) < 0 else 1, tear_sheet(place, days))
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


def test_the_top_line_is_that_of_the_summary() -> None:
    words = Page(render(judged_report())).words
    assert (
        "60 tried, 4 beat the hurdle, 3 bets, 2 confirmed, 0 tradable at 5 bp Best break-even 6.9 bp in search" in words
    )
    assert "a seeded genetic search over the grammar that starts from published formulas; no LLM took part" in words
    assert "3 are bets of their own; on days that no search has seen 2 of them held." in words
    assert "Real is not the same as payable: at 5 bp a traded dollar, nothing here is." in words
    assert "it flatters; of later days only pass or fail is known." in words
    assert "Survivorship-biased: only names with a full history to 2016 are in it" in words
    assert "Intent short-term reversal that survives costs" in words


def test_a_run_that_was_not_judged_says_so() -> None:
    words = Page(render(make_report())).words
    assert "60 tried, 2 beat the hurdle 3.34 (N = 60) Search evidence only, not judged" in words
    assert "Only the search window was read; what would confirm a factor stays sealed." in words
    assert "Not judged: this candidate was not sent." in words
    unfinished = make_report(run=make_run(status="interrupted", finished=None))
    assert "Not judged: a run is judged when it has ended by itself." in Page(render(unfinished)).words


def test_what_stops_a_run_stands_beneath_the_count() -> None:
    line = "60 tried, 2 beat the hurdle 3.34; too short for a verdict: 300 rows in the search window, 504 are needed"
    words = Page(render(make_report(line=line))).words
    assert "60 tried, 2 beat the hurdle 3.34 Too short for a verdict: 300 rows in the search window" in words


def test_nothing_survived_is_an_answer() -> None:
    page = Page(render(make_report(60, 0)))
    assert "Nothing survived, and that is an answer" in page.words
    assert "Factors, one by one" not in page.words
    assert "Near misses, one by one" in page.words
    assert "short of the hurdle" in page.words


def spaced(html: str) -> str:
    """The words of a page, those of neighbouring cells apart."""
    return Page(re.sub(r"</(dt|dd|li|b|i|span)>", r"</\1> ", html)).words


def test_the_funnel_counts() -> None:
    rng = np.random.default_rng(4)
    trials = (
        *(make_trial(place, t, rng) for place, t in enumerate((4.0, -3.5, 2.1, 1.0))),
        make_trial(9, None, rng, status="refused"),
        make_trial(10, None, rng, status="invalid"),
    )
    words = spaced(render(make_report(trials=trials, sheets=0)))
    unjudged = "bets not judged confirmed not judged tradable at 5 bp not judged"
    assert f"proposed 6 evaluated 4 beat t 3.34 2 {unjudged}" in words
    words = spaced(render(judged_report()))
    assert "proposed 60 evaluated 60 beat t 3.34 4 bets 3 confirmed 2 tradable at 5 bp 0" in words
    words = spaced(render(make_report(60, 0)))  # nothing was there to be judged
    assert "beat t 3.34 0 bets 0 confirmed 0 tradable at 5 bp 0" in words


def test_the_table_holds_ranks_residuals_money_and_the_verdict_together() -> None:
    html = render(judged_report())
    rows = re.findall(r'<tr id="c\d+".*?</tr>', html, re.DOTALL)
    cells = [re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL) for row in rows]
    verdicts = [re.sub("<.*?>", "", row[-1]) for row in cells[:6]]
    assert verdicts == ["real, not tradable"] * 2 + ["not confirmed", "same bet as F1"] + ["rejected"] * 2
    data = judged_report()
    first = data.held[data.trials[0].id]
    assert [row[3:6] for row in cells[:1]] == [[f"{t:.2f}" for t in (first.t, first.rank_ic_t, first.residual_t)]]
    assert "it moves with the stronger" in rows[3]


def test_a_factor_that_points_down_is_held_turned_round() -> None:
    rng = np.random.default_rng(1)
    trial = make_trial(0, -2.345, rng, breakeven_bp=-6.04, rank_ic_t=1.2, residual_rank_ic_t=-2.2, source="")
    trial = trial.model_copy(update={"net_sharpe": {str(cost): 0.3 * (-6.04 - cost) for cost in COSTS}})
    page = Page(render(make_report(sheets=0, trials=(trial,))))
    row = page.words.partition("Verdict 1 ")[2].partition("near")[0]
    assert row == "cs_rank(-ts_sum(returns, 5)) turned 2.35 \N{MINUS SIGN}1.20 2.20 6.0 bp 0.31 "


def test_contradictions_and_leaks_stand_in_words() -> None:
    rng = np.random.default_rng(1)
    disagree = "ranks and money disagree: RankIC and profit before costs have opposite signs"
    leak = "a mean daily IC of 0.120 is more than any known signal reaches (alarm at 0.08): look for a leak"
    trials = (
        make_trial(0, 5.0, rng, warnings=[SURVIVORS, leak], rank_ic=0.12),
        make_trial(1, 4.0, rng, warnings=[SURVIVORS, disagree], ann_return=-0.1),
    )
    verdicts = {
        trial.digest: make_verdict(trial, status) for trial, status in zip(trials, ("held", "withheld"), strict=True)
    }
    sheets = tuple(FactorSheet(trial, 1, tear_sheet(0), verdicts[trial.digest]) for trial in trials)
    page = Page(render(make_report(trials=trials, sheets=0, verdicts=verdicts)))
    assert [a for tag, a in page.elements if a.get("class") == "alarm"]
    assert "leak alarm" in page.words
    assert "contradiction: RankIC +, mean evidence +, profit before costs -" in page.words
    words = Page(render(replace(make_report(trials=trials, sheets=0), verdicts=verdicts, sheets=sheets))).words
    assert "Leak alarm, held" in words
    assert "Contradiction, verdict withheld" in words
    assert "look for the future in the data" in words


def test_a_short_panel_is_ranked_by_rank_ic_and_says_so() -> None:
    rng = np.random.default_rng(1)
    lacking = {"evidence": None, "evidence_t": None, "residual_rank_ic": None, "residual_rank_ic_t": None}
    trials = tuple(make_trial(place, t, rng, **lacking) for place, t in enumerate((5.0, 1.0)))
    words = Page(render(make_report(sheets=0, trials=trials))).words
    assert "Ranked by the RankIC of 5-day returns: this panel is too short for evidence on residual returns" in words
    assert "Every trial's RankIC t" in words
    assert "Evidence t" not in words


def test_near_misses_tell_what_failed() -> None:
    data = judged_report()
    words = Page(render(data)).words.partition("Near misses and what failed")[2]
    t = data.held[data.trials[4].id].t
    assert f"Evidence t {t:.2f}, asked \N{GREATER-THAN OR EQUAL TO} 3.34 (within reach of luck)" in words
    assert "1 more beat the hurdle but move with a stronger one" in words


def test_what_decides_nothing_is_reported_as_such() -> None:
    words = Page(render(judged_report())).words
    assert "Overfitting Reported, none of it a gate." in words
    assert "59 measured make 14 clusters" in words
    assert "0.31: how often the best of one half lies in the lower half of the other. Pure noise gives 0.5" in words
    assert "with a spread of 0.17" in words
    assert "7 discoveries at 5% (Benjamini-Hochberg)" in words
    assert "F1 0.91 / 0.02, F2 0.91 / 0.02, F3 0.91 / 0.02" in words
    assert "Overfitting" not in Page(render(make_report())).words


PICTURES = (
    "cumulative evidence and RankIC",
    "evidence and RankIC by year",
    "evidence and RankIC by horizon",
    "95 % intervals by block bootstrap",
    "what is left beside exposures",
    "evidence and RankIC by regime",
    "mean return of each bucket, less the mean of all",
    "turnover per day",
    "equity after costs, from 1",
    "drawdown",
    "Sharpe after costs",
    "Sharpe after impact by money run",
)


def article(html: str, place: int) -> str:
    return re.findall(r'<article class="factor".*?</article>', html, re.DOTALL)[place - 1]


@pytest.mark.parametrize("report", [judged_report, make_report])
def test_a_factor_has_all_its_pictures(report: Any) -> None:
    html = render(report())
    for place in range(1, html.count("<article") + 1):
        shown = re.findall(r'aria-label="([^"]*)"', article(html, place))
        assert tuple(label for label in shown if label in PICTURES) == PICTURES


def test_a_confirmed_factor_shows_every_gate_with_value_threshold_and_mark() -> None:
    data = judged_report()
    html = article(render(data), 1)
    gates = data.sheets[0].verdict.gates  # type: ignore[union-attr]
    marks = re.findall(r'<li class="(pass|fail|open)">', html)
    assert marks == [{True: "pass", False: "fail", None: "open"}[gate.passed] for gate in gates]
    words = spaced(html)
    assert f"Evidence t {gates[2].value:.2f} \N{GREATER-THAN OR EQUAL TO} 3.34" in words
    assert "Holds on unseen days sealed t \N{GREATER-THAN OR EQUAL TO} 2.24" in words
    assert "Break-even, unseen days sealed \N{GREATER-THAN OR EQUAL TO} 7.5 bp" in words
    assert "Capacity 22 M" in words
    assert "Statistically real, not tradable at 5 bp" in words
    assert "known: wq009" in words
    assert "Nearest formula wq009 0.93" in words
    assert "Most alike in pool the pool is empty" in words
    assert "DSR, spread of all trials 0.02" in words
    for name in ("Raw RankIC", "Residual, what common risks leave Evidence", "Money Sharpe, no cost"):
        assert name in words
    assert "Not asked: only what is real is." in spaced(article(render(data), 3))


def test_of_the_selection_window_no_value_is_shown_whatever_a_verdict_holds() -> None:
    data = judged_report()
    sentinel = 123_456.75
    found = {}
    for digest, verdict in data.verdicts.items():
        gates = [
            gate.model_copy(update={"value": sentinel}) if gate.window == "selection" else gate
            for gate in verdict.gates
        ]
        reported = {**verdict.reported, "selection": sentinel, "vault": {"sharpe": sentinel}}
        found[digest] = verdict.model_copy(update={"gates": gates, "reported": reported})
    sheets = tuple(replace(sheet, verdict=found[sheet.trial.digest]) for sheet in data.sheets)
    html = render(replace(data, verdicts=found, sheets=sheets))
    assert html == render(data)
    assert "123" not in re.findall(r"sealed</b><i>(.*?)</i>", html)


@pytest.mark.parametrize(
    ("status", "tradable", "said"),
    [
        ("confirmed", True, "Statistically real, tradable at 5 bp"),
        ("confirmed", False, "Statistically real, not tradable at 5 bp"),
        ("unconfirmed", False, "Beat the hurdle, not confirmed"),
        ("rejected", False, "Rejected on search"),
        ("too short", False, "Too short for a verdict"),
        ("in-sample", False, "In-sample, nothing can be confirmed"),
    ],
)
def test_a_verdict_is_said_large(status: str, tradable: bool, said: str) -> None:
    data = judged_report()
    sheet = data.sheets[0]
    verdict = make_verdict(sheet.trial, status, sheet.sheet if "confirmed" in status else None, tradable=tradable)
    html = render(replace(data, sheets=(replace(sheet, verdict=verdict),), verdicts={verdict.digest: verdict}))
    assert said in Page(html).words
    biased = verdict.model_copy(update={"words": f"{verdict.words}; tradable on a biased panel"})
    html = render(replace(data, sheets=(replace(sheet, verdict=biased),), verdicts={biased.digest: biased}))
    assert ("tradable on a biased panel at 5 bp" in Page(html).words) == tradable


def test_a_gate_of_a_later_version_is_shown_by_its_name() -> None:
    data = judged_report()
    sheet = data.sheets[0]
    assert sheet.verdict is not None
    gate = GateResult(name="moonlight", tier=1, window="search", value=0.25, threshold=0.5, passed=None)
    verdict = sheet.verdict.model_copy(update={"gates": [*sheet.verdict.gates, gate]})
    words = spaced(render(replace(data, sheets=(replace(sheet, verdict=verdict),))))
    assert "moonlight 0.25 0.5" in words


def test_what_was_not_measured_is_listed_with_its_reason() -> None:
    rng = np.random.default_rng(4)
    changes = {"status": "invalid", "reason": "LOOKAHEAD", "message": "a lag must be at least 0", "column": 17}
    invalid = make_trial(1, None, rng, expression="ts_delay(close, -1)", **changes)
    page = Page(render(make_report(trials=(make_trial(0, 1.0, rng), invalid), sheets=0)))
    assert "1 that could not be measured, counted as trials" in page.words
    assert "ts_delay(close, -1) LOOKAHEAD at column 17: a lag must be at least 0" in page.words


def test_an_unfinished_run_says_so() -> None:
    words = Page(render(make_report(3, 0, sheets=0, run=make_run(status="interrupted", finished=None)))).words
    assert "r0001 on us431, interrupted: this is what there is so far" in words


def test_the_command_repeats_the_run_whatever_the_intent_is() -> None:
    words = Page(render(make_report(3, 0, sheets=0, run=make_run(intent="it's; rm -rf /")))).words
    command = "alphaswarm agent run --panel us431 --proposer search --budget 60 --seed 7 --horizon 5 --intent"
    assert f"{command} 'it'\"'\"'s; rm -rf /'" in words


def test_a_changed_panel_is_named() -> None:
    other = replace(PANEL, digest="0" * 64)
    assert "The panel has changed since this run" in Page(render(make_report(3, 0, sheets=0, panel=other))).words


@pytest.mark.parametrize(
    ("proposer", "model", "said"),
    [
        ("random", "", "random draws from the grammar; no LLM took part"),
        ("llm", "smollm2", "the language model smollm2"),
        ("mine", "", "the proposer mine"),
    ],
)
def test_who_proposed(proposer: str, model: str, said: str) -> None:
    run = make_run(proposer=proposer, config={"model": model})
    words = Page(render(make_report(3, 0, sheets=0, run=run))).words
    assert said in words
    assert ("no LLM" in words) == (proposer == "random")


@pytest.mark.parametrize("count", [0, 1, 2])
def test_very_small_runs(count: int) -> None:
    page = Page(render(make_report(count, 0, days=60)))
    assert f"{count} tried, 0 beat" in page.words
    assert not re.search(r"\bnan\b", page.words)
    assert ("How alike they are" in page.words) == (count > 1)


def test_numbers_are_written_one_way() -> None:
    rng = np.random.default_rng(1)
    trial = make_trial(0, 2.345, rng, rank_ic_t=-0.456, residual_rank_ic_t=-0.004, breakeven_bp=6.04, source="")
    trial = trial.model_copy(update={"net_sharpe": {"5": -0.004}})
    page = Page(render(make_report(sheets=0, trials=(trial,))))
    row = page.words.partition("Verdict 1 ")[2].partition("near")[0]
    assert row == "cs_rank(-ts_sum(returns, 5)) 2.35 \N{MINUS SIGN}0.46 0.00 6.0 bp 0.00 "


def test_a_missing_number_says_why() -> None:
    trial = make_trial(
        0, 1.0, np.random.default_rng(1), breakeven_bp=None, missing={"breakeven_bp": "the book never trades"}
    )
    page = Page(render(make_report(sheets=0, trials=(trial,))))
    assert ("span", {"class": "none", "title": "the book never trades"}) in page.elements
    still = tear_sheet(0, 60)  # no day has the history that residuals need
    page = Page(render(replace(make_report(sheets=0, trials=(trial,)), sheets=(FactorSheet(trial, 1, still),))))
    why = still.missing["evidence"]
    assert ("span", {"class": "none", "title": why}) in page.elements
    assert "None" not in page.words


def test_remarks_tell_what_speaks_against_a_factor() -> None:
    rng = np.random.default_rng(2)
    trials = (
        make_trial(0, 4.0, rng, breakeven_bp=1.14, warnings=[SURVIVORS, "only 40% of the priced names have a value"]),
        make_trial(1, 2.5, rng, breakeven_bp=8.0),
    )
    data = make_report(sheets=0, trials=trials)
    sheets = tuple(FactorSheet(trial, 1, tear_sheet(place)) for place, trial in enumerate(trials))
    words = Page(render(replace(data, sheets=sheets))).words
    assert "breaks even at 1.1 bp, below the default cost of 5 bp; only 40% of the priced names have a value." in words
    assert "t falls 0.84 short of the hurdle." in words
    # what holds for every candidate is said once, beside the data, in the panel's own words
    assert SURVIVORS not in words


def test_what_nobody_said_about_the_data_is_said() -> None:
    data = make_report(3, 0, sheets=0)
    silent = replace(data.panel, caveats=(), survivorship_biased=None)
    assert "Nobody said whether names that were delisted are in it" in Page(render(replace(data, panel=silent))).words
    flagged = replace(data.panel, caveats=(), survivorship_biased=True)
    assert "The panel holds survivors only" in Page(render(replace(data, panel=flagged))).words


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='alert(1)",
    "</style></title></code><iframe src=//x.y>",
    "{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)",
    "<!-- \u202e\u0000",
)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    rng = np.random.default_rng(3)
    trial = make_trial(
        0, 2.5, rng, expression=text, source=text, rationale=text, warnings=[text, SURVIVORS], missing={"ic": text}
    )
    trial = trial.model_copy(update={"ic": None})
    invalid = make_trial(99, None, rng, status="invalid", expression=text, reason=text, message=text)
    calm = judged_report()
    calm = replace(calm, trials=(*calm.trials, make_trial(9, None, rng, status="invalid")))
    verdict = make_verdict(trial, "confirmed", tear_sheet(0), words=text)
    told_gates = [gate.model_copy(update={"reason": text, "passed": False}) for gate in verdict.gates]
    known = {"name": text, "citation": text, "correlation": 0.9, "label": text}
    verdict = verdict.model_copy(update={"gates": told_gates, "reported": {**verdict.reported, "known": known}})
    missed = calm.verdicts[calm.trials[4].digest].model_copy(update={"gates": told_gates, "words": text})
    told = {"name": text, "caveats": (text, text + "."), "source": text, "licence": text}
    data = replace(
        calm,
        run=make_run(
            id=text, status="interrupted", panel=text, fill=text, proposer=text, intent=text, config={"model": text}
        ),
        panel=replace(PANEL, **told),
        trials=(trial, *calm.trials[1:], invalid),
        sheets=(FactorSheet(trial, 1, calm.sheets[0].sheet, verdict), *calm.sheets[1:]),
        versions={text: text},
        verdicts={**calm.verdicts, trial.digest: verdict, missed.digest: missed},
        line=text,
    )
    page, expected = Page(render(data)), Page(render(calm))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in expected.elements}
    names = {name for _, attributes in page.elements for name in attributes}
    assert names <= {name for _, attributes in expected.elements for name in attributes} | {"title"}
    assert not any(name.startswith("on") or name == "style" for name in names)
    assert page.text.count(text.replace("\0", "\ufffd")) + page.text.count(text) >= 10


def test_one_file_without_script_or_request() -> None:
    html = render(make_report())
    page = Page(html)
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not {"script", "iframe", "img", "object", "form"} & {tag for tag, _ in page.elements}
    references = {
        value for _, attributes in page.elements for name, value in attributes.items() if name in {"href", "src"}
    }
    assert all(value.startswith("#") or value == "data:," for value in references)
    assert not re.search(r"url\(|@import|https?:|//[a-z]", html)


def test_links_lead_somewhere_and_ids_are_unique() -> None:
    page = Page(render(make_report(60, 11)))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {a["href"][1:] for tag, a in page.elements if tag == "a"} <= set(ids)


def test_every_colour_has_its_light_and_dark_and_printed_form() -> None:
    html = render(make_report(1, 0, sheets=0))
    light, dark, printed = (
        set(re.findall(r"(--[a-z-]+): *[#a-z]", block)) for block in re.findall(r":root \{(.*?)\}", html, re.DOTALL)
    )
    fonts = {"--sans", "--serif", "--mono"}
    assert light - fonts == dark == printed
    assert set(re.findall(r"var\((--[a-z-]+)\)", html)) <= light | fonts


def test_equal_data_give_equal_bytes() -> None:
    data = judged_report()
    turned = tuple(
        trial.model_copy(
            update={name: dict(reversed(getattr(trial, name).items())) for name in ("net_sharpe", "decay")}
        )
        for trial in data.trials
    )
    sheets = tuple(replace(sheet, trial=trial) for trial, sheet in zip(turned, data.sheets, strict=False))
    other = replace(
        data,
        trials=turned,
        sheets=sheets,
        versions=dict(reversed(data.versions.items())),
        verdicts=dict(reversed(data.verdicts.items())),
    )
    assert render(data) == render(judged_report()) == render(other)


def with_series(sheet: FactorSheet, **changes: np.ndarray) -> FactorSheet:
    return replace(sheet, sheet=replace(sheet.sheet, series=replace(sheet.series, **changes)))


@pytest.mark.parametrize("name", ["neutral", "gross"])
@pytest.mark.parametrize(("mix", "bets"), [((1.0, 1.0, -1.0), 1), ((1.0, 0.0, 0.0), 3), ((1.0, 1.0, 0.0), 2)])
def test_factors_that_move_together_are_one_bet(mix: tuple[float, ...], bets: int, name: str) -> None:
    data = make_report(60, 3)
    rng = np.random.default_rng(8)
    days = data.sheets[0].series.dates.size
    common = rng.normal(size=days)
    missing = {} if name == "neutral" else {"neutral": np.full(days, np.nan)}  # as on a short panel
    sheets = tuple(
        with_series(sheet, **{name: share * common + 0.3 * rng.normal(size=days)}, **missing)
        for sheet, share in zip(data.sheets, mix, strict=True)
    )
    told = "the 3 shown are 1 bet." if bets == 1 else f"the 3 shown are {bets} bets."
    assert told in Page(render(replace(data, sheets=sheets))).words


def test_a_book_that_never_trades_is_like_nothing() -> None:
    data = make_report(60, 2)
    days = data.sheets[0].series.dates.size
    still = with_series(
        data.sheets[0],
        gross=np.zeros(days),
        neutral=np.zeros(days),
        turnover=np.zeros(days),
        active=np.zeros(days, np.bool_),
    )
    assert "the 2 shown are 2 bets" in render(replace(data, sheets=(still, data.sheets[1])))


def test_a_full_report_is_quick_and_small() -> None:
    data = make_report(60, 6)
    render(data)
    start = time.process_time()
    html = render(data)
    assert time.process_time() - start < 1
    assert len(html) < 600_000
    assert html.count('<article class="factor"') == 6
