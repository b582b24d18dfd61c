from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from alphaswarm.core import EvidenceInvalid, FixedClock, Panel, Store
from alphaswarm.data import synthetic_market
from alphaswarm.research.panels import MAX_EVALUATORS, Panels


class Shelf:
    """Panels in memory."""

    def __init__(self, **panels: Panel) -> None:
        self.panels = panels
        self.opened: list[str] = []

    def adopt(self, name: str) -> str:
        return name.removeprefix("dir/").removesuffix(".csv")

    def open(self, name: str) -> Panel:
        self.opened.append(name)
        return self.panels[name]


@pytest.fixture(scope="module")
def market() -> Panel:
    return synthetic_market("null", seed=1, days=100, names=35)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "s.db")
    yield store
    store.close()


def test_a_panel_is_opened_once_and_cut_at_the_search_window(store: Store, market: Panel) -> None:
    shelf = Shelf(x=market)
    panels = Panels(store, shelf, FixedClock())
    opened = panels.open("x")
    assert panels.open("x") is opened
    assert shelf.opened == ["x"]
    assert opened.panel is market
    assert opened.seen.shape == (60, 35)
    assert opened.days == 60
    assert opened.as_of == str(market.dates[59])[:10] == opened.window.to_dict()["end"]


def test_windows_stay_as_they_were_at_first_use(store: Store, market: Panel) -> None:
    first = Panels(store, Shelf(x=market), FixedClock()).open("x")
    grown = synthetic_market("null", seed=1, days=200, names=35)
    again = Panels(store, Shelf(x=grown), FixedClock()).open("x")
    assert again.windows == first.windows
    assert again.panel.digest != first.panel.digest
    assert again.seen.shape == (60, 35)


def test_a_file_is_the_panel_that_it_was_taken_in_as(store: Store, market: Panel) -> None:
    panels = Panels(store, Shelf(x=market), FixedClock())
    opened = panels.open("dir/x.csv")
    assert opened.name == "x"
    assert panels.open("x") is opened


def test_other_data_under_an_old_name_are_refused(store: Store, market: Panel) -> None:
    Panels(store, Shelf(x=market), FixedClock()).open("x")
    later = replace(market, dates=market.dates + np.timedelta64(9_000, "D"))
    with pytest.raises(EvidenceInvalid, match="give other data another name"):
        Panels(store, Shelf(x=later), FixedClock()).open("x")


def test_few_evaluators_are_kept(store: Store, market: Panel) -> None:
    panels = Panels(store, Shelf(x=market), FixedClock())
    opened = panels.open("x")
    factor = np.cumsum(np.ones(opened.seen.shape), axis=1)
    for horizon in range(1, MAX_EVALUATORS + 3):
        evidence, series = panels.evidence(opened, factor, horizon, "close_t1")
        assert (evidence["horizon"], series.horizon) == (horizon, horizon)
    assert len(panels._evaluators) == MAX_EVALUATORS
    kept = panels._evaluators[next(iter(panels._evaluators))]
    panels.evidence(opened, factor, kept.horizon, "close_t1")
    assert list(panels._evaluators.values())[-1] is kept


def test_exposures_are_found_once_on_the_rows_seen(store: Store, market: Panel) -> None:
    panels = Panels(store, Shelf(x=market), FixedClock())
    opened = panels.open("x")
    shared = [panels._evaluator(opened, horizon, fill) for horizon in (1, 5) for fill in ("close_t1", "open_t1")]
    assert {id(evaluator.exposures) for evaluator in shared} == {id(shared[0].exposures)}
    assert shared[0].exposures.dates.size == opened.seen.shape[0]


def test_sealed_windows_are_measured_after_their_embargo(store: Store) -> None:
    market = synthetic_market("null", seed=1, days=300, names=35)
    panels = Panels(store, Shelf(x=market), FixedClock())
    opened = panels.open("x")
    selection = panels.selection_evaluator(opened, 5, "close_t1", 1)
    assert selection.window.rows(market.dates) == slice(180 + 21, 240)
    assert selection.panel.shape[0] == 240
    vault = panels.vault_evaluator(opened, 5, "close_t1")
    assert vault.window.rows(market.dates) == slice(240 + 21, 300)
    decisions = vault.series(np.cumsum(np.ones(market.shape), axis=1)).decision
    assert decisions.sum() == 60 - 21 - 6  # the label of the last decision ends inside
    with pytest.raises(EvidenceInvalid, match="selection windows 1 to 1, got 2"):
        panels.selection_evaluator(opened, 5, "close_t1", 2)


def test_where_nothing_is_sealed_all_is_in_sample(store: Store, market: Panel) -> None:
    panels = Panels(store, Shelf(x=market), FixedClock(), unsealed=True)
    opened = panels.open("x")
    assert (opened.window.role, opened.days, opened.seen.shape) == ("in-sample", 100, (100, 35))
    for ask in (panels.vault_evaluator, lambda *asked: panels.selection_evaluator(*asked, 1)):
        with pytest.raises(EvidenceInvalid, match="nothing can be confirmed"):
            ask(opened, 5, "close_t1")
