"""The ledger as it was when a run began: everything before, nothing after, and the run itself open again."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from alphaswarm.core import SpecInvalid, Store, StoreError
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.research import Workspace
from alphaswarm.research.rewind import rewind

BEFORE, DURING, AFTER = "cs_rank(close)", "-ts_sum(returns, 3)", "ts_mean(volume, 5)"


@pytest.fixture
def project(tmp_path: Path) -> Any:
    """A project with a trial before, in, and after the run r0002."""
    catalog = Catalog(tmp_path / "home")
    catalog.add("tiny", synthetic_market("null", seed=1, days=200, names=36))
    with Workspace.open(tmp_path / "ws", catalog=catalog) as workspace:
        (workspace.path / "gates.yaml").write_text("cost_bp: 3.0\n")
        for number, text in enumerate((BEFORE, DURING, AFTER)):
            run = workspace.start_run(panel="tiny", proposer="search", budget=number + 1, seed=0)
            workspace.evaluate(text, panel="tiny", run=run.id, rationale=f"reason {number}")
            workspace.finish_run(run.id, "complete")
        workspace.backtest(AFTER, panel="tiny")
        yield workspace


def test_what_came_later_is_gone_and_the_run_is_open(project: Any, tmp_path: Path) -> None:
    directory = tmp_path / "copy"
    directory.mkdir()
    rewind(project.store, project.path, project.run("r0002"), directory)
    assert (directory / "gates.yaml").read_text() == "cost_bp: 3.0\n"
    with Workspace.open(directory, catalog=project.catalog) as copy:
        assert [run.id for run in copy.runs()] == ["r0002", "r0001"]
        assert [trial.expression for trial in copy.trials()] == [BEFORE]
        assert copy.trials_total("tiny") == 1
        assert copy.backtests() == []
        assert copy.verdicts("r0001")
        assert copy.memory.stats()["corpora"]["alpha_factors"] == 1
        assert copy.memory.stats()["corpora"]["backtest_summaries"] == 0
        run = copy.resume_run("r0002")
        assert (run.budget, run.finished, run.outcome, run.trials) == (2, None, None, 0)
        copy.evaluate(DURING, panel="tiny", run="r0002", rationale="reason 1")
        copy.finish_run("r0002", "complete")
        assert copy.run_summary("r0002").digest == project.run_summary("r0002").digest
    assert project.trials_total("tiny") == 3


def test_no_row_of_the_copy_names_one_that_is_gone(project: Any, tmp_path: Path) -> None:
    for run in ("r0001", "r0002", "r0003"):
        directory = tmp_path / run
        directory.mkdir()
        rewind(project.store, project.path, project.run(run), directory)
        with closing(sqlite3.connect(directory / "ledger.db")) as copy:
            assert copy.execute("PRAGMA foreign_key_check").fetchall() == []
            assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_where_it_can_not_be_done(project: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be copied"):
        rewind(project.store, project.path, project.run("r0001"), tmp_path / "absent")
    memory = Store("sqlite://")
    with pytest.raises(SpecInvalid, match="in SQLite"):
        rewind(memory, project.path, project.run("r0001"), tmp_path)
    memory.close()
