"""Files to columns: formats that are read, files that are refused before they can do harm."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alphaswarm.core import DataInvalid
from alphaswarm.data import table
from alphaswarm.data.table import read_table

CSV = b"date,symbol,close\n2012-01-03,A,1\n2012-01-04,A,2\n"


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def columns_of(path: Path) -> dict[str, list[object]]:
    return {name: column.to_pylist() for name, column in read_table(path).columns.items()}


def test_csv_values_stay_text(tmp_path: Path) -> None:
    found = read_table(written(tmp_path / "p.CSV", b"date, symbol ,close\n2012-01-03,000001,1.50\n2012-01-04,NA,\n"))
    assert (found.file, found.rows, found.first_row) == ("p.CSV", 2, 2)
    assert {name: column.to_pylist() for name, column in found.columns.items()} == {
        "date": ["2012-01-03", "2012-01-04"],
        "symbol": ["000001", "NA"],
        "close": ["1.50", ""],
    }


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf" + CSV,
        CSV.replace(b"\n", b"\r\n"),
        CSV.replace(b"\n", b"\r"),
        CSV + b"\n\n",
        CSV.replace(b",A,", b',"A",'),
        b'"date","symbol","close"\n' + CSV.split(b"\n", 1)[1],
    ],
)
def test_spellings_of_one_table(tmp_path: Path, data: bytes) -> None:
    assert columns_of(written(tmp_path / "p.csv", data)) == columns_of(written(tmp_path / "sound.csv", CSV))


def test_gzip_members_may_follow_one_another(tmp_path: Path) -> None:
    packed = gzip.compress(CSV[:25]) + gzip.compress(CSV[25:])
    assert columns_of(written(tmp_path / "p.csv.gz", packed)) == columns_of(written(tmp_path / "p.csv", CSV))


def test_parquet_keeps_its_types_and_counts_rows_from_one(tmp_path: Path) -> None:
    pq.write_table(pa.table({"date": ["2012-01-03"], "close": [1.5]}), tmp_path / "p.parquet")
    found = read_table(tmp_path / "p.parquet")
    assert (found.rows, found.first_row) == (1, 1)
    assert found.columns["close"].to_pylist() == [1.5]


def test_an_index_that_pandas_wrote_is_a_date_column_or_nothing(tmp_path: Path) -> None:
    days = pd.to_datetime(["2012-01-03", "2012-01-04"])
    pd.DataFrame({"A": [1.0, 2.0]}, index=days).to_parquet(tmp_path / "wide.parquet")
    pd.DataFrame({"date": days, "close": [1.0, 2.0]}, index=[7, 3]).to_parquet(tmp_path / "long.parquet")
    assert list(read_table(tmp_path / "wide.parquet").columns) == ["date", "A"]
    assert list(read_table(tmp_path / "long.parquet").columns) == ["date", "close"]


def test_a_fault_names_file_row_column_rule_and_value(tmp_path: Path) -> None:
    found = read_table(written(tmp_path / "p.csv", CSV))
    told = str(found.fault("must be a number", row=1, column="close", got="x\x1b" + "y" * 50))
    assert told == "p.csv: row 3, column 'close': must be a number, got 'x\\x1b" + "y" * 38 + "...'"
    assert str(found.fault("must hold rows")) == "p.csv: must hold rows"


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"date;symbol;close\n2012-01-03;A;1\n", "row 1 'date;symbol;close': columns must be separated by commas"),
        (b"date,symbol,close\n2012-01-03,A,1\n2012-01-04,A\n", "row 3: must have 3 values like the header, got 2"),
        (b"date,symbol,close\n2012-01-03,A,1,000\n", "row 2: must have 3 values like the header, got 4"),
        (b"date,symbol,close,close\n2012-01-03,A,1,2\n", "column 4: column names must be distinct, got 'close' twice"),
        (b",date,symbol,close\n0,2012-01-03,A,1\n", "column 1: every column must have a name; write tables without"),
        (b"date,,close\n2012-01-03,A,1\n", "column 2: every column must have a name"),
        (b"date,symbol,close\n2012-01-03,\xff,1\n", "row 2: must be UTF-8"),
        ("date,symbol,close\n2012-01-03,A,1\n".encode("utf-16"), "row 1: must be UTF-8"),
        (b"date,symbol,close\n2012-01-03,A,1\n2012-01-04,A,1\x00\n", "row 3: must be text, got a null byte"),
        (b'date,symbol,close\n2012-01-03,"A,1\n2012-01-04,A,1\n', "row 2: must have 3 values"),
        (b'"date,symbol,close\n2012-01-03,A,1\n', "row 1: the header must be one line"),
        (b"date,symbol,close\n", "has a header and no rows"),
        (b"\n\n", "is empty"),
        (b"", "is empty"),
        (b"date," + b",".join(b"S%d" % n for n in range(20_001)) + b"\n", "at most 20000 columns, got 20002"),
    ],
)
def test_bad_text(tmp_path: Path, data: bytes, rule: str) -> None:
    with pytest.raises(DataInvalid, match=rf"^p\.csv: .*{re.escape(rule)}"):
        read_table(written(tmp_path / "p.csv", data))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["p.csv.gz", "p.parquet"])
def test_truncated(tmp_path: Path, name: str, share: float) -> None:
    path = tmp_path / name
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(CSV))
    else:
        pq.write_table(pa.table({"date": ["2012-01-03"] * 50, "close": np.arange(50.0)}), path)
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(DataInvalid, match=rf"^{re.escape(name)}: .*truncated"):
        read_table(path)


def test_parquet_without_rows(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"date": pa.array([], pa.string()), "close": pa.array([], pa.float64())}), tmp_path / "p.parquet"
    )
    with pytest.raises(DataInvalid, match=r"^p\.parquet: has a header and no rows"):
        read_table(tmp_path / "p.parquet")


def test_gzip_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacked a piece at a time: it is refused long before all of it is in memory."""
    monkeypatch.setattr(table, "RATIO_FREE_BYTES", 2 << 20)
    path = written(tmp_path / "p.csv.gz", gzip.compress(b"date,symbol,close\n" + b"0" * (8 << 20), 9))
    assert path.stat().st_size * table.MAX_RATIO < 2 << 20
    with pytest.raises(DataInvalid, match=r"unpacks to more than [23] MiB; refused as a compression bomb"):
        read_table(path)


def test_below_a_size_any_ratio_is_free(tmp_path: Path) -> None:
    body = b"date,symbol,close\n" + b"2012-01-03,A,1\n" * 20_000
    packed = gzip.compress(body, 9)
    assert len(body) > table.MAX_RATIO * len(packed)
    assert read_table(written(tmp_path / "p.csv.gz", packed)).rows == 20_000


def test_a_bomb_inside_a_bomb_does_not_matter(tmp_path: Path) -> None:
    packed = gzip.compress(gzip.compress(b"0" * (4 << 20)))
    with pytest.raises(DataInvalid, match=r"^p\.csv\.gz: row 1: must be UTF-8"):
        read_table(written(tmp_path / "p.csv.gz", packed))


def test_parquet_bomb_of_repeated_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes stand for more cells than are read; the metadata alone says so."""
    monkeypatch.setattr(table, "MAX_CELLS", 1_000_000)
    path, rows = tmp_path / "p.parquet", 100_000
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array(["A"]))
    chunk = pa.table({"date": repeated, "symbol": repeated, "close": pa.array(np.ones(rows))})
    with pq.ParquetWriter(path, chunk.schema) as writer:
        for _ in range(4):
            writer.write_table(chunk)
    assert path.stat().st_size < 20_000
    with pytest.raises(DataInvalid, match="at most 1,000,000 values, got 400,000 rows x 3 columns"):
        read_table(path)


def test_parquet_bomb_of_one_value_is_refused_before_it_is_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, path = 1_000_000, tmp_path / "p.parquet"
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["A" * 30]))
    days = pa.array(np.full(rows, 18_000, np.int32)).cast(pa.date32())
    pq.write_table(pa.table({"date": days, "symbol": repeated, "close": np.ones(rows)}), path, compression="zstd")
    assert read_table(path).rows == rows, "below the size that is free"
    monkeypatch.setattr(table, "RATIO_FREE_BYTES", 8 << 20)
    assert path.stat().st_size * table.MAX_RATIO < 8 << 20
    monkeypatch.setattr(pq.ParquetFile, "read", lambda *_: pytest.fail("decoded"))
    with pytest.raises(DataInvalid, match=r"^p\.parquet: decodes to 15 MiB, of at most 8; refused as a"):
        read_table(path)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_parquet_bomb_of_one_long_text(tmp_path: Path, kind: pa.DataType) -> None:
    """A megabyte of text, once in the file and once in memory, however many rows have it."""
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["A" * (1 << 20)]))
    column = text if pa.types.is_dictionary(kind) else pa.array(["A" * (1 << 20)] * 80, kind)
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"date": column, "close": np.ones(len(column))}), path, compression="zstd")
    before = pa.total_allocated_bytes()
    with pytest.raises(DataInvalid, match=r"decodes to \d+ MiB, of at most 64; refused as a compression bomb"):
        read_table(path)
    assert pa.total_allocated_bytes() - before < 16 << 20  # of the 80 that it holds; readers keep some of their own


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.struct({"a": pa.float64()}), pa.binary()])
def test_parquet_columns_that_hold_no_plain_values(tmp_path: Path, kind: pa.DataType) -> None:
    pq.write_table(pa.table({"date": ["2012-01-03"], "close": pa.array([None], kind)}), tmp_path / "p.parquet")
    with pytest.raises(DataInvalid, match=r"^p\.parquet: column 'close': must hold numbers, dates or text, got "):
        read_table(tmp_path / "p.parquet")


def test_large_files_are_refused_before_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "MAX_BYTES", 2 << 20)
    with pytest.raises(DataInvalid, match="at most 2 MiB, got 3 MiB"):
        read_table(written(tmp_path / "p.csv", b"0" * (3 << 20)))


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("p.xlsx", "a panel is read from .csv, .csv.gz, .parquet"),
        ("no.csv", "there is no such file"),
        ("dir.csv", "there is no such file"),
        ("swapped.parquet", "is no sound Parquet file"),
        ("swapped.csv.gz", "is no sound gzip file"),
    ],
)
def test_what_is_no_table(tmp_path: Path, name: str, rule: str) -> None:
    if name == "dir.csv":
        (tmp_path / name).mkdir()
    elif name != "no.csv":
        (tmp_path / name).write_bytes(CSV)
    with pytest.raises(DataInvalid, match=rf"^{re.escape(name)}: {rule}"):
        read_table(tmp_path / name)


def test_what_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    path = written(tmp_path / "p.csv", CSV)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DataInvalid, match=r"^p\.csv: can't be read: Permission denied"):
        read_table(path)
