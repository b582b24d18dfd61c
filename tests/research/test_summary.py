from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from alphaswarm.core import EvidenceInvalid, ExpressionError
from alphaswarm.evaluation import hurdle
from alphaswarm.evaluation.gates import GateResult, Thresholds
from alphaswarm.evaluation.verdict import Verdict
from alphaswarm.research import Run, Trial, TrialWindow, Workspace
from alphaswarm.research.summary import NEAR_MISSES, summarise, worth_judging

RUN = Run(
    id="r0007",
    status="running",
    panel="p",
    panel_digest="d",
    horizon=5,
    fill="close_t1",
    proposer="search",
    budget=60,
    seed=1,
    intent="",
    config={},
    started="2020",
    finished=None,
    outcome=None,
    trials=0,
    trials_total=None,
)


def trial(name: str, t: float | None, **more) -> Trial:
    window = TrialWindow(role="search", start="2007-01-03", end="2012-12-31")
    base = {"id": name, "trial": name, "status": "evaluated", "expression": name, "digest": name, "panel": "p"}
    base |= {"panel_digest": "d", "window": window, "as_of": "2012-12-31", "horizon": 5, "fill": "close_t1"}
    return Trial(**{**base, "rank_ic_t": t, "trials_total": 60, "first_run": "r0007", **more})


def test_finalists_are_over_the_hurdle_of_all_trials_ever() -> None:
    least = hurdle(60)
    given = [
        trial("under", least - 1e-9),
        trial("at", least),
        trial("none", None),
        trial("short", -9.0, warnings=["survivors"]),
        trial("bad", None, status="invalid", reason="DSL_SYNTAX"),
        trial("thin", 8.0, status="refused", reason="EVIDENCE_INVALID"),
        trial("old", 1.0, first_run="r0001"),
        *(trial(f"weak{number}", number / 10) for number in range(9)),
    ]
    body = summarise(RUN, given, trials_total=60).body
    assert [row["trial"] for row in body["finalists"]] == ["short", "at"]
    assert [row["trial"] for row in body["near_misses"]] == ["under", "old", "weak8", "weak7", "weak6"]
    assert len(body["near_misses"]) == NEAR_MISSES
    assert body["ranked"][:3] == ["short", "at", "under"]
    assert body["ranked"][-1] == "none"
    assert [row["trial"] for row in body["candidates"]] == [row.id for row in given]
    assert [row["trial"] for row in body["candidates"] if row["recalled"]] == ["old"]
    assert body["counts"] == {
        "proposed": 16, "recalled": 1, "invalid": 1, "refused": 1, "evaluated": 14, "beat": 2, "finalists": 2,
        "bets": 0, "confirmed": 0, "accepted": 0, "tradable": 0,
    }  # fmt: skip
    assert (body["trials"], body["trials_total"], body["hurdle"], body["accepted"]) == (15, 60, least, [])
    assert body["warnings"] == ["survivors"]
    assert body["verdict"] == "search evidence only, not judged: 16 tried, 2 beat the hurdle 3.34 (N = 60)"
    assert body["statistic"] == "rank_ic_t"


def test_residual_evidence_is_what_counts_where_there_is_any() -> None:
    given = [
        trial("ranks", 9.0, evidence_z=1.0),
        trial("means", 1.0, evidence_z=-5.0),
        trial("without", 4.0, evidence_z=None),
    ]
    body = summarise(RUN, given, trials_total=60).body
    assert [row["trial"] for row in body["finalists"]] == ["means", "without"]
    assert body["statistic"] == "evidence_z"
    assert body["finalists"][0]["evidence_z"] == -5.0
    assert [one.id for one in worth_judging(given, 60)] == ["means", "without", "ranks"]
    many = [trial(f"t{number}", None, evidence_z=number / 10) for number in range(60)]
    assert [one.id for one in worth_judging(many, 60)][-1] == f"t{59 - 26 - NEAR_MISSES + 1}"


def verdict(name: str, status: str, *, k: int | None = None, tradable: bool = False, words: str = "") -> Verdict:
    return Verdict(
        expression=name,
        digest=name,
        panel="p",
        panel_digest="d",
        lineage="p",
        horizon=5,
        fill="close_t1",
        sign=1,
        status=status,
        tradable=tradable,
        words=words or status,
        gates=[
            GateResult(name="evidence", tier=1, window="search", value=5.0, threshold=3.3, passed=status != "rejected")
        ],
        reported={"book": {"breakeven_bp": float(len(name))}, "known": {"label": f"known: {name}"}} if k else {},
        thresholds=Thresholds(),
        n_trials=60,
        k=k,
        trial=name,
    )


def test_the_top_line_says_how_far_the_candidates_came() -> None:
    given = [trial(name, None, evidence_z=t) for name, t in (("abcd", 6.0), ("ab", 5.0), ("b", 4.0), ("c", 1.0))]
    judged = [
        verdict("abcd", "confirmed", k=2),
        verdict("ab", "unconfirmed", k=2),
        verdict("b", "redundant"),
        verdict("c", "rejected"),
    ]
    ended = RUN.model_copy(update={"outcome": "complete"})
    body = summarise(ended, given, trials_total=60, verdicts=judged).body
    assert body["verdict"] == (
        "4 tried, 3 beat the hurdle, 2 bets, 1 confirmed, 0 tradable at 5 bp (best break-even 4.0 bp in search)"
    )
    assert [body["counts"][name] for name in ("beat", "bets", "confirmed", "accepted", "tradable")] == [3, 2, 1, 1, 0]
    assert body["bets"] == ["abcd", "ab"]
    assert [(row["expression"], row["digest"], row["known"], row["k"]) for row in body["accepted"]] == [
        ("abcd", "abcd", "known: abcd", 2)
    ]
    assert [row["verdict"] for row in body["finalists"]] == ["confirmed", "unconfirmed", "redundant"]
    assert [(row["trial"], row["failed"]) for row in body["near_misses"]] == [("c", ["evidence"])]
    assert len(body["verdicts"]) == 4

    pays = verdict("abcd", "confirmed", k=2, tradable=True, words="real; tradable on a biased panel at 5 bp")
    line = summarise(ended, given, trials_total=60, verdicts=[pays, *judged[1:]]).body["verdict"]
    assert "1 confirmed, 1 tradable on a biased panel at 5 bp" in line


@pytest.mark.parametrize("status", ["too short", "in-sample"])
def test_what_can_not_be_judged_says_why(status: str) -> None:
    body = summarise(RUN, [trial("a", 9.0)], trials_total=60, verdicts=[verdict("a", status)]).body
    assert body["verdict"] == f"1 tried, 1 beat the hurdle 3.34; {status}"


def test_a_run_that_measured_nothing_was_judged_all_the_same() -> None:
    ended = RUN.model_copy(update={"outcome": "exhausted"})
    bad = trial("bad", None, status="invalid", reason="DSL_SYNTAX")
    line = summarise(ended, [bad], trials_total=1).body["verdict"]
    assert line == "1 tried, 0 beat the hurdle, 0 bets, 0 confirmed, 0 tradable at 5 bp"


def test_equals_stand_in_the_order_of_their_expressions() -> None:
    """The trial id hangs on the panel's digest, and must not decide who is shown first."""
    names = ["c", "a", "b"]
    ranked = [
        summarise(
            RUN,
            [trial(name, 4.0, id=f"{place}{name}", digest=name) for name, place in zip(names, ids, strict=True)],
            trials_total=3,
        ).body
        for ids in ("123", "321")
    ]
    assert [[row["digest"] for row in body["finalists"]] for body in ranked] == [["a", "b", "c"]] * 2
    assert [[name[1] for name in body["ranked"]] for body in ranked] == [["a", "b", "c"]] * 2


def test_a_run_without_candidates() -> None:
    body = summarise(RUN, [], trials_total=0).body
    assert (body["candidates"], body["finalists"], body["near_misses"], body["window"]) == ([], [], [], None)
    assert body["hurdle"] == 3.0


def propose(workspace: Workspace) -> str:
    run = workspace.start_run(panel="small", proposer="search", budget=5, seed=1, intent="any")
    for text in (
        "cs_rank(-ts_sum(returns, 5))",
        "cs_rank(",
        "ts_mean(returns, 150)",
        "cs_rank(volume)",
        "high - open",
    ):
        try:
            workspace.evaluate(text, panel="small", run=run.id, source="search", rationale=f"try {text}")
        except (ExpressionError, EvidenceInvalid):
            continue
    workspace.evaluate("cs_rank(volume)", panel="small", run=run.id, critique="weak")
    return run.id


def test_the_summary_of_a_finished_run_never_changes(workspace: Workspace) -> None:
    run = propose(workspace)
    while_running = workspace.run_summary(run)
    workspace.finish_run(run, "done")
    summary = workspace.run_summary(run)
    assert summary == while_running
    workspace.evaluate("cs_rank(high)", panel="small")
    workspace.evaluate("cs_rank(volume)", panel="small", critique="somebody else says")
    assert workspace.run_summary(run).digest == summary.digest
    shown = summary.body["candidates"]
    assert [row["status"] for row in shown] == ["evaluated", "invalid", "refused", "evaluated", "evaluated"]
    assert shown[3]["critique"] == "weak"
    text = summary.to_bytes().decode()
    assert str(workspace.path) not in text
    assert "r0001" not in text
    assert "2020-01-01T" not in text


def test_what_was_known_before_is_marked_as_recalled(workspace: Workspace) -> None:
    workspace.evaluate("cs_rank(volume)", panel="small")
    body = workspace.run_summary(propose(workspace)).body
    assert [row["recalled"] for row in body["candidates"]] == [False, False, False, True, False]
    assert (body["trials"], body["trials_total"]) == (4, 5)


SEARCH = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_summary import propose
from alphaswarm.data import Catalog
from alphaswarm.research import Workspace
with Workspace.open(Path(sys.argv[2]), catalog=Catalog(Path(sys.argv[3]))) as workspace:
    print(workspace.run_summary(propose(workspace)).to_bytes().decode())
"""


def test_fresh_workspaces_and_processes_agree_to_the_last_bit(
    workspace: Workspace, market_home: Path, tmp_path: Path
) -> None:
    here = workspace.run_summary(propose(workspace)).to_bytes().decode()
    for seed in ("12345",):
        command = [sys.executable, "-c", SEARCH, str(Path(__file__).parent), str(tmp_path / seed), str(market_home)]
        environment = {**os.environ, "PYTHONHASHSEED": seed, "NUMBA_NUM_THREADS": seed}
        run = subprocess.run(command, env=environment, capture_output=True, check=True, text=True)
        assert json.loads(run.stdout) == json.loads(here)
        assert run.stdout.strip() == here


@pytest.mark.parametrize("total", [1, 60, 1000])
def test_the_hurdle_is_said(total: int) -> None:
    body = summarise(RUN, [trial("a", 1.0)], trials_total=total).body
    assert f"{hurdle(total):.2f} (N = {total})" in body["verdict"]
