"""The page of a factor: the verdict, every gate and every picture; of the selection window pass or fail alone."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from alphaswarm.evaluation.gates import GateResult
from alphaswarm.research.report import render
from tests.research.samples import Page, judged_report, make_report, make_verdict, spaced

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
    assert f"Evidence z {gates[2].value:.2f} \N{GREATER-THAN OR EQUAL TO} 3.34" in words
    assert "Holds on unseen days sealed z \N{GREATER-THAN OR EQUAL TO} 2.24" in words
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
