from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import func, select

from alphaswarm.core import EvidenceInvalid, FixedClock, Panel, Store
from alphaswarm.data import synthetic_market
from alphaswarm.evaluation import default_windows
from alphaswarm.research.lineage import Cells, Lineages, lineage_of, names_of
from alphaswarm.research.tables import lineages, selections, windows

FIRST = np.datetime64("2020-01-01", "D")


def panel(days: int = 40, names: int = 10, start: int = 0, symbols: str = "S", seed: int = 0) -> Panel:
    values = 1.0 + np.random.default_rng(seed).random((days, names))
    dates = FIRST + start + np.arange(days)
    return Panel.from_arrays({"close": values}, dates, [f"{symbols}{name}" for name in range(names)])


@pytest.fixture
def store(tmp_path: Path):
    store = Store(tmp_path / "s.db")
    yield store
    store.close()


@pytest.fixture
def settled(store: Store) -> Lineages:
    return Lineages(store, FixedClock())


def test_a_panel_is_its_own_lineage_until_its_data_are_known(settled: Lineages) -> None:
    first = panel()
    lineage, windows = settled.settle("first", first)
    assert (lineage, windows) == ("first", default_windows("first", first))
    copy = replace(first, meta={"name": "copy"})
    assert settled.settle("copy", copy) == ("first", windows)
    cleaned = panel(seed=5)  # other values of the same names and days
    assert settled.settle("cleaned", cleaned) == ("first", windows)
    assert settled.settle("elsewhere", panel(symbols="T"))[0] == "elsewhere"


@pytest.mark.parametrize(
    ("other", "lineage"),
    [
        (panel(start=19), "first"),  # 21 of its 40 days are known
        (panel(start=20), "other"),  # 20 of 40: not more than half
        (panel(days=79), "first"),
        (panel(days=80), "other"),
        (panel(names=19), "first"),
        (panel(names=20), "other"),
        (panel(days=10, names=2), "first"),
    ],
)
def test_more_than_half_of_the_cells_decide(settled: Lineages, other: Panel, lineage: str) -> None:
    windows = settled.settle("first", panel())[1]
    found, theirs = settled.settle("other", other)
    assert found == lineage
    assert (theirs == windows) == (lineage == "first" or theirs == default_windows("other", panel()))


def test_halves_of_two_panels_of_one_lineage_count_together(settled: Lineages) -> None:
    settled.settle("first", panel())
    assert settled.settle("more", panel(days=60))[0] == "first"
    assert settled.settle("later", panel(days=60, start=15))[0] == "first"  # 45 of 60, none of them in one panel alone


def test_only_data_that_are_there_count(settled: Lineages) -> None:
    settled.settle("first", panel())
    holes = np.where(np.arange(40)[:, None] < 21, np.nan, panel()["close"])
    days, symbols = panel().dates, panel().symbols
    assert Cells.of(Panel.from_arrays({"close": holes, "x": panel()["close"]}, days, symbols)).present.sum() == 190
    absent = np.arange(40)[:, None] < np.full(10, 38)
    outside = Panel.from_arrays({"close": panel()["close"]}, days, symbols, universe=absent)
    assert Cells.of(outside).present.sum() == 380
    without_close = Panel.from_arrays({"a": holes, "b": np.where(np.isnan(holes), 1.0, np.nan)}, days, symbols)
    assert Cells.of(without_close).present.all()


def test_the_time_of_day_is_no_disguise(settled: Lineages) -> None:
    settled.settle("first", panel())
    noon = replace(panel(), dates=panel().dates + np.timedelta64(12, "h"))
    assert settled.settle("noon", noon)[0] == "first"
    dates = np.sort(np.concatenate([panel().dates, noon.dates]))
    twice = Panel.from_arrays({"close": np.repeat(panel()["close"], 2, axis=0)}, dates, panel().symbols)
    assert settled.settle("twice", twice)[0] == "first"


def test_invented_markets_are_worlds_of_their_own(settled: Lineages) -> None:
    markets = [synthetic_market(kind, seed=seed, days=60, names=30) for kind, seed in (("null", 1), ("null", 2))]
    assert markets[0].symbols == markets[1].symbols
    assert [settled.settle(f"m{number}", market)[0] for number, market in enumerate(markets)] == ["m0", "m1"]
    assert settled.settle("again", markets[0])[0] == "m0"


def test_a_name_keeps_its_lineage(settled: Lineages, store: Store) -> None:
    windows = settled.settle("first", panel())[1]
    assert settled.settle("first", panel(days=90)) == ("first", windows)  # most of it is new
    assert settled.settle("first", panel(symbols="T")) == ("first", windows)
    assert settled.settle("copy", panel(days=90))[0] == "first"
    with store.read() as connection:
        assert [lineage_of(connection, name) for name in ("first", "copy", "unknown")] == ["first", "first", "unknown"]
        assert names_of(connection, "first") == ["copy", "first"]


def test_a_name_does_not_change_sides(settled: Lineages) -> None:
    settled.settle("first", panel())
    settled.settle("other", panel(symbols="T"))
    with pytest.raises(EvidenceInvalid, match="belongs to panel 'first', which has its own"):
        settled.settle("other", panel())
    assert settled.settle("other", panel(symbols="T"))[0] == "other"


def test_names_of_an_earlier_version(settled: Lineages, store: Store) -> None:
    one, same = panel(), panel(seed=1)
    with store.write() as connection:  # it kept windows by name and knew no lineages
        for name in ("one", "same"):
            fixed = default_windows(name, one)
            for window in (fixed.search, fixed.selection, fixed.vault):
                connection.execute(windows.insert().values(panel=name, **window.to_dict()))
        for window in (fixed := default_windows("far", panel(days=38))).search, fixed.selection, fixed.vault:
            connection.execute(windows.insert().values(panel="far", **window.to_dict()))
    assert settled.settle("one", one)[0] == "one"
    assert settled.settle("same", same)[0] == "one"  # its windows were the same: nothing sealed was looked at
    with pytest.raises(EvidenceInvalid, match="belongs to panel 'one'"):
        settled.settle("far", panel(days=38))


def test_too_few_days_leave_nothing_behind(settled: Lineages, store: Store) -> None:
    with pytest.raises(EvidenceInvalid, match="at least 5 days"):
        settled.settle("short", panel(days=4))
    with store.read() as connection:
        assert not connection.execute(select(func.count()).select_from(lineages)).scalar()


def test_rows_seen_under_another_name(settled: Lineages) -> None:
    settled.settle("first", panel(days=50))
    settled.settle("other", panel(days=200, start=30))  # its search window is days 30 to 149
    later = Cells.of(panel(days=60, start=50))
    assert settled.seen_elsewhere("first", later) == "other"
    assert settled.seen_elsewhere("other", later) is None
    assert settled.seen_elsewhere("first", Cells.of(panel(days=60, start=121))) is None


def test_rows_seen_in_parts_are_seen(settled: Lineages) -> None:
    whole = panel(days=100, names=9)
    settled.settle("whole", whole)
    for place in range(3):  # each holds a third of the names; days 40 to 159 are searched
        part = panel(days=200, names=9, start=40)
        names = list(part.symbols[3 * place : 3 * place + 3])
        settled.settle(f"part{place}", Panel.from_arrays({"close": np.ones((200, 3))}, part.dates, names))
        seen = settled.seen_elsewhere("whole", Cells.of(whole).between(FIRST + 60, FIRST + 79))
        assert seen == (None, "part0", "part0")[place]


@given(st.integers(0, 2**32 - 1))
def test_the_share_is_that_of_sets(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def draw() -> Cells:
        days, names = (np.flatnonzero(rng.random(8) < 0.7) for _ in range(2))
        symbols = rng.permutation(names).astype(str)
        return Cells(symbols, FIRST + days, rng.random((days.size, names.size)) < 0.7)

    def pairs(cells: Cells) -> set[tuple[str, object]]:
        return {(str(cells.symbols[name]), cells.days[day]) for day, name in np.argwhere(cells.present)}

    mine, others = draw(), [draw(), draw()]
    there = pairs(mine)
    expected = len(there & (pairs(others[0]) | pairs(others[1]))) / len(there) if there else 0.0
    assert mine.share_in(others) == expected
    again = Cells.parse(mine.columns())
    assert pairs(again) == there
    assert mine.share_in([again]) == (1.0 if there else 0.0)


def test_ten_years_of_a_thousand_names_are_quick(store: Store, settled: Lineages) -> None:
    big = panel(days=2_500, names=1_000)
    big.digest  # noqa: B018 - known already where a panel is opened
    start = time.perf_counter()
    settled.settle("big", big)
    settled.settle("copy", replace(big, meta={}))
    assert time.perf_counter() - start < 1.0


RACER = """
import sys
from pathlib import Path
import numpy as np
from alphaswarm.core import Panel, Store, SystemClock
from alphaswarm.research.lineage import Lineages
store, name, days = Store(sys.argv[1]), sys.argv[2], int(sys.argv[3])
panel = Panel.from_arrays({"close": np.ones((days, 5))}, np.datetime64("2020-01-01", "D") + np.arange(days), "ABCDE")
lineages = Lineages(store, SystemClock())
print("ready", flush=True)
sys.stdin.readline()
lineage, windows = lineages.settle(name, panel)
print(lineage, *[windows[role].to_dict() for role in ("search", "selection", "vault")])
"""


def test_of_two_first_uses_one_decides(tmp_path: Path) -> None:
    path = tmp_path / "race.db"
    Store(path).close()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(path), name, str(days)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, days in (("one", 100), ("two", 120))
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = {racer.communicate(timeout=60)[0] for racer in racers}
    assert len(said) == 1
    with (store := Store(path)).read() as connection:
        assert connection.execute(select(func.count()).select_from(windows)).scalar() == 3
        assert connection.execute(select(func.count()).select_from(selections)).scalar() == 1
        assert connection.execute(select(func.count()).select_from(lineages)).scalar() == 2
    store.close()


def test_another_spelling_of_the_symbols_is_the_same_data() -> None:
    upper, lower = panel(symbols="S"), panel(symbols="s")
    assert Cells.of(lower).share_in([Cells.of(upper)]) == 1.0
