from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm

from alphaswarm.evaluation.multiple import bh_fdr, effective_trials
from alphaswarm.evaluation.overfitting import pbo
from alphaswarm.research import Workspace
from alphaswarm.research.multiplicity import Multiplicity

TEXTS = ["-ts_sum(returns, 5)", "ts_sum(returns, 5)", "cs_rank(volume)", "ts_std(returns, 20)"]


def of(workspace: Workspace, panel: str = "small", days: int = 180) -> Multiplicity:
    with workspace.store.read() as connection:
        return Multiplicity.of(connection, panel, days)


def test_every_evaluated_trial_of_the_data_once(workspace: Workspace) -> None:
    trials = [workspace.evaluate(text, panel="small", horizon=1) for text in TEXTS]
    workspace.evaluate(TEXTS[0], panel="small", horizon=1, critique="again")
    workspace.evaluate(TEXTS[0], panel="small", horizon=5)
    found = of(workspace)
    assert [key[0] for key in found.keys] == [*(trial.digest for trial in trials), trials[0].digest]
    assert found.gross.shape == (180, 5)
    daily = workspace._ledger.series([trials[2].id])[trials[2].id]
    assert np.array_equal(found.gross[:, 2], daily.gross, equal_nan=True)
    assert np.isnan(found.evidence_z).all()  # 180 rows carry no residual evidence
    assert found.report["bh"] == {"q": 0.05, "discoveries": 0}
    assert not found.is_discovery(found.keys[0])
    assert of(workspace, days=90).gross.shape == (90, 0)
    assert of(workspace, "elsewhere").keys == ()


def test_what_is_reported_is_what_the_statistics_say(workspace: Workspace) -> None:
    for text in TEXTS:
        workspace.evaluate(text, panel="small", horizon=1)
    found = of(workspace)
    report = found.report
    assert report["trials"] == 4
    assert report["effective_trials"] == effective_trials(found.gross) == 3  # a sign is no other bet
    assert report["pbo"]["probability"] == pbo(found.gross, 16).probability
    ratios = [np.nanmean(column) / np.nanstd(column, ddof=1) for column in found.gross.T]
    assert found.sharpe_variance() == pytest.approx(np.var(ratios, ddof=1))


def test_discoveries_count_what_has_no_evidence_as_tried() -> None:
    t = np.array([4.0, 2.9, np.nan, 0.1])
    keys = tuple((name, 5, "close_t1") for name in "abcd")
    found = Multiplicity(keys, t, np.empty((0, 0)))
    p = [2 * norm.sf(4.0), 2 * norm.sf(2.9), 1.0, 2 * norm.sf(0.1)]
    assert [found.is_discovery(key) for key in keys] == bh_fdr(p, 0.05).tolist() == [True, True, False, False]
    assert not found.is_discovery(("e", 5, "close_t1"))
    assert found.report["pbo"] is None
    assert found.report["effective_trials"] is None
    assert found.sharpe_variance() is None


def test_other_names_of_the_data_belong_to_it(open_workspace: Callable[..., Workspace]) -> None:
    workspace = open_workspace()
    workspace.evaluate(TEXTS[0], panel="small", horizon=1)
    workspace.catalog.add("copy", workspace.panel("small"))
    workspace.evaluate(TEXTS[2], panel="copy", horizon=1)
    assert len(of(workspace).keys) == 2
