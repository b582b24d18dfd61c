from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy import delete, func, select, update

from alphaswarm.core import StoreError
from alphaswarm.research import Workspace
from alphaswarm.research.tables import backtests, notes, trials


@pytest.mark.parametrize("table", [trials, notes, backtests], ids=lambda table: table.name)
@pytest.mark.parametrize("change", [lambda table: delete(table), lambda table: update(table).values(created="now")])
def test_what_is_written_stays(workspace: Workspace, table, change) -> None:
    workspace.evaluate("cs_rank(close)", panel="small", rationale="kept")
    workspace.backtest("cs_rank(close)", panel="small")
    with pytest.raises(StoreError, match="append-only"), workspace.store.write() as connection:
        connection.execute(change(table))
    with workspace.store.read() as connection:
        assert connection.execute(select(func.count()).select_from(table)).scalar() == 1


def test_a_note_needs_its_trial(workspace: Workspace) -> None:
    row = dict.fromkeys(["source", "rationale", "critique", "parents", "created"], "")
    with pytest.raises(StoreError, match="FOREIGN KEY"), workspace.store.write() as connection:
        connection.execute(notes.insert().values(key="k", trial="absent", **row))


def test_a_ledger_of_an_earlier_version_gets_what_it_lacks(open_workspace, tmp_path) -> None:
    with open_workspace() as workspace:
        first = workspace.evaluate("cs_rank(close)", panel="small")
    ledger = sqlite3.connect(tmp_path / "ws" / "ledger.db")
    for name in ("series", "finalists"):
        ledger.execute(f"DROP TABLE {name}")
    ledger.execute("ALTER TABLE trials DROP COLUMN strength")
    ledger.commit()
    ledger.close()
    with open_workspace() as workspace:
        assert [trial.id for trial in workspace.trials()] == [first.id]
        assert workspace.evaluate("cs_rank(returns)", panel="small").trials_total == 2
        with pytest.raises(StoreError, match="append-only"), workspace.store.write() as connection:
            connection.execute(update(trials).values(strength=9.0))
