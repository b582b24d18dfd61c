"""The report: honest words, consistent numbers, one self-contained file, and no text that breaks out."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import time
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from alphaswarm.evaluation import DECAY_HORIZONS, FactorSeries, hurdle
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
        "rank_ic_t": t,
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


def make_series(trial: Trial, rng: np.random.Generator, days: int, common: np.ndarray) -> FactorSeries:
    dates = np.arange("2007-01-03", "2013-01-01", dtype="datetime64[D]")
    dates = dates[np.is_busday(dates)][:days].astype("datetime64[ns]")
    rank_ic = (trial.rank_ic or 0.0) + 0.14 * rng.normal(size=days)
    rank_ic[rng.random(days) < 0.01] = np.nan
    turnover = np.clip(0.26 + 0.05 * np.cumsum(rng.normal(0, 0.05, days)), 0.05, 0.8)
    volatility = 0.004 * np.exp(0.5 * np.sin(np.arange(days) / 200))
    gross = turnover.mean() * (trial.breakeven_bp or 0) / 1e4 + volatility * (
        0.7 * rng.normal(size=days) + 0.5 * common
    )
    everywhere = np.ones(days, np.bool_)
    return FactorSeries(
        dates=dates,
        decision=everywhere,
        ic=rank_ic,
        rank_ic=rank_ic,
        decay={},
        evidence=rank_ic / 2,
        residual_rank_ic=rank_ic / 2,
        quantiles=np.zeros((days, 5)),
        coverage=np.ones(days),
        rank_autocorr=np.ones(days),
        active=everywhere,
        gross=gross,
        turnover=turnover,
        neutral=gross,
        missing_returns=0,
        horizon=5,
        fill="close_t1",
        cost_bp=5.0,
        periods=252.0,
        min_names=30,
    )


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


def make_report(count: int = 60, beat: int = 2, *, sheets: int = 8, days: int = 1510, **changes: object) -> ReportData:
    rng = np.random.default_rng(count + beat)
    height = hurdle(max(count, 1))
    scores = sorted(rng.normal(0.4, 1.3, count), key=abs, reverse=True)
    scores = [math.copysign(min(abs(t), height - 0.06), t) for t in scores]
    scores[:beat] = [height + 1.4 - 0.9 * place / max(beat - 1, 1) for place in range(beat)]
    trials = tuple(make_trial(place, float(t), rng) for place, t in enumerate(scores))
    common = rng.normal(size=days)
    shown = trials[: min(beat or sheets, sheets)]
    said = {
        "run": make_run(budget=count),
        "panel": PANEL,
        "window": SEARCH,
        "hurdle": height,
        "trials_total": count,
        "trials": trials,
        "sheets": tuple(FactorSheet(trial, make_series(trial, rng, days, common)) for trial in shown),
        "versions": {"alphaswarm": "0.1.0", "numpy": "2.4.6"},
    }
    return ReportData(**(said | changes))  # type: ignore[arg-type]


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


def test_the_verdict_says_what_was_found_and_what_it_is_worth() -> None:
    words = Page(render(make_report())).words
    assert (
        "60 tried, 2 beat the search hurdle t \N{GREATER-THAN OR EQUAL TO} 3.34 Search evidence only, not judged"
        in words
    )
    assert "a seeded genetic search over the grammar that starts from published formulas; no LLM took part" in words
    assert "What beat the hurdle" in words
    assert "Survivorship-biased: only names with a full history to 2016 are in it" in words
    assert "Intent short-term reversal that survives costs" in words


def test_nothing_survived_is_an_answer() -> None:
    page = Page(render(make_report(60, 0)))
    assert "Nothing survived, and that is an answer" in page.words
    assert "What beat the hurdle" not in page.words
    assert "Near misses, one by one" in page.words
    assert "short of the hurdle" in page.words


def test_the_funnel_counts() -> None:
    rng = np.random.default_rng(4)
    trials = (
        *(make_trial(place, t, rng) for place, t in enumerate((4.0, -3.5, 2.1, 1.0))),
        make_trial(8, 0.5, rng, first_run="r0000"),
        make_trial(9, None, rng, status="refused"),
        make_trial(10, None, rng, status="invalid"),
    )
    html = render(make_report(trials=trials, sheets=0))
    words = Page(html.replace("</dt>", " </dt>").replace("</dd>", " </dd>")).words
    assert "7 tried, 2 beat" in words
    near = "|t| \N{GREATER-THAN OR EQUAL TO} 2"
    assert f"proposed 7 valid 6 evaluated 5 new 4 {near} 3 beat 3.34 2 accepted 0, not judged yet" in words


def test_what_was_not_measured_is_listed_with_its_reason() -> None:
    rng = np.random.default_rng(4)
    changes = {"status": "invalid", "reason": "LOOKAHEAD", "message": "a lag must be at least 0", "column": 17}
    invalid = make_trial(1, None, rng, expression="ts_delay(close, -1)", **changes)
    page = Page(render(make_report(trials=(make_trial(0, 1.0, rng), invalid), sheets=0)))
    assert "1 that could not be measured, counted as trials" in page.words
    assert "ts_delay(close, -1) LOOKAHEAD at column 17: a lag must be at least 0" in page.words


def test_an_unfinished_run_says_so() -> None:
    words = Page(render(make_report(3, 0, sheets=0, run=make_run(status="interrupted")))).words
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
    page = Page(render(make_report(count, 0, days=12)))
    assert f"{count} tried, none beat" in page.words
    assert not re.search(r"\bnan\b", page.words)
    assert ("How alike they are" in page.words) == (count > 1)


def test_numbers_are_written_one_way() -> None:
    rng = np.random.default_rng(1)
    trial = make_trial(0, -2.345, rng, rank_ic=-0.00456, ic=0.012344, turnover=0.2561, breakeven_bp=6.04, source="")
    trial = trial.model_copy(update={"net_sharpe": {"5": -0.004}})
    page = Page(render(make_report(sheets=0, trials=(trial,))))
    row = page.words.partition("Hurdle 1 ")[2].partition("near")[0]
    assert row == "cs_rank(-ts_sum(returns, 5)) \N{MINUS SIGN}0.0046 \N{MINUS SIGN}2.35 0.0123 25.6% 6.0 bp 0.00 "


def test_a_missing_number_says_why() -> None:
    trial = make_trial(
        0, 1.0, np.random.default_rng(1), breakeven_bp=None, missing={"breakeven_bp": "the book never trades"}
    )
    page = Page(render(make_report(sheets=0, trials=(trial,))))
    assert ("span", {"class": "none", "title": "the book never trades"}) in page.elements
    unscored = make_trial(
        0, None, np.random.default_rng(1), decay={}, quantiles=[], net_sharpe={}, missing={"rank_ic": "no date"}
    )
    data = make_report(sheets=0, trials=(unscored,))
    sheet = FactorSheet(unscored, make_series(unscored, np.random.default_rng(1), 300, np.zeros(300)))
    page = Page(render(replace(data, sheets=(sheet,))))
    assert ("span", {"class": "none", "title": "no date"}) in page.elements
    assert "None" not in page.words


def test_remarks_tell_what_speaks_against_a_factor() -> None:
    rng = np.random.default_rng(2)
    trials = (
        make_trial(0, 4.0, rng, breakeven_bp=1.14, warnings=[SURVIVORS, "only 40% of the priced names have a value"]),
        make_trial(1, -2.5, rng),
    )
    data = make_report(sheets=0, trials=trials)
    sheets = tuple(FactorSheet(trial, make_series(trial, rng, 300, np.zeros(300))) for trial in trials)
    words = Page(render(replace(data, sheets=sheets))).words
    assert "breaks even at 1.1 bp, below the default cost of 5 bp; only 40% of the priced names have a value." in words
    assert "t falls 0.84 short of the hurdle; the sign is negative: only the opposite bet could pay." in words
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
    calm = make_report(4, 1)
    calm = replace(calm, trials=(*calm.trials, make_trial(9, None, rng, status="invalid")))
    told = {"name": text, "caveats": (text, text + "."), "source": text, "licence": text}
    data = replace(
        calm,
        run=make_run(
            id=text, status="interrupted", panel=text, fill=text, proposer=text, intent=text, config={"model": text}
        ),
        panel=replace(PANEL, **told),
        trials=(trial, *calm.trials[1:], invalid),
        sheets=(FactorSheet(trial, calm.sheets[0].series),),
        versions={text: text},
    )
    page, expected = Page(render(data)), Page(render(calm))
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in expected.elements} | {"p"}
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
    data = make_report()
    turned = tuple(
        trial.model_copy(
            update={name: dict(reversed(getattr(trial, name).items())) for name in ("net_sharpe", "decay")}
        )
        for trial in data.trials
    )
    sheets = tuple(FactorSheet(trial, sheet.series) for trial, sheet in zip(turned, data.sheets, strict=False))
    other = replace(data, trials=turned, sheets=sheets, versions=dict(reversed(data.versions.items())))
    assert render(data) == render(make_report()) == render(other)


@pytest.mark.parametrize(("mix", "bets"), [((1.0, 1.0, -1.0), 1), ((1.0, 0.0, 0.0), 3), ((1.0, 1.0, 0.0), 2)])
def test_factors_that_move_together_are_one_bet(mix: tuple[float, ...], bets: int) -> None:
    data = make_report(60, 3)
    rng = np.random.default_rng(8)
    common = rng.normal(size=1510)
    sheets = tuple(
        replace(sheet, series=replace(sheet.series, gross=share * common + 0.3 * rng.normal(size=1510)))
        for sheet, share in zip(data.sheets, mix, strict=True)
    )
    told = "the 3 shown are 1 bet." if bets == 1 else f"the 3 shown are {bets} bets."
    assert told in Page(render(replace(data, sheets=sheets))).words


def test_a_book_that_never_trades_is_like_nothing() -> None:
    data = make_report(60, 2)
    still = replace(
        data.sheets[0].series, gross=np.zeros(1510), turnover=np.zeros(1510), active=np.zeros(1510, np.bool_)
    )
    html = render(replace(data, sheets=(replace(data.sheets[0], series=still), data.sheets[1])))
    assert "the 2 shown are 2 bets" in html


def test_a_full_report_is_quick_and_small() -> None:
    data = make_report(60, 8)
    render(data)
    start = time.perf_counter()
    html = render(data)
    assert time.perf_counter() - start < 3
    assert len(html) < 1_000_000
    assert html.count('<article class="factor"') == 8
