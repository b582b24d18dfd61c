from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from alphaswarm.core import EvidenceInvalid, Panel, SpecInvalid
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.evaluation.multiple import confirmation_hurdle
from alphaswarm.research import Workspace
from alphaswarm.research.judge import thresholds_in

Open = Callable[..., Workspace]

TRUTH = "-ts_sum(returns, 5)"
DAYS, NAMES = 1000, 110
SEARCH = DAYS * 3 // 5


def planted(**more: Any) -> Panel:
    return synthetic_market("planted", seed=5, days=DAYS, names=NAMES, ic=0.06, **more)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Markets of 1000 days: one with an alpha, one whose alpha dies with the search window, one without."""
    home = tmp_path_factory.mktemp("markets")
    catalog = Catalog(home)
    truth = planted()
    catalog.add("truth", truth)
    catalog.add("dying", planted(dies=str(truth.dates[SEARCH])[:10]))
    catalog.add("null", synthetic_market("null", seed=8, days=DAYS, names=NAMES))
    ahead = np.zeros(truth.shape)
    ahead[:-2] = truth["returns"][2:]
    clue = ahead + 0.1 * np.random.default_rng(1).standard_normal(truth.shape)
    catalog.add("vendor", changed(truth, {"clue": clue}, meta={"source": "a vendor"}))
    catalog.add("survivors", changed(truth, meta={**truth.meta, "survivorship_biased": True, "market": "other"}))
    return home


def changed(panel: Panel, fields: dict[str, np.ndarray] | None = None, meta: dict[str, Any] | None = None) -> Panel:
    given = dict(panel.fields) | (fields or {})
    labels = {name: values[0] for name, values in panel.groups.items()}
    return Panel.from_arrays(given, panel.dates, panel.symbols, groups=labels, meta=dict(panel.meta) | (meta or {}))


@pytest.fixture
def project(open_workspace: Open, home: Path) -> Workspace:
    return open_workspace(catalog=Catalog(home))


def test_the_truth_is_accepted_and_pays(project: Workspace) -> None:
    verdict = project.submit(TRUTH, panel="truth", horizon=1)
    assert (verdict.status, verdict.tradable, verdict.sign, verdict.k, verdict.n_trials) == ("confirmed", True, 1, 1, 1)
    assert all(gate.passed for gate in verdict.gates)
    assert [gate.name for gate in verdict.gates if gate.tier == 1] == [
        "history", "leak", "evidence", "residual_rank_ic", "agreement", "distinct", "confirmation"
    ]  # fmt: skip
    assert verdict.words.endswith("(1 bet made there); tradable at 5 bp")
    assert verdict.reported["known"]["label"] == "known: reversal_5"
    assert verdict.reported["capacity"]["aum"] > 0
    assert all(label["passed"] for label in verdict.reported["brain"])
    assert [point["bp"] for point in verdict.reported["cost_curve"]] == [0.0, 1.0, 2.0, 5.0, 10.0]
    assert verdict.reported["dsr_1T"] > 0.95
    assert {gate.name for gate in verdict.gates if gate.window == "selection"} == {
        "confirmation", "breakeven_selection", "net_sharpe_selection"
    }  # fmt: skip
    assert all(gate.value is None for gate in verdict.gates if gate.window == "selection")


def test_the_sign_is_chosen_on_search(project: Workspace) -> None:
    mirrored = project.submit("ts_sum(returns, 5)", panel="truth", horizon=1)
    assert (mirrored.status, mirrored.sign, mirrored.tradable) == ("confirmed", -1, True)
    assert mirrored.reported["book"]["net_sharpe"] > 1.0


def test_nothing_is_accepted_without_an_alpha(project: Workspace) -> None:
    for text in (TRUTH, "ts_std(returns, 20)", "cs_rank(volume)", "ts_mean(returns, 60)"):
        verdict = project.submit(text, panel="null", horizon=1)
        assert (verdict.status, verdict.k) == ("rejected", None)
    assert verdict.n_trials == 4


def test_what_died_is_not_confirmed(project: Workspace) -> None:
    verdict = project.submit(TRUTH, panel="dying", horizon=1)
    assert (verdict.status, verdict.tradable, verdict.k) == ("unconfirmed", False, 1)
    assert verdict.gate("evidence").passed
    assert not verdict.gate("confirmation").passed
    assert {gate.tier for gate in verdict.gates} == {1}  # whether it pays is not asked
    assert verdict.words.startswith("not confirmed: ")


def test_k_counts_for_ever_and_what_was_sent_is_recalled(project: Workspace, open_workspace: Open, home: Path) -> None:
    first = project.submit(TRUTH, panel="truth", horizon=1)
    second = project.submit("-ts_sum(returns, 4)", panel="truth", horizon=1)
    assert (first.k, second.k) == (1, 2)
    assert second.gate("confirmation").threshold == confirmation_hurdle(2)
    for _ in range(30):
        project.evaluate("close", panel="truth", horizon=1)
    again = open_workspace(catalog=Catalog(home)).submit(" - ts_sum( returns,5 )", panel="truth", horizon=1)
    assert again == first
    assert project.submit("-ts_sum(returns, 3)", panel="truth", horizon=1).k == 3
    assert project.verdict(first.trial) == first
    assert project.verdict(project.evaluate("close", panel="truth", horizon=1).id) is None


def test_another_name_of_the_data_has_no_other_verdict(project: Workspace, home: Path) -> None:
    first = project.submit(TRUTH, panel="truth", horizon=1)
    copy = Catalog(home).open("truth")
    project.catalog.add("copy", changed(copy, {"mood": copy["volume"]}))
    again = project.submit(TRUTH, panel="copy", horizon=1)
    assert again == first
    trial = project.evaluate(TRUTH, panel="copy", horizon=1)
    assert trial.id != first.trial
    assert project.verdict(trial.id) == first


def test_other_values_under_the_same_name_do_not_take_a_verdict(project: Workspace, home: Path) -> None:
    truth = Catalog(home).open("truth")
    past = np.cumsum(np.nan_to_num(truth["returns"]), axis=0)
    past[5:] -= past[:-5].copy()
    near = -past + 0.01 * np.random.default_rng(3).standard_normal(past.shape)
    for name, signal in (("one", -past), ("two", near), ("noise", np.random.default_rng(4).random(past.shape))):
        project.catalog.add(name, changed(truth, {"signal": signal}))
    assert project.submit("signal", panel="one", horizon=1).status == "confirmed"
    assert project.submit("signal", panel="noise", horizon=1).status in ("rejected", "withheld")
    verdict = project.submit("signal", panel="two", horizon=1)
    assert (verdict.status, verdict.k, verdict.panel, verdict.tradable) == ("redundant", None, "two", False)
    assert "on panel one this expression was sent before, of other values" in verdict.words
    assert project.window_state("one")["selections"][0]["finalists"] == 1
    assert project.submit("signal", panel="one", horizon=1).status == "confirmed"


def test_what_was_seen_under_another_name_judges_nothing(project: Workspace, home: Path) -> None:
    """The last two years first: what they searched is the selection window of the whole panel."""
    truth = Catalog(home).open("truth")
    late = slice(550, DAYS)
    fields = {name: values[late] for name, values in truth.fields.items()}
    project.catalog.add("late", Panel.from_arrays(fields, truth.dates[late], truth.symbols, meta=dict(truth.meta)))
    assert project.window_state("late")["lineage"] == "late"
    verdict = project.submit(TRUTH, panel="truth", horizon=1)
    assert (verdict.status, verdict.k, verdict.lineage) == ("too short", None, "truth")
    assert "lie in the search window of panel 'late': they were seen" in verdict.words


def test_a_leak_is_held_before_the_selection_window_is_read(project: Workspace) -> None:
    """On synthetic data any IC may be planted; on a vendor's it is an alarm."""
    held = project.submit("clue", panel="vendor", horizon=1)
    assert (held.status, held.k) == ("held", None)
    assert held.gate("evidence").passed
    assert held.gate("leak").value > 0.08
    assert held.words.startswith("held, leak alarm: a mean daily IC of 0.")


def test_a_contradiction_is_withheld(project: Workspace) -> None:
    trial = project.evaluate(TRUTH, panel="truth", horizon=1)
    loses = trial.model_copy(update={"ann_return": -trial.ann_return})
    (verdict,) = project._judge.judge(project._panels.open("truth"), [loses])
    assert (verdict.status, verdict.k) == ("withheld", None)
    assert verdict.words == ("verdict withheld, contradiction: RankIC +, mean evidence +, profit before costs -")


def test_survivors_are_said_to_be(project: Workspace) -> None:
    verdict = project.submit(TRUTH, panel="survivors", horizon=1)
    assert verdict.tradable
    assert verdict.words.endswith("tradable on a biased panel at 5 bp")


def test_a_short_panel_has_no_verdict(workspace: Workspace) -> None:
    verdict = workspace.submit("cs_rank(volume)", panel="small")
    assert (verdict.status, verdict.k) == ("too short", None)
    assert verdict.words == "too short for a verdict: 180 rows in the search window, 504 are needed"


def test_a_label_that_selection_can_not_hold_is_not_counted(project: Workspace) -> None:
    verdict = project.submit(TRUTH, panel="truth", horizon=200)
    assert verdict.k is None
    assert verdict.status in ("too short", "rejected")


def test_nothing_can_be_confirmed_in_an_unsealed_workspace(open_workspace: Open, home: Path) -> None:
    open_book = open_workspace("open", unsealed=True, catalog=Catalog(home))
    verdict = open_book.submit(TRUTH, panel="truth", horizon=1)
    assert (verdict.status, verdict.k, verdict.tradable) == ("in-sample", None, False)
    assert verdict.words.startswith("in-sample: ")


def test_tier_2_is_a_setting_and_tier_1_is_not(project: Workspace) -> None:
    settings = project.path / "gates.yaml"
    settings.write_text("cost_bp: 30\nnet_sharpe: 0.5\n")
    verdict = project.submit(TRUTH, panel="truth", horizon=1)
    assert (verdict.status, verdict.tradable) == ("confirmed", False)
    assert verdict.thresholds.cost_bp == 30.0
    assert verdict.gate("breakeven").threshold == 45.0
    assert "not tradable at 30 bp" in verdict.words
    for text, said in (
        ("hurdle: 2", "tier 1 is not to be set"),
        ("cost_bp: -1", "cost_bp"),
        ("- 1", "mapping"),
    ):
        settings.write_text(text)
        with pytest.raises(SpecInvalid, match=said):
            thresholds_in(project.path)
    settings.unlink()
    assert thresholds_in(project.path).cost_bp == 5.0
    assert project.submit(TRUTH, panel="truth", horizon=1) == verdict  # judged once, as it was


def test_a_trial_of_data_that_changed_is_refused(project: Workspace, home: Path) -> None:
    trial = project.evaluate(TRUTH, panel="truth", horizon=1)
    other = trial.model_copy(update={"panel_digest": "0" * 64})
    with pytest.raises(EvidenceInvalid, match="other data than panel 'truth'"):
        project._judge.judge(project._panels.open("truth"), [other])


# Runs

POOL = [
    TRUTH,
    "-ts_sum(returns, 4)",
    "-ts_mean(returns, 5)",
    "ts_std(returns, 20)",
    "cs_rank(volume)",
    "ts_mean(returns, 120)",
    "high - low",
    "ts_corr(close, volume, 20)",
]


def search(project: Workspace, panel: str, texts: list[str] = POOL, source: str = "search", **config: Any) -> str:
    run = project.start_run(panel=panel, horizon=1, proposer="search", budget=len(texts), seed=1, config=config)
    for text in texts:
        project.evaluate(text, panel=panel, horizon=1, run=run.id, source=source)
    return run.id


def test_a_run_sends_its_differing_finalists(project: Workspace) -> None:
    run = search(project, "truth")
    project.finish_run(run, "complete")
    body = project.run_summary(run).body
    counts = body["counts"]
    assert counts["beat"] >= 3
    assert counts["bets"] < counts["beat"]
    decided = {row["expression"]: row["verdict"] for row in body["finalists"]}
    same = [decided["-ts_sum(returns, 5)"], decided["-ts_mean(returns, 5)"]]  # the same ranks
    assert sorted(same) == ["confirmed", "redundant"]
    assert decided["-ts_sum(returns, 4)"] == "redundant"
    assert body["accepted"][0]["verdict"] == "confirmed"
    assert body["verdict"].startswith(
        f"8 tried, {counts['beat']} beat the hurdle, {counts['bets']} bets, {counts['confirmed']} confirmed, "
        f"{counts['tradable']} tradable at 5 bp (best break-even "
    )
    assert {row["verdict"] for row in body["near_misses"]} <= {"rejected", "withheld"}
    assert all(row["failed"] for row in body["near_misses"])
    assert [one.words for one in project.verdicts(run)] == [one["words"] for one in body["verdicts"]]
    assert {one["k"] for one in body["verdicts"]} == {None, counts["bets"]}


def test_a_run_that_was_stopped_is_not_judged(project: Workspace) -> None:
    run = search(project, "truth", POOL[:2])
    assert project.run_summary(run).body["verdict"].startswith("search evidence only, not judged: 2 tried, 2 beat")
    project.finish_run(run, "stopped")
    assert project.verdicts(run) == []
    assert project.run_summary(run).body["accepted"] == []
    assert project.submit(TRUTH, panel="truth", horizon=1).k == 1


def test_a_run_on_noise_ends_with_nothing_and_near_misses(project: Workspace) -> None:
    run = search(project, "null", POOL[3:])
    project.finish_run(run, "exhausted")
    body = project.run_summary(run).body
    assert body["verdict"] == "5 tried, 0 beat the hurdle, 0 bets, 0 confirmed, 0 tradable at 5 bp"
    assert (body["accepted"], body["bets"], len(body["near_misses"])) == ([], [], 5)


def test_finalists_of_an_earlier_run_keep_their_k(project: Workspace) -> None:
    first = search(project, "truth", POOL[:1])
    project.finish_run(first, "complete")
    second = search(project, "truth", POOL[:2])
    project.finish_run(second, "complete")
    verdicts = {one.expression: one for one in project.verdicts(second)}
    assert verdicts["-ts_sum(returns, 5)"] == project.verdicts(first)[0]
    assert verdicts["-ts_sum(returns, 4)"].status == "redundant"


def later_rows_of(panel: Panel, shift: float) -> Panel:
    """The same search rows, and other prices after them."""
    rng = np.random.default_rng(3)
    close = panel["close"].copy()
    close[SEARCH:] *= np.exp(shift * rng.standard_normal(close[SEARCH:].shape))
    returns = panel["returns"].copy()
    returns[1:] = close[1:] / close[:-1] - 1.0
    # the row on the border keeps its return: it belongs to what follows, but so does its label
    return changed(panel, {"close": close, "returns": returns})


def test_no_figure_of_later_rows_leaves(open_workspace: Open, home: Path, tmp_path: Path) -> None:
    """Two markets that differ after the search window only get the same verdicts and summary, to the last bit."""
    truth = Catalog(home).open("truth")
    told = []
    for name, shift in (("one", 0.0005), ("two", 0.001)):
        catalog = Catalog(tmp_path / f"home-{name}")
        catalog.add("market", later_rows_of(truth, shift))
        project = open_workspace(name, catalog=catalog)
        run = search(project, "market", POOL[:4])
        project.finish_run(run, "complete")
        text = project.run_summary(run).to_bytes().decode()
        assert project.run_summary(run).body["counts"]["confirmed"] == 1
        text = text.replace(project.panel("market").digest, "PANEL")
        for trial in project.trials(limit=None):
            text = text.replace(trial.id, trial.digest)
        told.append(json.loads(text))
    assert told[0] == told[1]


KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import event
from alphaswarm.core import FixedClock
from alphaswarm.data import Catalog
from alphaswarm.research import Workspace
sys.path.insert(0, sys.argv[1])
from test_judge import POOL, search
directory, home, last = sys.argv[2:]
workspace = Workspace.open(Path(directory), catalog=Catalog(Path(home)), clock=FixedClock())
run = search(workspace, "truth", POOL[:5])
left = [int(last)]

def dies(connection):
    left[0] -= not connection.get_execution_options().get("alphaswarm_read", False)
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)

event.listen(workspace.store._engine, "commit", dies)
workspace.finish_run(run, "complete")
"""


@pytest.mark.parametrize("last", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 3))])
def test_killed_between_finalists_bits_and_verdicts_nothing_changes(
    open_workspace: Open, home: Path, tmp_path: Path, last: int
) -> None:
    """The process dies as it commits the finalists, the verdicts, or the end of the run."""
    whole = open_workspace("whole", catalog=Catalog(home))
    whole.finish_run(search(whole, "truth", POOL[:5]), "complete")
    command = [sys.executable, "-c", KILLED, str(Path(__file__).parent), str(tmp_path / "cut"), str(home), str(last)]
    assert subprocess.run(command, check=False).returncode == -9
    cut = open_workspace("cut", catalog=Catalog(home))
    sent = cut._judge._finalists.count("truth", 1)
    assert (sent == 0) == (last == 1)
    assert (cut.verdicts("r0001") == []) == (last < 3)
    cut.evaluate("ts_std(returns, 7)", panel="truth", horizon=1)  # somebody else goes on meanwhile
    cut.resume_run("r0001")
    cut.finish_run("r0001", "complete")
    mine, theirs = (project.verdicts("r0001") for project in (cut, whole))
    sent_to = [[(one.digest, one.k, one.status) for one in each if one.k] for each in (mine, theirs)]
    assert sent_to[0] == sent_to[1]
    if last > 1:
        assert [one for one in mine if one.k] == [one for one in theirs if one.k]
    cut.finish_run("r0001", "complete")
    assert cut._judge._finalists.count("truth", 1) == whole._judge._finalists.count("truth", 1)


# What a language model may have read


def test_a_model_that_may_have_read_about_the_dates_is_flagged(project: Workspace) -> None:
    run = search(project, "truth", POOL[:2], source="llm", model="m-1")
    project.finish_run(run, "complete")
    body = project.run_summary(run).body
    assert body["memory_guard"] == {
        "model": "m-1",
        "cutoff": None,
        "flag": "the model m-1 may have read about these dates: its cutoff is not known",
        "after_cutoff": False,
    }
    assert body["warnings"][0] == body["memory_guard"]["flag"]
    assert project.run_summary(search(project, "null", POOL[:1])).body["memory_guard"] is None


def test_figures_after_the_cutoff_stand_beside(project: Workspace) -> None:
    dates = project.seen("truth").dates
    cutoff = str(dates[300])[:10]
    run = search(project, "truth", POOL[:2], source="llm", model="m-1", cutoff=cutoff)
    project.finish_run(run, "complete")
    body = project.run_summary(run).body
    after = body["verdicts"][0]["reported"]["after_cutoff"]
    assert after["window"]["start"] == str(dates[301])[:10]
    assert after["n_days"] <= SEARCH - 301
    assert after["evidence_z"] > 2.0
    assert cutoff in body["warnings"][0]
    assert str(dates[301])[:10] in body["warnings"][0]
    early = search(project, "truth", POOL[:2], source="llm", model="m-1", cutoff="2001-01-01")
    assert project.run_summary(early).body["memory_guard"]["flag"] == ""
