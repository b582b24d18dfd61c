"""Later bars for a panel."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import DataInvalid, Panel, UnknownName
from alphaswarm.data import Catalog, load_table
from alphaswarm.data.append import append_bars

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A CSV file from its lines."""

    def make(*lines: str, name: str = "later.csv") -> Path:
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n")
        return path

    return make


@pytest.fixture
def loaded(write: Write) -> Panel:
    """Three days of A and B with a sector, from a file."""
    return load_table(
        write(
            "date,symbol,close,volume,sector",
            "2020-01-01,A,10,5,x",
            "2020-01-01,B,20,5,y",
            "2020-01-02,A,11,5,x",
            "2020-01-02,B,20,5,y",
            "2020-01-03,A,12,5,x",
            "2020-01-03,B,25,5,y",
            name="first.csv",
        )
    )


@pytest.fixture
def indexed() -> Panel:
    """What us431 is like: close is the cumulated return, a zero volume is missing."""
    returns = np.array([[np.nan, np.nan], [0.1, -0.1], [0.02, 0.03]])
    close = np.cumprod(1 + np.nan_to_num(returns), axis=0)
    fields = {"returns": returns, "close": close, "dollar_volume": np.full((3, 2), 9.0)}
    return Panel.from_arrays(fields, ["2020-01-01", "2020-01-02", "2020-01-03"], ["A", "B"], meta={"name": "indexed"})


def test_what_was_there_stays_to_the_last_bit(loaded: Panel, write: Write) -> None:
    longer = append_bars(
        loaded, write("symbol,date,volume,close", "B,2020-01-07,2,20", "A,2020-01-06,4,18", "B,2020-01-06,4,30")
    )
    old = longer.head(3)
    assert old.digest == loaded.digest
    assert longer.digest != loaded.digest
    assert longer.symbols == loaded.symbols
    assert [str(day)[:10] for day in longer.dates[3:]] == ["2020-01-06", "2020-01-07"]
    assert np.array_equal(longer["close"][3:], [[18.0, 30.0], [np.nan, 20.0]], equal_nan=True)
    assert np.allclose(longer["returns"][3:], [[0.5, 0.2], [np.nan, -1 / 3]], equal_nan=True)
    assert np.array_equal(longer["dollar_volume"][3:], [[72.0, 120.0], [np.nan, 40.0]], equal_nan=True)
    assert longer.universe[3:].tolist() == [[True, True], [False, True]]
    assert longer.groups["sector"].tolist() == [["x", "y"]] * 5
    assert longer.groups["sector"].strides[0] == 0
    assert longer.meta["caveats"][-1] == "appended: the rows from 2020-01-06 to 2020-01-07"
    assert {**longer.meta, "caveats": ()} == {**loaded.meta, "caveats": ()}


def test_a_panel_in_two_parts_is_the_panel_in_one(write: Write) -> None:
    lines = [
        f"2020-01-{day:02d},{symbol},{10 + day * rank},{100 + day}"
        for day in range(1, 21)
        for rank, symbol in enumerate("ABC")
    ]
    head = "date,symbol,close,volume"
    whole = load_table(write(head, *lines, name="whole.csv"))
    panel = load_table(write(head, *lines[:30], name="one.csv"))
    panel = append_bars(panel, write(head, *lines[30:42], name="two.csv"))
    panel = append_bars(panel, write(head, *lines[42:], name="three.csv"))
    assert panel.digest == whole.digest


def test_closes_follow_from_returns(indexed: Panel, write: Write) -> None:
    path = write("date,symbol,returns,dollar_volume", "2020-01-06,A,0.5,3", "2020-01-06,B,-0.5,0", "2020-01-07,A,0.1,3")
    longer = append_bars(indexed, path, zero_is_missing=frozenset({"dollar_volume"}))
    assert longer.head(3).digest == indexed.digest
    a, b = indexed["close"][-1]
    assert np.allclose(longer["close"][3:], [[a * 1.5, b * 0.5], [a * 1.5 * 1.1, np.nan]], rtol=1e-15, equal_nan=True)
    assert np.array_equal(longer["dollar_volume"][3:], [[3.0, np.nan], [3.0, np.nan]], equal_nan=True)
    assert longer.universe[3:].tolist() == [[True, True], [True, False]]


def test_closes_that_continue_the_panel_may_be_given(indexed: Panel, write: Write) -> None:
    a, b = indexed["close"][-1] * [1.5, 0.5]
    rows = [f"2020-01-06,A,{a},0.5,3", f"2020-01-06,B,{b},-0.5,3"]
    longer = append_bars(indexed, write("date,symbol,close,returns,dollar_volume", *rows))
    assert np.array_equal(longer["close"][3], [a, b])
    raw = write("date,symbol,close,returns,dollar_volume", "2020-01-06,A,115.8,0.5,3", rows[1])
    with pytest.raises(DataInvalid, match=r"later.csv: close and returns must agree.*return of 0.5 meets"):
        append_bars(indexed, raw)


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        (["date,symbol,close,volume", "2020-01-03,A,10,5"], "a day after the panel's last, 2020-01-03, got 2020-01-03"),
        (["date,symbol,close,volume", "2020-01-03 16:00,A,10,5"], "got 2020-01-03"),
        (["date,symbol,close,volume", "2020-01-06,A,10,5", "2019-01-06,A,10,5"], "got 2019-01-06"),
        (
            ["date,symbol,close,volume", "2020-01-06,C,10,5", "2020-01-06,A,10,5"],
            "one of the panel's 2, got 1 others: 'C'",
        ),
        (["date,symbol,close", "2020-01-06,A,10"], "missing dollar_volume, volume"),
        (
            ["date,symbol,volume", "2020-01-06,A,10"],
            r"missing close, dollar_volume, returns \(one of close and returns",
        ),
        (["date,symbol,close,volume,cap", "2020-01-06,A,10,5,5"], "no fields but the panel's .*, got 'cap'"),
        (["date,symbol,close,volume", "2020-01-06,A,10,5", "2020-01-06,A,11,5"], "conflicting duplicate"),
        (["date,symbol,close,volume", "2020-01-06,A,10,5", "2020-01-06,A,10,5"], "identical duplicate"),
        (["date,symbol,close,volume", "2020-01-06,A,-1,5"], "a price must be above 0"),
        (["date,symbol,close,volume", "2020-01-06T16:00Z,A,10,5"], r"zone of the panel's times \(none\), got Z"),
        (["date,A,B", "2020-01-06,10,20"], "missing dollar_volume, volume"),
    ],
)
def test_what_is_refused(loaded: Panel, write: Write, lines: list[str], rule: str) -> None:
    with pytest.raises(DataInvalid, match=rf"^later\.csv.*{rule}"):
        append_bars(loaded, write(*lines))


def test_labels_that_change_have_to_go_on(loaded: Panel, write: Write) -> None:
    head = "date,symbol,close,volume,sector"
    moved = append_bars(loaded, write(head, "2020-01-06,A,10,5,z", "2020-01-06,B,10,5,"))
    assert moved.groups["sector"].tolist() == [["x", "y"]] * 3 + [["z", "y"]]
    assert moved.head(3).digest == loaded.digest
    again = append_bars(moved, write(head, "2020-01-07,A,10,5,", "2020-01-07,B,10,5,x"))
    assert again.groups["sector"][4].tolist() == ["", "x"]
    with pytest.raises(DataInvalid, match="missing sector, whose labels change with time"):
        append_bars(moved, write("date,symbol,close,volume", "2020-01-07,A,10,5"))


def test_the_name_stands_for_the_longer_panel(tmp_path: Path, loaded: Panel, write: Write) -> None:
    catalog = Catalog(home=tmp_path / "home", imported=tmp_path / "panels")
    catalog.add("mine", loaded)
    before = (catalog.imported / "mine.npz").read_bytes()
    bad = write("date,symbol,close,volume", "2020-01-06,A,10,5", "2020-01-06,A,10,5")
    with pytest.raises(DataInvalid):
        catalog.append("mine", bad)
    assert (catalog.imported / "mine.npz").read_bytes() == before
    panel = catalog.append("mine", write("date,symbol,close,volume", "2020-01-06,A,10,5"))
    assert catalog.open("mine").digest == panel.digest
    assert (catalog.describe("mine").rows, catalog.describe("mine").end) == (4, "2020-01-06")
    assert catalog.open("mine").meta["name"] == "mine"
    with pytest.raises(DataInvalid, match="a day after the panel's last, 2020-01-06"):
        catalog.append("mine", write("date,symbol,close,volume", "2020-01-06,B,10,5"))
    with pytest.raises(UnknownName, match="unknown panel 'other'"):
        catalog.append("other", bad)


def test_a_built_in_panel_is_continued_here_only(tmp_path: Path, us500: Panel, write: Write) -> None:
    here, there = (Catalog(home=tmp_path / "home", imported=tmp_path / name) for name in ("here", "there"))
    symbols = us500.symbols[:2]
    rows = [f"2010-08-23,{name},10,10,10,10,5" for name in symbols]
    panel = here.append("us500", write("date,symbol,open,high,low,close,volume", *rows))
    assert panel.shape == (us500.shape[0] + 1, us500.shape[1])
    assert panel.head(us500.shape[0]).digest == us500.digest
    assert here.open("us500").digest == panel.digest
    info = here.describe("us500")
    assert (info.rows, info.end, info.digest) == (246, "2010-08-23", panel.digest)
    assert here.names() == there.names()
    assert there.open("us500").digest == us500.digest
    assert there.describe("us500").rows == 245
    longer = here.append("us500", write("date,symbol,open,high,low,close,volume", f"2010-08-24,{symbols[0]},9,9,9,9,5"))
    assert here.open("us500").digest == longer.digest


def test_a_planted_continuation_is_refused(tmp_path: Path, us500: Panel) -> None:
    catalog = Catalog(home=tmp_path / "home", imported=tmp_path / "panels")
    catalog.add("mine", us500.head(200))
    (catalog.imported / "mine.npz").rename(catalog.imported / "us500.appended.npz")
    with pytest.raises(DataInvalid, match=re.escape("us500.appended.npz must begin with all of us500")):
        catalog.open("us500")


def test_two_at_once_leave_the_bars_of_both(tmp_path: Path, loaded: Panel, write: Write) -> None:
    catalog = Catalog(home=tmp_path / "home", imported=tmp_path / "panels")
    catalog.add("mine", loaded)
    files = [write("date,symbol,close,volume", f"2020-01-{day:02d},A,10,5", name=f"{day}.csv") for day in (6, 7, 8)]

    def append(path: Path) -> int:
        try:
            catalog.append("mine", path)
        except DataInvalid:  # a later day came first
            return 0
        return 1

    with ThreadPoolExecutor(3) as pool:
        done = sum(pool.map(append, files))
    assert catalog.open("mine").shape[0] == 3 + done
    assert done >= 1


@pytest.mark.net
def test_us431_goes_on_by_its_own_rules(us431: Panel, us431_catalog: Catalog, tmp_path: Path, write: Write) -> None:
    catalog = Catalog(home=us431_catalog.home, imported=tmp_path / "panels")
    rows = [f"2017-01-03,{name},0.01,{0 if name == 'AAPL' else 1e6},0.01" for name in us431.symbols]
    panel = catalog.append("us431", write("date,symbol,returns,dollar_volume,sigma", *rows))
    assert panel.head(2518).digest == us431.digest
    assert np.allclose(panel["close"][-1], us431["close"][-1] * 1.01, rtol=1e-15)
    assert np.isnan(panel["dollar_volume"][-1]).sum() == 1
    assert catalog.open("us431").shape == (2519, 431)
    assert us431_catalog.open("us431").digest == us431.digest
