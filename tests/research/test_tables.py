from __future__ import annotations

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
