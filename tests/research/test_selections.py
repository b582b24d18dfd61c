from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import EvidenceInvalid, FixedClock, Panel, Store, StoreError
from alphaswarm.research.panels import Panels
from alphaswarm.research.tables import finalists, selections, vault_reads

FIRST = np.datetime64("2020-01-01", "D")


def panel(days: int, start: int = 0) -> Panel:
    rows = np.random.default_rng(0).random((1_000, 30))[start : start + days]
    return Panel.from_arrays({"close": 1.0 + rows}, FIRST + start + np.arange(days), [f"S{name}" for name in range(30)])


class Shelf:
    """Panels in memory."""

    def __init__(self, **panels: Panel) -> None:
        self.panels = panels

    def adopt(self, name: str) -> str:
        return name

    def open(self, name: str) -> Panel:
        return self.panels[name]


@pytest.fixture
def store(tmp_path: Path):
    store = Store(tmp_path / "s.db")
    yield store
    store.close()


def grown(store: Store, days: int, **others: Panel) -> Panels:
    """Panels that were first used with 200 days and have `days` now."""
    Panels(store, Shelf(x=panel(200)), FixedClock()).open("x")
    return Panels(store, Shelf(x=panel(days), **others), FixedClock())


def test_the_first_is_the_fixed_one(store: Store) -> None:
    panels = grown(store, 200)
    opened = panels.open("x")
    (first,) = panels.selections.all("x")
    assert first.window == opened.windows.selection
    assert (first.number, first.finalists, panels.selections.vault_reads("x")) == (1, 0, 0)
    assert panels.selections.forward_rows(opened) == slice(200, 200)
    assert first.judged(opened.panel.dates).rows(opened.panel.dates) == slice(120 + 21, 160)


@pytest.mark.parametrize(("days", "have"), [(200, 0), (221, 0), (230, 9), (283, 62)])
def test_too_few_new_rows_open_nothing(store: Store, days: int, have: int) -> None:
    panels = grown(store, days)
    with pytest.raises(EvidenceInvalid, match=rf"has {have}, so {63 - have} are missing.*data append x FILE"):
        panels.selections.open(panels.open("x"), "impatience")
    assert len(panels.selections.all("x")) == 1


def test_new_rows_open_a_window_with_a_count_of_its_own(store: Store) -> None:
    panels = grown(store, 284)
    opened = panels.open("x")
    with store.write() as connection:
        row = {"lineage": "x", "selection": 1, "digest": "d", "horizon": 5, "fill": "close_t1", "sign": 1, "k": 1}
        connection.execute(finalists.insert().values(key="f", body="{}", created="now", **row))
        connection.execute(vault_reads.insert().values(key="v", lineage="x", body="{}", created="now"))
    window = panels.selections.open(opened, "new bars").window
    assert window.rows(opened.panel.dates) == slice(221, 284)
    first, second = panels.selections.all("x")
    assert (first.finalists, second.finalists, panels.selections.vault_reads("x")) == (1, 0, 1)
    assert (second.number, second.window, second.reason) == (2, window, "new bars")
    assert second.judged(opened.panel.dates) == window
    evaluator = panels.selection_evaluator(opened, 5, "close_t1", 2)
    assert evaluator.window == window
    assert panels.selections.forward_rows(opened) == slice(284, 284)
    with pytest.raises(EvidenceInvalid, match="has 0, so 63 are missing"):
        panels.selections.open(opened, "again")
    with pytest.raises(StoreError, match="append-only"), store.write() as connection:
        connection.execute(selections.delete())


def test_what_was_seen_under_another_name_is_not_new(store: Store) -> None:
    panels = grown(store, 300, other=panel(500, start=150))  # days 150 to 449 are searched there
    panels.open("other")
    assert panels.open("other").lineage == "other"
    with pytest.raises(EvidenceInvalid, match="search window of panel 'other': they were seen"):
        panels.selections.open(panels.open("x"), "new bars")
