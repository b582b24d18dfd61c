from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from alphaswarm.core import EvidenceInvalid, Panel, Store
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
    panels = Panels(store, shelf)
    opened = panels.open("x")
    assert panels.open("x") is opened
    assert shelf.opened == ["x"]
    assert opened.panel is market
    assert opened.seen.shape == (60, 35)
    assert opened.days == 60
    assert opened.as_of == str(market.dates[59])[:10] == opened.window.to_dict()["end"]


def test_windows_stay_as_they_were_at_first_use(store: Store, market: Panel) -> None:
    first = Panels(store, Shelf(x=market)).open("x")
    grown = synthetic_market("null", seed=1, days=200, names=35)
    again = Panels(store, Shelf(x=grown)).open("x")
    assert again.windows == first.windows
    assert again.panel.digest != first.panel.digest
    assert again.seen.shape == (60, 35)


def test_a_file_is_the_panel_that_it_was_taken_in_as(store: Store, market: Panel) -> None:
    panels = Panels(store, Shelf(x=market))
    opened = panels.open("dir/x.csv")
    assert opened.name == "x"
    assert panels.open("x") is opened


def test_other_data_under_an_old_name_are_refused(store: Store, market: Panel) -> None:
    Panels(store, Shelf(x=market)).open("x")
    later = replace(market, dates=market.dates + np.timedelta64(9_000, "D"))
    with pytest.raises(EvidenceInvalid, match="give other data another name"):
        Panels(store, Shelf(x=later)).open("x")


def test_few_evaluators_are_kept(store: Store, market: Panel) -> None:
    panels = Panels(store, Shelf(x=market))
    opened = panels.open("x")
    factor = np.cumsum(np.ones(opened.seen.shape), axis=1)
    for horizon in range(1, MAX_EVALUATORS + 3):
        assert panels.evidence(opened, factor, horizon, "close_t1")["horizon"] == horizon
    assert len(panels._evaluators) == MAX_EVALUATORS
    kept = panels._evaluators[next(iter(panels._evaluators))]
    panels.evidence(opened, factor, kept.horizon, "close_t1")
    assert list(panels._evaluators.values())[-1] is kept
