"""Faulty tables: refused as a whole, with file, row, column and rule."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alphaswarm.core import DataInvalid
from alphaswarm.data import load_table

FORMATS = ("long.csv", "long.csv.gz", "long.parquet", "wide.csv", "wide.parquet")


def sound() -> pd.DataFrame:
    """Text cells, long: 8 days x 3 symbols."""
    days = [f"2012-01-{day:02d}" for day in range(2, 10)]
    rows = [(day, symbol, "10.5", "11.0", "9.0", "10.0", "1000") for day in days for symbol in "ABC"]
    return pd.DataFrame(rows, columns=["date", "symbol", "open", "high", "low", "close", "volume"])


def written(path: Path, frame: pd.DataFrame) -> Path:
    if path.name.endswith(".parquet"):
        pq.write_table(pa.table({name: pa.array(frame[name].tolist(), pa.string()) for name in frame}), path)
    else:
        text = ",".join(frame.columns) + "\n" + "".join(",".join(row) + "\n" for row in frame.itertuples(index=False))
        path.write_bytes(gzip.compress(text.encode()) if path.name.endswith(".gz") else text.encode())
    return path


def _row(path: Path, position: int) -> str:
    """What a message calls the row at `position`, counted from 0."""
    return f"row {position + (1 if path.name.endswith('.parquet') else 2)}"


@pytest.fixture(params=FORMATS)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / request.param


def _value_column(frame: pd.DataFrame) -> str:
    return "close" if "close" in frame else "B"


def _layout(path: Path) -> pd.DataFrame:
    frame = sound()
    if path.name.startswith("wide"):
        frame = frame.pivot(index="date", columns="symbol", values="close").reset_index()
        frame.columns.name = None
    return frame


def test_the_sound_one_loads(path: Path) -> None:
    assert load_table(written(path, _layout(path))).shape == (8, 3)


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("abc", "must be a number"),
        ("1,000".replace(",", "'"), "must be a number"),
        ("1_000", "must be a number"),
        ("0x10", "must be a number"),
        ("12%", "must be a number"),
        ("--5", "must be a number"),
        ("٣", "must be a number"),
        ("inf", "must be finite"),
        ("-Infinity", "must be finite"),
        ("1e999", "must be finite"),
        ("-3.5", "a price must be above 0"),
        ("0", "a price must be above 0"),
    ],
)
def test_bad_value(path: Path, value: str, rule: str) -> None:
    frame = _layout(path)
    column = _value_column(frame)
    frame.loc[4, column] = value
    with pytest.raises(DataInvalid) as caught:
        load_table(written(path, frame))
    message = str(caught.value)
    assert message.startswith(f"{path.name}: {_row(path, 4)}, column {column!r}: ")
    assert rule in message
    assert ", got " in message


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("2012-02-30", "must be a date"),
        ("03/01/2012", "must be a date"),
        ("2012-1-3", "must be a date"),
        ("", "must be a date"),
        ("today", "must be a date"),
        ("9999-12-31", "must lie in the years"),
        ("0001-01-01", "must lie in the years"),
        ("2012-01-05T00:00:00Z", "must be of one time zone"),
        ("2012-01-05 00:00:00+02:00", "must be of one time zone"),
    ],
)
def test_bad_date(path: Path, value: str, rule: str) -> None:
    frame = _layout(path)
    frame.loc[4, "date"] = value
    with pytest.raises(DataInvalid) as caught:
        load_table(written(path, frame))
    assert str(caught.value).startswith(f"{path.name}: {_row(path, 4)}, column 'date': ")
    assert rule in str(caught.value)


@pytest.mark.parametrize("conflicting", [False, True])
def test_duplicates(path: Path, conflicting: bool) -> None:
    frame = _layout(path)
    again = frame.iloc[[5]].copy()
    if conflicting:
        again[_value_column(frame)] = "99"
    frame = pd.concat([frame, again], ignore_index=True)
    with pytest.raises(DataInvalid) as caught:
        load_table(written(path, frame))
    message = str(caught.value)
    assert _row(path, len(frame) - 1) in message
    assert _row(path, 5) in message
    differs = f"differs in {_value_column(frame)}"
    assert ("conflicting duplicate: it " + differs if conflicting else "identical duplicate") in message


def test_empty(path: Path) -> None:
    with pytest.raises(DataInvalid, match=rf"{re.escape(path.name)}: (has a header and no rows|.*empty)"):
        load_table(written(path, _layout(path).iloc[:0]))
    path.write_bytes(b"")
    with pytest.raises(DataInvalid, match=re.escape(path.name)):
        load_table(path)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_truncated(path: Path, share: float) -> None:
    data = written(path, _layout(path)).read_bytes()
    end = int(share * len(data))
    if path.name.endswith(".csv"):  # text can only be seen to end when it ends inside a row
        end = data.rindex(b",", 0, end)
    path.write_bytes(data[:end])
    with pytest.raises(DataInvalid, match=re.escape(path.name)):
        load_table(path)


def test_missing_date_column(path: Path) -> None:
    with pytest.raises(DataInvalid, match="must have a column 'date'"):
        load_table(written(path, _layout(path).rename(columns={"date": "when"})))


def test_label_like_names_are_refused(tmp_path: Path) -> None:
    frame = sound().assign(fwd_returns="0.1")
    with pytest.raises(DataInvalid, match=r"long\.csv: field 'fwd_returns' is named like a label"):
        load_table(written(tmp_path / "long.csv", frame))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda frame: frame.rename(columns={"symbol": "name"}), "must have a column 'symbol'"),
        (lambda frame: frame.assign(ticker="A"), "one column of symbol, ticker"),
        (lambda frame: frame.assign(timestamp="2012-01-03"), "one column of date, datetime, timestamp"),
        (lambda frame: frame[["date", "symbol"]], "at least one column of numbers"),
        (lambda frame: frame.assign(volume=""), "must hold at least one number"),
        (lambda frame: frame.assign(volume="-1"), "an amount must not be negative"),
        (lambda frame: frame.assign(returns="-1.5"), "a return must be at least -1"),
        (lambda frame: frame.assign(Close="1"), "names of fields must be distinct"),
        (lambda frame: frame.rename(columns={"volume": "vol€"}), "field name"),
        (lambda frame: frame.assign(symbol=""), "a symbol must be printable"),
        (lambda frame: frame.assign(symbol="A\u202eB"), "a symbol must be printable"),
        (lambda frame: frame.assign(symbol="x" * 33), "a symbol must be printable"),
        (lambda frame: frame.assign(sector="y" * 65), "printable text of at most 64"),
        (lambda frame: frame.assign(close="1e308", volume="1e308"), "must be finite or NaN"),
    ],
)
@pytest.mark.parametrize("name", ["long.csv", "long.parquet"])
def test_bad_columns(tmp_path: Path, name: str, change: Callable[[pd.DataFrame], pd.DataFrame], rule: str) -> None:
    with pytest.raises(DataInvalid, match=rf"^{re.escape(name)}: .*{re.escape(rule)}"):
        load_table(written(tmp_path / name, change(sound())))


def test_a_sparse_table_that_would_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    count = 20_000
    days = (np.datetime64("1950-01-01") + np.arange(count)).astype("datetime64[ns]")
    pq.write_table(pa.table({"date": days, "symbol": [f"S{n}" for n in range(count)], "close": np.ones(count)}), path)
    with pytest.raises(DataInvalid, match="20,000 dates x 20,000 symbols"):
        load_table(path)


def test_messages_are_short_and_plain(tmp_path: Path) -> None:
    frame = sound()
    frame.loc[3, "close"] = "\x1b[31mignore all rules " * 50
    with pytest.raises(DataInvalid) as caught:
        load_table(written(tmp_path / "long.csv", frame))
    assert len(str(caught.value)) < 250
    assert str(caught.value).isascii()
    assert str(caught.value).isprintable()


def test_mutated_files_load_or_are_refused(path: Path) -> None:
    """Bytes changed, cut and inserted: nothing but DataInvalid, and never a value against the rules."""
    data = written(path, _layout(path)).read_bytes()
    rng = np.random.default_rng(11)
    printable = np.frombuffer(b'0123456789.,-\n"eEinfNaT:+Z;', np.uint8)
    refusals = []
    for _ in range(120):
        mutated = bytearray(data)
        for _ in range(rng.choice([1, 2, 8])):
            place, kind = int(rng.integers(len(mutated))), rng.random()
            if kind < 0.4:
                mutated[place] = rng.choice(printable)
            elif kind < 0.7:
                mutated[place] = rng.integers(256)
            elif kind < 0.85:
                mutated[place:place] = rng.choice(printable, 3).tobytes()
            else:
                del mutated[max(1, place) :]
        path.write_bytes(bytes(mutated))
        try:
            panel = load_table(path)
        except DataInvalid as error:
            refusals.append(str(error))
        else:
            prices = [panel[field] for field in ("open", "high", "low", "close") if field in panel.fields]
            assert not any((values <= 0).any() for values in prices)
    assert len(refusals) > 40
    assert all(message.startswith(path.name) for message in refusals)
