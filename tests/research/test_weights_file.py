"""Weights from a file: every cell in its place, or an error that names the row."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphaswarm.core import DataInvalid, Panel
from alphaswarm.research.weights_file import read_weights

DAYS = np.arange("2020-01-01", "2020-01-11", dtype="datetime64[D]")
NAMES = ("AA", "BB", "CC")
PANEL = Panel.from_arrays({"close": np.full((10, 3), 9.0)}, DAYS, NAMES)
WINDOW = slice(2, 8)


def read(path: Path, text: str) -> np.ndarray:
    path.write_text(text)
    return read_weights(path, PANEL, WINDOW).weights


def test_long_and_wide_say_the_same(tmp_path: Path) -> None:
    long = "date,symbol,weight\n2020-01-05,CC,-0.25\n2020-01-03,AA,0.5\n2020-01-03,BB,0.25\n"
    wide = "Date,BB,AA,CC\n2020-01-03,0.25,0.5,0\n2020-01-05,0,0,-0.25\n"
    weights = read(tmp_path / "a.csv", long)
    np.testing.assert_array_equal(weights[2], [0.5, 0.25, 0.0])
    np.testing.assert_array_equal(weights[4], [0.0, 0.0, -0.25])
    assert np.isnan(np.delete(weights, [2, 4], axis=0)).all()
    np.testing.assert_array_equal(read(tmp_path / "b.csv", wide), weights)
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(long.encode()))
    columns = {
        "date": DAYS[[4, 2, 2]].astype("datetime64[s]"),
        "ticker": ["CC", "AA", "BB"],
        "weight": [-0.25, 0.5, 0.25],
    }
    pq.write_table(pa.table(columns), tmp_path / "d.parquet")
    found = [read_weights(tmp_path / name, PANEL, WINDOW) for name in ("a.csv", "b.csv", "c.csv.gz", "d.parquet")]
    assert len({one.digest for one in found}) == 1


@given(st.lists(st.tuples(st.sampled_from(range(2, 8)), st.sampled_from(NAMES), st.floats(-1, 1)), min_size=1))
def test_the_order_of_rows_says_nothing(tmp_path_factory: pytest.TempPathFactory, rows: list) -> None:
    path = tmp_path_factory.mktemp("weights") / "w.csv"
    held = {(day, name): weight for day, name, weight in rows}
    lines = [f"{DAYS[day]},{name},{weight!r}" for (day, name), weight in held.items()]
    path.write_text("\n".join(["date,symbol,weight", *lines]) + "\n")
    first = read_weights(path, PANEL, WINDOW)
    path.write_text("\n".join(["date,symbol,weight", *reversed(lines)]) + "\n")
    second = read_weights(path, PANEL, WINDOW)
    assert first.digest == second.digest
    for (day, name), weight in held.items():
        assert first.weights[day, NAMES.index(name)] == weight


def test_days_match_a_panel_that_is_stamped_with_the_close(tmp_path: Path) -> None:
    stamped = Panel.from_arrays({"close": np.full((10, 3), 9.0)}, DAYS + np.timedelta64(16 * 60, "m"), NAMES)
    (tmp_path / "w.csv").write_text("date,AA\n2020-01-04,0.5\n")
    assert read_weights(tmp_path / "w.csv", stamped, WINDOW).weights[3, 0] == 0.5
    (tmp_path / "w.csv").write_text("date,AA\n2020-01-04 16:00,0.5\n")
    assert read_weights(tmp_path / "w.csv", stamped, WINDOW).weights[3, 0] == 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "date,symbol,weight\n2020-01-03,AA,1\n2020-01-03,AAA,1\n",
            r"row 3, column 'symbol'.*\(did you mean 'AA'\?\).*'AAA'",
        ),
        ("date,AA,DD\n2020-01-03,1,1\n", r"column 'DD'.*one of the panel's 3"),
        ("date,symbol,weight\n2020-01-03,AA,1\n2020-01-02,AA,1\n", r"row 3, column 'date'.*2020-01-03 to 2020-01-08"),
        ("date,symbol,weight\n2020-01-03,AA,1\n2020-01-09,AA,1\n", r"row 3, column 'date'.*may be looked at"),
        ("date,AA\n2020-01-03,1\n2030-01-01,1\n", r"row 3, column 'date'"),
        (
            "date,symbol,weight\n2020-01-03,AA,1\n2020-01-04,AA,1\n2020-01-03,AA,1\n",
            r"row 4.*2020-01-03 AA must occur once; row 2",
        ),
        ("date,AA\n2020-01-03,1\n2020-01-03,1\n", r"row 3.*2020-01-03 must occur once; row 2 has it too"),
        ("date,symbol,weight\n2020-01-03,AA,1\n2020-01-03,BB,\n", r"row 3, column 'weight'.*must not be missing"),
        ("date,AA,BB\n2020-01-03,1,nan\n", r"row 2, column 'BB'|at least one number"),
        ("date,AA\n2020-01-03,inf\n", r"row 2, column 'AA'.*finite"),
        ("date,AA\n2020-01-03,much\n", r"row 2, column 'AA'.*number"),
        ("day,AA\n2020-01-03,1\n", "must have a column 'date'"),
        ("date,symbol,size\n2020-01-03,AA,1\n", "must have the columns date, symbol and weight"),
        ("date,symbol,weight,note\n2020-01-03,AA,1,1\n", "must have the columns date, symbol and weight"),
        ("date,symbol,weight\nsoon,AA,1\n", r"row 2, column 'date'"),
        ("", "is empty"),
    ],
)
def test_faults_name_their_row(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataInvalid, match=rf"w\.csv: .*{message}|w\.csv: ({message})"):
        read(tmp_path / "w.csv", text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataInvalid, match="no such file"):
        read_weights(tmp_path / "none.csv", PANEL, WINDOW)
