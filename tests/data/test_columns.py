"""One column of a table: what each cell becomes, and where a fault is said to be."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np
import pyarrow as pa
import pytest

from alphaswarm.core import DataInvalid
from alphaswarm.data.columns import RULES, check_symbol, read_dates, read_numbers, read_symbols, read_texts
from alphaswarm.data.table import Table

NAN = np.nan


def one_column(values: Sequence[object], kind: pa.DataType | None = None) -> Table:
    """A table whose only column is `x`; its first row is called row 2, as in a CSV file."""
    return Table("t.csv", MappingProxyType({"x": pa.chunked_array([pa.array(values, kind)])}), len(values), 2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10.0),
        (" -2.5 ", -2.5),
        ("+1.0e1", 10.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("1E-3", 0.001),
        ("", NAN),
        ("NaN", NAN),
        ("n/a", NAN),
        ("NULL", NAN),
        (" None ", NAN),
    ],
)
def test_text_as_numbers(text: str, value: float) -> None:
    np.testing.assert_array_equal(read_numbers(one_column(["1", text]), "x", field="y"), [1.0, value])


@pytest.mark.parametrize("text", ["1,5", "1_000", "0x10", "12%", "--5", "٣", "1e", "one", "1 2", "1e9999"])
def test_text_that_is_no_number(text: str) -> None:
    with pytest.raises(DataInvalid, match=r"^t\.csv: row 3, column 'x': must be a number"):
        read_numbers(one_column(["1", text]), "x", field="y")


@pytest.mark.parametrize("text", ["inf", "-Infinity", "1e999"])
def test_numbers_are_finite(text: str) -> None:
    with pytest.raises(DataInvalid, match=r"^t\.csv: row 3, column 'x': a number must be finite, got "):
        read_numbers(one_column(["1", text]), "x", field="y")
    with pytest.raises(DataInvalid, match="row 2, column 'x': a number must be finite"):
        read_numbers(one_column([np.inf, 1.0]), "x", field="y")


@pytest.mark.parametrize(
    ("kind", "values"),
    [(pa.int32(), [1, None, 3]), (pa.float32(), [1.0, None, 3.0]), (pa.decimal128(9, 2), [1, None, 3])],
)
def test_stored_numbers(kind: pa.DataType, values: list[object]) -> None:
    found = read_numbers(one_column(values, kind), "x", field="y")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1.0, NAN, 3.0])


@pytest.mark.parametrize(
    ("values", "got"), [([True], "'bool'"), ([[1.0]], "'list"), ([np.datetime64("2013-01-02", "us")], "'timestamp")]
)
def test_what_holds_no_numbers(values: list[object], got: str) -> None:
    with pytest.raises(DataInvalid, match=rf"column 'x': must hold numbers, got {got}"):
        read_numbers(one_column(values), "x", field="y")


def test_a_column_without_any_number() -> None:
    with pytest.raises(DataInvalid, match="column 'x': must hold at least one number"):
        read_numbers(one_column(["", "nan"]), "x", field="y")


@pytest.mark.parametrize(
    ("field", "least", "below"),
    [
        ("close", 1e-9, 0.0),
        ("adj_close", 1e-9, -1.0),
        ("volume", 0.0, -1e-9),
        ("sigma", 0.0, -1.0),
        ("returns", -1.0, -1.01),
        ("anything_else", -1e300, None),
    ],
)
def test_the_rule_of_a_field(field: str, least: float, below: float | None) -> None:
    assert read_numbers(one_column([least, NAN]), "x", field=field)[0] == least
    assert (field in RULES) == (below is not None)
    if below is not None:
        with pytest.raises(DataInvalid, match=rf"row 3, column 'x': {RULES[field].text.split('(')[0]}"):
            read_numbers(one_column([1.0, below]), "x", field=field)


def test_texts() -> None:
    assert read_texts(one_column([" Tech ", None, "", "Öl"]), "x").tolist() == ["Tech", "", "", "Öl"]
    coded = one_column(["a", "b", "a"], pa.dictionary(pa.int8(), pa.string()))
    assert read_texts(coded, "x").tolist() == ["a", "b", "a"]


@pytest.mark.parametrize("text", ["y" * 65, "a\u202eb", "a\x1bb", "a\nb"])
def test_texts_that_are_too_long_or_can_not_be_printed(text: str) -> None:
    with pytest.raises(DataInvalid, match="row 3, column 'x': must be printable text of at most 64 characters"):
        read_texts(one_column(["ok", text]), "x")
    with pytest.raises(DataInvalid, match="must hold text, got 'int64'"):
        read_texts(one_column([1]), "x")


def test_symbols_are_sorted_text_and_keep_their_rows() -> None:
    symbols, codes = read_symbols(one_column(["B", " A ", "C", "B"]), "x")
    assert symbols == ["A", "B", "C"]
    assert codes.tolist() == [1, 0, 2, 1]
    assert read_symbols(one_column([7, 12]), "x")[0] == ["12", "7"]


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (["A", None], "row 3, column 'x': a symbol must not be missing"),
        (["A", "", "B"], "row 3, column 'x': a symbol must be printable text of 1 to 32"),
        (["A", "x" * 33], "row 3, column 'x': a symbol must be printable"),
        (["A", "B\u202e"], "row 3, column 'x': a symbol must be printable"),
        ([1.5], "column 'x': symbols must be text, got 'double'"),
    ],
)
def test_bad_symbols(values: list[object], rule: str) -> None:
    with pytest.raises(DataInvalid, match=rule):
        read_symbols(one_column(values), "x")


def test_a_symbol_in_a_header_has_no_row() -> None:
    check_symbol(one_column(["A"]), "BRK.B", column="BRK.B")
    with pytest.raises(DataInvalid, match=r"^t\.csv: column 'x\\ty': a symbol must be printable"):
        check_symbol(one_column(["A"]), "x\ty", column="x\ty")


@pytest.mark.parametrize(
    ("text", "moment", "zone"),
    [
        ("2012-01-03", "2012-01-03T00:00:00", ""),
        ("20120103", "2012-01-03T00:00:00", ""),
        ("2012-01-03 16:00", "2012-01-03T16:00:00", ""),
        ("2012-01-03T16:00:30", "2012-01-03T16:00:30", ""),
        ("2012-01-03T16:00:00Z", "2012-01-03T16:00:00", "Z"),
        ("2012-01-03 16:00 UTC", "2012-01-03T16:00:00", "Z"),
        ("2012-01-03T16:00:00-05:00", "2012-01-03T16:00:00", "-0500"),
    ],
)
def test_dates_keep_their_wall_clock(text: str, moment: str, zone: str) -> None:
    dates, found = read_dates(one_column([text]), "x")
    assert dates.dtype == np.dtype("datetime64[ns]")
    assert dates.tolist() == np.array([moment], "datetime64[ns]").tolist()
    assert found == zone


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        (["2012-01-03", "2012-02-30"], "row 3, column 'x': must be a date such as"),
        (["2012-01-03", "03/01/2012"], "row 3, column 'x': must be a date"),
        (["2012-01-03", "2012-0103"], "row 3, column 'x': must be a date"),
        (["2012-01-03", ""], "row 3, column 'x': must be a date"),
        (["2012-01-03", "1899-12-31"], "row 3, column 'x': a date must lie in the years 1900 to 2199"),
        (["2012-01-03", "2200-01-01"], "row 3, column 'x': a date must lie in the years"),
        (["2012-01-03 16:00Z", "2012-01-04 16:00"], "row 3, .*of one time zone, got Z and no zone"),
        (["2012-01-03", None], "row 3, column 'x': a date must not be missing"),
        ([True], "column 'x': must hold dates, got 'bool'"),
    ],
)
def test_bad_dates(values: list[object], rule: str) -> None:
    with pytest.raises(DataInvalid, match=rule):
        read_dates(one_column(values), "x")


def test_stored_dates() -> None:
    days = np.array(["2012-01-03", "2012-01-04"], "datetime64[D]")
    dates, zone = read_dates(one_column(days.tolist(), pa.date32()), "x")
    assert (dates.astype("datetime64[D]") == days).all()
    assert zone == ""
    evening = pa.array([1325624400], pa.timestamp("s", "America/New_York"))  # 21:00 UTC, as it is stored
    dates, zone = read_dates(Table("t", MappingProxyType({"x": pa.chunked_array([evening])}), 1, 1), "x")
    assert str(dates[0])[:16] == "2012-01-03T16:00"
    assert zone == "America/New_York"


def test_a_stored_date_out_of_range() -> None:
    column = one_column([np.datetime64("9999-12-31", "us")], pa.timestamp("us"))
    with pytest.raises(DataInvalid, match="row 2, column 'x': a date must lie in the years"):
        read_dates(column, "x")
