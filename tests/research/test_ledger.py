from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import ExpressionError, Panel, UnknownName
from alphaswarm.data import Catalog
from alphaswarm.research import Workspace


def test_n_counts_questions_not_calls(workspace: Workspace) -> None:
    def total() -> int:
        return workspace.trials_total("small")

    assert total() == 0
    first = workspace.evaluate("close * volume", panel="small")
    assert (first.known, first.trials_total, total()) == (False, 1, 1)
    again = workspace.evaluate("volume*close", panel="small")  # the same canonical form
    assert (again.id, again.known, total()) == (first.id, True, 1)
    workspace.evaluate("-(close * volume)", panel="small")  # a sign is a question of its own
    workspace.evaluate("close * volume", panel="small", horizon=1)
    workspace.evaluate("close * volume", panel="small", fill="open_t1")
    assert total() == 4
    for _ in range(2):
        for text in ("close *", "fwd_ret", "close * cap", "ts_mean(close, -5)"):
            with pytest.raises(ExpressionError):
                workspace.evaluate(text, panel="small")
    assert total() == 8
    assert workspace.trials_total("us500") == 0


def test_n_ignores_the_digest_of_the_panel(workspace: Workspace) -> None:
    trial = workspace.evaluate("cs_rank(close)", panel="small")
    with workspace.store.write() as connection:
        row = dict(workspace._ledger.row(connection, trial.id))
        del row["seq"]
        assert workspace._ledger.add(connection, {**row, "id": "0" * 64, "panel_digest": "1" * 64})
    assert workspace.trials_total("small") == 1
    assert len(workspace.trials(panel="small")) == 2


def test_other_values_of_a_field_are_other_looks(workspace: Workspace, tmp_path: Path, open_workspace) -> None:
    market, rng = workspace.panel("small"), np.random.default_rng(0)
    catalog, signals = Catalog(tmp_path / "home"), rng.normal(size=(3, *market.shape))
    for name, signal in zip(("first", "second", "copy"), signals[[0, 1, 1]], strict=True):
        catalog.add(name, Panel.from_arrays({**market.fields, "signal": signal}, market.dates, market.symbols))
    order = np.arange(market.shape[1])[::-1]
    turned = {name: values[:, order] for name, values in (*market.fields.items(), ("signal", signals[1]))}
    catalog.add("turned", Panel.from_arrays(turned, market.dates, np.array(market.symbols)[order]))
    own = open_workspace("own", catalog=catalog)
    counts = [own.evaluate("signal", panel=name).trials_total for name in ("first", "second", "copy", "turned")]
    assert counts == [1, 2, 2, 2]


def test_the_same_data_under_another_name_are_counted_together(
    workspace: Workspace, tmp_path: Path, open_workspace
) -> None:
    catalog = Catalog(tmp_path / "home")
    for name in ("small", "again", "third"):
        catalog.add(name, workspace.panel("small"))
    own = open_workspace("own", catalog=catalog)
    first = own.evaluate("cs_rank(close)", panel="small")
    second = own.evaluate("cs_rank(close)", panel="again")
    third = own.evaluate("cs_rank(volume)", panel="third")
    told = [[text for text in trial.warnings if "same data" in text] for trial in (first, second, third)]
    assert told == [
        [],
        ["counted together with panel small: they hold mostly the same data"],
        ["counted together with panel again, small: they hold mostly the same data"],
    ]
    assert (first.trials_total, second.trials_total, third.trials_total) == (1, 1, 2)
    assert [own.trials_total(name) for name in ("small", "again", "third")] == [2, 2, 2]


def test_the_daily_figures_are_kept_beside_the_trial(workspace: Workspace) -> None:
    from alphaswarm.dsl import evaluate
    from alphaswarm.evaluation import Evaluator

    trial = workspace.evaluate("cs_rank(close)", panel="small", horizon=3)
    with pytest.raises(ExpressionError):
        workspace.evaluate("close *", panel="small")
    kept = workspace._ledger.series([trial.id, "0" * 64])
    assert list(kept) == [trial.id]
    seen = workspace.seen("small")
    series = Evaluator(seen, workspace.window("small"), horizon=3).series(evaluate("cs_rank(close)", seen))
    for name in ("gross", "turnover", "neutral"):
        assert np.array_equal(getattr(kept[trial.id], name), getattr(series, name), equal_nan=True)


def test_the_strongest_have_the_largest_residual_evidence(workspace: Workspace) -> None:
    first = workspace.evaluate("cs_rank(close)", panel="small")
    with workspace.store.write() as connection:
        row = dict(workspace._ledger.row(connection, first.id))
        assert row["strength"] == abs(first.rank_ic_t if first.evidence_z is None else first.evidence_z)
        del row["seq"]
        # old trials have no strength: the RankIC stands for it
        old = {"strength": None, "rank_ic_t": -(row["strength"] + 1.0)}
        assert workspace._ledger.add(connection, {**row, "id": "1" * 64, **old})
        assert workspace._ledger.add(connection, {**row, "id": "2" * 64, "strength": row["strength"] + 2.0})
    assert [trial.id for trial in workspace.trials()] == ["2" * 64, "1" * 64, first.id]


def test_equals_stand_in_the_order_of_their_expressions(workspace: Workspace) -> None:
    trial = workspace.evaluate("cs_rank(close)", panel="small")
    with workspace.store.write() as connection:
        row = dict(workspace._ledger.row(connection, trial.id))
        del row["seq"]
        for identifier, digest in (("1", "c"), ("2", "a"), ("3", "b")):
            workspace._ledger.add(connection, {**row, "id": identifier * 64, "digest": digest * 64, "rank_ic_t": 99.0})
    assert [found.digest[0] for found in workspace.trials(panel="small", limit=3)] == ["a", "b", "c"]


def test_a_trial_is_found_by_the_start_of_its_id_or_digest(workspace: Workspace) -> None:
    one = workspace.evaluate("cs_rank(close)", panel="small")
    two = workspace.evaluate("cs_rank(close)", panel="small", horizon=1)
    for name in (one.id, one.id[:8]):
        assert workspace.trial(name).id == one.id
    for name in (one.digest, one.digest[:8]):
        assert workspace.trial(name).id == two.id  # the newest of the expression
    assert workspace.trial(one.id).known


@pytest.mark.parametrize("name", ["", "abc", "%%%%", "____", "r0001", "ffffffffffff", "' OR 1=1 --", "A" * 64])
def test_what_names_no_trial(workspace: Workspace, name: str) -> None:
    workspace.evaluate("cs_rank(close)", panel="small")
    with pytest.raises(UnknownName):
        workspace.trial(name)


def test_a_start_that_fits_several_asks_for_more(workspace: Workspace) -> None:
    trial = workspace.evaluate("cs_rank(close)", panel="small")
    with workspace.store.write() as connection:
        row = dict(workspace._ledger.row(connection, trial.id))
        del row["seq"]
        workspace._ledger.add(connection, {**row, "id": trial.id[:10] + "0" * 54})
    with pytest.raises(UnknownName, match="several"):
        workspace.trial(trial.id[:10])


def test_notes_are_kept_once_and_read_together(workspace: Workspace) -> None:
    text = "cs_rank(close)"
    for _ in range(2):
        workspace.evaluate(text, panel="small", rationale="first", source="me", parents=["a", "b"])
    trial = workspace.evaluate(text, panel="small", critique="weak")
    assert (trial.rationale, trial.source, trial.parents, trial.critique) == ("first", "me", ["a", "b"], "weak")
    assert workspace.evaluate(text, panel="small", rationale="second").rationale == "second"
    with workspace.store.read() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM notes").scalar() == 3


def test_a_run_reads_its_own_notes(workspace: Workspace) -> None:
    for _ in range(2):
        workspace.start_run(panel="small", proposer="search", budget=1, seed=1)
    workspace.evaluate("cs_rank(close)", panel="small", run="r0001", rationale="one")
    trial = workspace.evaluate("cs_rank(close)", panel="small", run="r0002", rationale="two")
    assert (trial.rationale, trial.known, trial.first_run) == ("two", True, "r0001")
    assert [t.rationale for t in workspace.trials(run="r0001")] == ["one"]
    assert workspace.trial(trial.id).rationale == "two"
    assert workspace.run("r0002").trials == 0


def test_lists_of_trials(workspace: Workspace) -> None:
    workspace.start_run(panel="small", proposer="search", budget=9, seed=1)
    texts = ["cs_rank(close)", "cs_rank(volume)", "cs_rank(-ts_sum(returns, 5))", "cs_rank(open - close)"]
    with pytest.raises(ExpressionError):
        workspace.evaluate("cs_rank(", panel="small", run="r0001")
    for text in texts:
        workspace.evaluate(text, panel="small", run="r0001", source="test")
    workspace.evaluate("cs_rank(high)", panel="small")
    everything = workspace.trials(panel="small")
    strengths = [abs(trial.rank_ic_t) for trial in everything]
    assert strengths == sorted(strengths, reverse=True)
    assert len(everything) == 5
    own = workspace.trials(run="r0001", status=None, order="proposed")
    assert [trial.expression for trial in own] == ["cs_rank(", *texts]
    assert [trial.status for trial in own] == ["invalid", *["evaluated"] * 4]
    assert workspace.trials(run="r0001", order="proposed", limit=2, offset=1) == own[2:4]
    assert workspace.trials(status="invalid") == own[:1]
    assert workspace.trials(panel="us500") == []
    with pytest.raises(UnknownName, match="r0001"):
        workspace.trials(run="r0009")
