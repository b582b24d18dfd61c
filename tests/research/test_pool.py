from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.backtest import VectorEngine, rank_weights
from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.dsl import evaluate
from alphaswarm.evaluation import Evaluator
from alphaswarm.evaluation.gates import book_figures
from alphaswarm.evaluation.multiple import confirmation_hurdle
from alphaswarm.evaluation.pool import blend, combine
from alphaswarm.research import Workspace
from alphaswarm.research.backtest_setup import BacktestRequest

Open = Callable[..., Workspace]

TRUTH = "-ts_sum(returns, 5)"
WEAK = "clue"  # a field that knows a little of the next return
DAYS, NAMES = 1000, 110


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A market with a planted alpha, and a field that foresees a little on its own."""
    home = tmp_path_factory.mktemp("markets")
    market = synthetic_market("planted", seed=5, days=DAYS, names=NAMES, ic=0.06)
    ahead = np.zeros(market.shape)
    ahead[:-2] = market["returns"][2:]
    clue = ahead / ahead.std() + 12.0 * np.random.default_rng(4).standard_normal(market.shape)
    fields = dict(market.fields) | {"clue": clue}
    labels = {name: values[0] for name, values in market.groups.items()}
    panel = Panel.from_arrays(fields, market.dates, market.symbols, groups=labels, meta=dict(market.meta))
    Catalog(home).add("market", panel)
    return home


@pytest.fixture
def project(open_workspace: Open, home: Path) -> Workspace:
    return open_workspace(catalog=Catalog(home))


def add(project: Workspace, text: str):
    return project.promote(project.submit(text, panel="market", horizon=1).trial)


def test_only_what_is_confirmed_comes_in(project: Workspace) -> None:
    with pytest.raises(EvidenceInvalid, match="submit it first"):
        project.promote(project.evaluate(TRUTH, panel="market", horizon=1).id)
    rejected = project.submit("cs_rank(volume)", panel="market", horizon=1)
    with pytest.raises(EvidenceInvalid, match="confirmed factors only; this one: rejected"):
        project.promote(rejected.trial)
    state = add(project, TRUTH)
    assert [member.expression for member in state.members] == ["-ts_sum(returns, 5)"]
    assert (state.members[0].weight, state.combination, state.released) == (1.0, None, None)
    assert add(project, TRUTH) == state
    assert project.pool("market").members == []  # another horizon, another pool
    assert project.pool("market").content is None


def test_shares_and_what_each_adds(project: Workspace) -> None:
    add(project, TRUTH)
    state = add(project, WEAK)
    first, second = state.members
    assert first.weight + second.weight == pytest.approx(1.0)
    assert first.marginal > 0
    assert second.marginal > 0
    assert abs(first.correlations[second.digest]) < 0.1
    assert state.combination["weights"] == {first.digest: first.weight, second.digest: second.weight}
    assert state.combination["evidence_z"] > max(first.evidence_z, second.evidence_z)


def test_self_correlation_is_to_members_only(project: Workspace) -> None:
    alike = "-ts_sum(returns, 6)"
    assert project.submit(alike, panel="market", horizon=1).gate("self_correlation").reason == "the pool is empty"
    add(project, TRUTH)
    twin = project.submit("-ts_sum(returns, 7)", panel="market", horizon=1)
    assert twin.status == "confirmed"
    assert twin.gate("self_correlation").value > 0.7
    assert not twin.tradable
    other = project.submit(WEAK, panel="market", horizon=1)
    assert other.gate("self_correlation").value < 0.3


def test_a_backtest_of_the_pool_holds_its_combination(project: Workspace) -> None:
    held = BacktestRequest("pool", "", "market", VectorEngine(), horizon=1)
    add(project, TRUTH)
    alone = project.run_backtest(held)
    assert alone.equity == pytest.approx(project.backtest(TRUTH, panel="market", horizon=1).equity, rel=1e-12)
    state = add(project, WEAK)
    both = project.run_backtest(held)
    assert both.id != alone.id
    seen = project.seen("market")
    shares = [member.weight for member in state.members]
    mixed = blend([evaluate(member.expression, seen) for member in state.members], [1, 1], shares)
    weights = rank_weights(mixed)
    weights[: project.windows("market").search.rows(seen.dates).start] = 0.0
    expected = VectorEngine().run(seen, weights).equity
    assert both.equity == pytest.approx(expected[-len(both.equity) :], rel=1e-12)


def test_the_vault_is_read_once_for_each_content(project: Workspace, open_workspace: Open, home: Path) -> None:
    with pytest.raises(EvidenceInvalid, match="nothing to release"):
        project.release_pool("market", 1)
    add(project, TRUTH)
    released = project.release_pool("market", 1).released
    panel, windows = project.panel("market"), project.windows("market")
    vault = windows.vault.after_embargo(panel.dates)
    evaluator = Evaluator(panel, vault, horizon=1)
    series = evaluator.series(evaluate(TRUTH, panel))
    shown = released["vault"]["members"][0]
    assert released["vault"]["window"] == vault.to_dict()
    assert shown["net_sharpe"] == book_figures(series, 1, 5.0).net_sharpe
    assert shown["evidence_z"] == pytest.approx(evaluator.evidence(evaluate(TRUTH, panel)).evidence_z)
    assert released["combination"] is None
    with pytest.raises(EvidenceInvalid, match="was read for this pool on 2020-01-01"):
        project.release_pool("market", 1)
    elsewhere = open_workspace(catalog=Catalog(home))
    with pytest.raises(EvidenceInvalid, match="read once"):
        elsewhere.release_pool("market", 1)
    assert elsewhere.pool("market", 1).released == released
    add(project, WEAK)
    assert project.pool("market", 1).released is None  # other content
    assert project._panels.selections.vault_reads("market") == 1


def test_the_combination_is_one_more_finalist(project: Workspace) -> None:
    add(project, TRUTH)
    add(project, WEAK)
    released = project.release_pool("market", 1).released
    assert released["combination"] == {"k": 3, "hurdle": confirmation_hurdle(3), "confirmed": True}
    assert project.submit("-ts_sum(returns, 4)", panel="market", horizon=1).k == 4
    seen, panel = project.seen("market"), project.panel("market")
    search = Evaluator(seen, project.windows("market").search, horizon=1)
    evidence = [search.series(evaluate(text, seen)).evidence for text in (TRUTH, WEAK)]
    assert released["weights"] == pytest.approx(combine(evidence).tolist())
    vault = Evaluator(panel, project.windows("market").vault.after_embargo(panel.dates), horizon=1)
    mixed = blend([evaluate(text, panel) for text in (TRUTH, WEAK)], [1, 1], released["weights"])
    assert released["vault"]["combination"]["rank_ic"] == pytest.approx(vault.evidence(mixed).rank_ic)
    everything = json.dumps(released)
    assert "NaN" not in everything


def test_an_unsealed_workspace_has_no_vault(open_workspace: Open, home: Path) -> None:
    project = open_workspace("open", unsealed=True, catalog=Catalog(home))
    verdict = project.submit(TRUTH, panel="market", horizon=1)
    with pytest.raises(EvidenceInvalid, match="in-sample"):
        project.promote(verdict.trial)


@pytest.mark.parametrize("spelling", ["-2 * ts_sum(returns, 5)", "cs_rank(ts_mean(returns, 5))"])
def test_another_spelling_of_a_member_does_not_come_in(project: Workspace, spelling: str) -> None:
    """It would make another pool of the same factor, and open the vault once more."""
    add(project, TRUTH)
    twin = project.submit(spelling, panel="market", horizon=1)
    assert twin.status == "confirmed"
    with pytest.raises(EvidenceInvalid, match="holds this factor already"):
        project.promote(twin.trial)
    assert len(project.pool("market", 1).members) == 1
