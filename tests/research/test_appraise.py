from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import SpecInvalid
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.dsl import evaluate
from alphaswarm.evaluation import Evaluator, TearSheets, Window
from alphaswarm.evaluation.gates import Thresholds, book_figures, deflated
from alphaswarm.research import Workspace
from alphaswarm.research.appraise import LEAST_AFTER, Appraiser, last_read
from alphaswarm.research.multiplicity import Multiplicity

NONE_YET = Multiplicity((), np.empty(0), np.empty((0, 0)))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("market")
    Catalog(home).add("market", synthetic_market("null", seed=3, days=700, names=70))
    with Workspace.open(Path(home) / "ws", catalog=Catalog(home)) as workspace:
        yield workspace


def test_figures_are_those_of_the_tear_sheet_of_the_sign(project: Workspace) -> None:
    opened = project._panels.open("market")
    trial = project.evaluate("cs_rank(volume)", panel="market", horizon=2)
    appraiser = Appraiser(project._panels, project._pool)
    gates, reported = appraiser.appraise(opened, trial, -1, Thresholds(), n_trials=7, together=NONE_YET)
    evaluator = Evaluator(opened.seen, opened.window, horizon=2)
    sheet = TearSheets(evaluator).sheet(-evaluate("cs_rank(volume)", opened.seen))
    book = book_figures(evaluator.series(evaluate("cs_rank(volume)", opened.seen)), -1, 5.0)
    assert reported["book"]["net_sharpe"] == pytest.approx(book.net_sharpe)
    assert reported["book"]["breakeven_bp"] == pytest.approx(book.breakeven_bp)
    assert reported["book"]["max_weight"] == sheet.max_weight
    assert reported["capacity"] == sheet.capacity.to_dict()
    assert reported["brain"] == [label.to_dict() for label in sheet.brain]
    assert reported["dsr_1T"] == pytest.approx(deflated(book.gross, 7))
    by_name = {gate.name: gate for gate in gates}
    assert by_name["net_dsr"].value == pytest.approx(deflated(book.net, 7))
    assert by_name["max_weight"].value == sheet.max_weight
    assert by_name["self_correlation"].reason == "the pool is empty"
    assert {(gate.tier, gate.window) for gate in gates} == {(2, "search")}
    assert reported["known"]["correlation"] is not None


def test_after_the_cutoff_only_later_rows_count(project: Workspace) -> None:
    opened = project._panels.open("market")
    appraiser = Appraiser(project._panels, project._pool)
    trial = project.evaluate("cs_rank(volume)", panel="market", horizon=2)
    days = opened.seen.dates.astype("datetime64[D]")
    cutoff = days[-LEAST_AFTER - 1]
    found = appraiser.after_cutoff(opened, trial, cutoff)
    assert found["window"] == {"role": "search", "start": str(days[-LEAST_AFTER]), "end": str(days[-1])}
    window = Window("search", days[-LEAST_AFTER], days[-1])
    expected = Evaluator(opened.seen, window, horizon=2).evidence(evaluate(trial.expression, opened.seen))
    assert (found["rank_ic"], found["evidence_z"]) == (expected.rank_ic, expected.evidence_z)
    assert appraiser.after_cutoff(opened, trial, days[-LEAST_AFTER]) is None


@pytest.mark.parametrize("text", ["2024", "2024-13-01", "yesterday", "2024-06-30T00:00", ""])
def test_a_cutoff_is_a_date(text: str) -> None:
    assert last_read(None) is None
    assert last_read("2024-06-30") == np.datetime64("2024-06-30")
    with pytest.raises(SpecInvalid, match="such as 2024-06-30"):
        last_read(text)
