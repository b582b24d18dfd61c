"""Sound tables: layouts, spellings and formats that are read."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import DataInvalid, Panel
from alphaswarm.data import load_table

LONG = """date,symbol,close,volume,sector
2012-01-04,B,20.5,200,Tech
2012-01-03,A,10,100,Energy
2012-01-04,A,11,,Energy
2012-01-05,A,12,120,Energy
"""


@pytest.fixture
def long(tmp_path: Path) -> Path:
    path = tmp_path / "prices.csv"
    path.write_text(LONG)
    return path


def test_long(long: Path) -> None:
    panel = load_table(long)
    nan = np.nan
    assert panel.symbols == ("A", "B")
    assert [str(day)[:10] for day in panel.dates] == ["2012-01-03", "2012-01-04", "2012-01-05"]
    np.testing.assert_array_equal(panel["close"], [[10, nan], [11, 20.5], [12, nan]])
    np.testing.assert_array_equal(panel["volume"], [[100, nan], [nan, 200], [120, nan]])
    np.testing.assert_array_equal(panel["dollar_volume"], [[1000, nan], [nan, 4100], [1440, nan]])
    np.testing.assert_array_equal(panel["returns"], [[nan, nan], [11 / 10 - 1, nan], [12 / 11 - 1, nan]])
    np.testing.assert_array_equal(panel.universe, [[True, False], [True, True], [True, False]])
    assert panel.groups["sector"].tolist() == [["Energy", "Tech"]] * 3
    assert panel.meta["name"] == "prices.csv"
    assert panel.meta["adjusted"] is None


def test_wide(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("Date,LOW,000001\n2012-01-04,2,\n2012-01-03,1,10\n")
    panel = load_table(path)
    assert panel.symbols == ("000001", "LOW")
    np.testing.assert_array_equal(panel["close"], [[10, 1], [np.nan, 2]])
    assert load_table(path, field="cap")["cap"].tolist()[0] == [10, 1]
    with pytest.raises(DataInvalid, match=r"wide\.csv: .*label"):
        load_table(path, field="fwd_returns")


def test_labels_that_change_are_kept_by_day(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("date,symbol,close,industry\n2012-01-03,A,1,old\n2012-01-04,A,1,\n2012-01-05,A,1,new\n")
    assert load_table(path).groups["industry"].tolist() == [["old"], [""], ["new"]]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + LONG,  # Excel's byte-order mark
        LONG.replace("\n", "\r\n"),
        LONG.replace("\n", "\r"),
        LONG + "\n\n",
        LONG.replace("date,symbol", "Date,Ticker").replace("close", "Close").replace("volume", " Volume "),
        LONG.replace("2012-01-0", "2012010"),
        LONG.replace("10,100", "+1.0e1,1E2"),
        LONG.replace("11,,", "11,NaN,"),
        LONG.replace("11,,", "11, n/a ,"),
        LONG.replace(",A,", ', "A",').replace(', "A"', ',"A"'),
        "\n".join([LONG.splitlines()[0], *sorted(LONG.splitlines()[1:])]),
    ],
)
def test_spellings(long: Path, tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.csv"
    path.write_bytes(text.encode())
    assert load_table(path).digest == load_table(long).digest


def test_formats_agree(long: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(long)
    frame["date"] = pd.to_datetime(frame["date"])
    packed, parquet, text = tmp_path / "p.csv.gz", tmp_path / "p.parquet", tmp_path / "text.parquet"
    packed.write_bytes(gzip.compress(LONG[:40].encode()) + gzip.compress(LONG[40:].encode()))
    frame.to_parquet(parquet)
    frame.astype("str").replace("nan", None).astype({"sector": "category"}).to_parquet(text)
    digests = {load_table(path).digest for path in (long, packed, parquet, text)}
    assert len(digests) == 1


@pytest.mark.parametrize("symbols", [["000001", "600000"], ["NA", "NULL"], ["TRUE", "1e5"], ["BRK.B", "Ä"]])
def test_symbols_stay_text(tmp_path: Path, symbols: list[str]) -> None:
    path = tmp_path / "p.csv"
    path.write_text("date,symbol,close\n" + "".join(f"2012-01-03,{symbol},1\n" for symbol in symbols))
    assert load_table(path).symbols == tuple(sorted(symbols))


def test_whole_numbers_as_symbols_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pd.DataFrame({"date": ["2012-01-03"] * 2, "symbol": [7, 12], "close": [1.0, 2.0]}).to_parquet(path)
    assert load_table(path).symbols == ("12", "7")


def test_times_keep_their_wall_clock(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("date,symbol,close\n2012-01-03T16:00:00-05:00,A,1\n2012-01-04 16:00-0500,A,2\n")
    panel = load_table(path)
    assert [str(day)[:19] for day in panel.dates] == ["2012-01-03T16:00:00", "2012-01-04T16:00:00"]
    assert any("-0500" in caveat for caveat in panel.meta["caveats"])
    parquet = tmp_path / "p.parquet"
    moments = pd.to_datetime(["2012-01-03 21:00", "2012-01-04 21:00"], utc=True).tz_convert("America/New_York")
    pd.DataFrame({"date": moments, "symbol": "A", "close": [1.0, 2.0]}).to_parquet(parquet)
    assert load_table(parquet).digest == panel.digest


@pytest.mark.parametrize(
    ("freq", "rows", "periods"),
    [("B", 60, 252), ("D", 60, 365), ("W-FRI", 20, 52), ("ME", 20, 12), ("QE", 12, 4), ("YE", 6, 1), ("12h", 60, 730)],
)
def test_periods_per_year(tmp_path: Path, freq: str, rows: int, periods: int) -> None:
    path = tmp_path / "p.parquet"
    days = pd.date_range("2012-01-02", periods=rows, freq=freq)
    pd.DataFrame({"date": days, "symbol": "A", "close": 1.0}).to_parquet(path)
    assert load_table(path).meta["periods_per_year"] == periods


def test_pandas_index(tmp_path: Path) -> None:
    days = pd.to_datetime(["2012-01-03", "2012-01-04"])
    wide, numbered = tmp_path / "wide.parquet", tmp_path / "numbered.parquet"
    pd.DataFrame({"A": [1.0, 2.0]}, index=days).to_parquet(wide)
    pd.DataFrame({"date": days, "symbol": "A", "close": [1.0, 2.0]}, index=[7, 3]).to_parquet(numbered)
    assert load_table(wide).digest == load_table(numbered).digest


def test_a_table_without_leavers_is_called_biased(long: Path, tmp_path: Path) -> None:
    assert load_table(long).meta["survivorship_biased"] is None  # B leaves
    path = tmp_path / "p.csv"
    path.write_text("date,symbol,close\n2012-01-03,A,1\n2012-01-04,A,1\n")
    assert load_table(path).meta["survivorship_biased"] is True


def test_us500_through_a_file_is_the_same(us500: Panel, tmp_path: Path) -> None:
    rows, columns = np.nonzero(us500.universe)
    table = {name: values[rows, columns] for name, values in us500.fields.items() if name != "dollar_volume"}
    table |= {name: labels[rows, columns] for name, labels in us500.groups.items()}
    frame = pd.DataFrame({"date": us500.dates[rows], "symbol": np.array(us500.symbols)[columns], **table})
    frame.sample(frac=1, random_state=3).to_parquet(tmp_path / "p.parquet")
    assert load_table(tmp_path / "p.parquet").digest == us500.digest


@settings(max_examples=40, deadline=None)
@given(
    values=st.dictionaries(
        st.tuples(st.integers(0, 400), st.sampled_from("ABCDE")),
        st.tuples(st.floats(1e-3, 1e6), st.floats(0, 1e9)),
        min_size=1,
        max_size=30,
    ),
    parquet=st.booleans(),
)
def test_every_value_arrives(values: dict, parquet: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("load") / ("p.parquet" if parquet else "p.csv")
    day = np.datetime64("2012-01-01")
    rows = [(str(day + number), symbol, *pair) for (number, symbol), pair in values.items()]
    frame = pd.DataFrame(rows, columns=["date", "symbol", "close", "volume"])
    if parquet:
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False)
    panel = load_table(path)
    assert int(panel.universe.sum()) == len(values)
    for (number, symbol), (close, volume) in values.items():
        row = int(np.flatnonzero(panel.dates == day + number)[0])
        column = panel.symbols.index(symbol)
        assert panel["close"][row, column] == close
        assert panel["volume"][row, column] == volume
