from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.rag import NOT_JUDGED
from alphaswarm.research import Workspace
from alphaswarm.research.remembered import MAX_NOTE, factor_document

Open = Callable[..., Workspace]
TRUTH = "-ts_sum(returns, 5)"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("markets")
    Catalog(home).add("truth", synthetic_market("planted", seed=5, days=1000, names=110, ic=0.06))
    return home


@pytest.fixture
def project(open_workspace: Open, home: Path) -> Workspace:
    return open_workspace(catalog=Catalog(home))


def test_a_verdict_is_known_from_the_last_row_that_it_was_made_of(project: Workspace) -> None:
    trial = project.evaluate(TRUTH, panel="truth", horizon=1, rationale="losers come back")
    (before,) = project.memory.find(trial.digest)
    assert before.verdict == NOT_JUDGED
    verdict = project.submit(TRUTH, panel="truth", horizon=1)
    assert verdict.status == "confirmed"
    (after,) = project.memory.find(trial.digest)
    assert after.verdict.startswith("confirmed: statistically real")
    assert (after.text, after.as_of) == (before.text, before.as_of)
    end = project.windows("truth").selection.end
    assert after.summary["judged_as_of"] == str(end)[:10]
    day_before = str(end.astype("datetime64[D]") - 1)
    early = project.memory.query(TRUTH, as_of=day_before).results[0]
    assert early.verdict == NOT_JUDGED
    assert "judged_as_of" not in early.summary
    assert project.memory.query(TRUTH, as_of=str(end)[:10]).results[0].verdict == after.verdict
    assert project.memory.query(TRUTH, verdict="confirmed", as_of=day_before).results == ()
    assert [found.id for found in project.memory.query(TRUTH, verdict="confirmed").results] == [trial.id]


def test_saying_more_about_a_judged_trial_keeps_its_verdict(project: Workspace) -> None:
    trial = project.evaluate("ts_mean(volume, 20)", panel="truth")
    verdict = project.submit("ts_mean(volume, 20)", panel="truth")
    assert verdict.status == "rejected"
    project.evaluate("ts_mean(volume, 20)", panel="truth", critique="noise")
    (kept,) = project.memory.find(trial.digest)
    assert kept.verdict.startswith("rejected: ")
    assert "noise" in kept.text
    assert kept.summary["judged_as_of"] == trial.as_of  # the search window alone ended it


def test_a_run_that_is_judged_tells_the_memory(project: Workspace) -> None:
    run = project.start_run(panel="truth", horizon=1, proposer="random", budget=1, seed=1)
    trial = project.evaluate(TRUTH, panel="truth", horizon=1, run=run.id)
    project.finish_run(run.id, "complete")
    assert project.memory.find(trial.digest)[0].status == "confirmed"


def test_reindex_tells_what_a_crash_left_untold(project: Workspace) -> None:
    trial = project.evaluate(TRUTH, panel="truth", horizon=1)
    project.submit(TRUTH, panel="truth", horizon=1)
    project.memory.remember(factor_document(trial))  # as if killed before the memory was told
    assert project.memory.find(trial.digest)[0].status == "not judged"
    project.reindex()
    assert project.memory.find(trial.digest)[0].status == "confirmed"


def test_notes_are_cut_and_no_figure_of_a_sealed_window_is_told(project: Workspace) -> None:
    long = "é" * 4_000
    trial = project.evaluate(TRUTH, panel="truth", horizon=1, rationale=long, critique=long)
    project.submit(TRUTH, panel="truth", horizon=1)
    (kept,) = project.memory.find(trial.digest)
    assert len(kept.summary["rationale"]) == MAX_NOTE
    assert kept.summary["window"] == "search"
    assert kept.summary["evidence_z"] == trial.evidence_z
    assert kept.summary["universe"] == "truth"
