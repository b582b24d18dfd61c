"""The report: honest words, consistent numbers, one self-contained file, and no text that breaks out."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from dataclasses import replace

import numpy as np
import pytest

from alphaswarm.research.report import render
from alphaswarm.research.report_data import FactorSheet
from tests.research.samples import (
    COSTS,
    PANEL,
    SURVIVORS,
    Page,
    judged_report,
    make_report,
    make_run,
    make_trial,
    make_verdict,
    spaced,
    tear_sheet,
)


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


def test_the_funnel_counts() -> None:
    rng = np.random.default_rng(4)
    trials = (
        *(make_trial(place, t, rng) for place, t in enumerate((4.0, -3.5, 2.1, 1.0))),
        make_trial(9, None, rng, status="refused"),
        make_trial(10, None, rng, status="invalid"),
    )
    words = spaced(render(make_report(trials=trials, sheets=0)))
    unjudged = "bets not judged confirmed not judged tradable at 5 bp not judged"
    assert f"proposed 6 evaluated 4 beat 3.34 2 {unjudged}" in words
    words = spaced(render(judged_report()))
    assert "proposed 60 evaluated 60 beat 3.34 4 bets 3 confirmed 2 tradable at 5 bp 0" in words
    words = spaced(render(make_report(60, 0)))  # nothing was there to be judged
    assert "beat 3.34 0 bets 0 confirmed 0 tradable at 5 bp 0" in words


def test_the_table_holds_ranks_residuals_money_and_the_verdict_together() -> None:
    html = render(judged_report())
    rows = re.findall(r'<tr id="c\d+".*?</tr>', html, re.DOTALL)
    cells = [re.findall(r"<td.*?>(.*?)</td>", row, re.DOTALL) for row in rows]
    verdicts = [re.sub("<.*?>", "", row[-1]) for row in cells[:6]]
    assert verdicts == ["real, not tradable"] * 2 + ["not confirmed", "same bet as F1"] + ["rejected"] * 2
    data = judged_report()
    first = data.held[data.trials[0].id]
    assert [row[3:6] for row in cells[:1]] == [[f"{t:.2f}" for t in (first.z, first.rank_ic_t, first.residual_t)]]
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
    lacking = {
        "evidence": None,
        "evidence_t": None,
        "evidence_z": None,
        "residual_rank_ic": None,
        "residual_rank_ic_t": None,
    }
    trials = tuple(make_trial(place, t, rng, **lacking) for place, t in enumerate((5.0, 1.0)))
    words = Page(render(make_report(sheets=0, trials=trials))).words
    assert "Ranked by the RankIC of 5-day returns: this panel is too short for evidence on residual returns" in words
    assert "Every trial's RankIC t" in words
    assert "Evidence z" not in words


def test_near_misses_tell_what_failed() -> None:
    data = judged_report()
    words = Page(render(data)).words.partition("Near misses and what failed")[2]
    t = data.held[data.trials[4].id].z
    assert f"Evidence z {t:.2f}, asked \N{GREATER-THAN OR EQUAL TO} 3.34 (within reach of luck)" in words
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
