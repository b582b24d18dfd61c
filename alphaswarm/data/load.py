"""Tables to panels: the layout, the rules for dates, symbols and numbers, and nothing half loaded."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel
from alphaswarm.core.calendar import rows_per_year
from alphaswarm.data.columns import RULES, check_symbol, read_dates, read_numbers, read_symbols, read_texts
from alphaswarm.data.table import MAX_CELLS, SUFFIXES, Table, read_table

__all__ = ["SUFFIXES", "Bars", "load_table", "read_bars", "returns_of", "zone_caveat"]

Floats = NDArray[np.float64]
Dates = NDArray[np.datetime64]

DATE_COLUMNS = ("date", "datetime", "timestamp")
SYMBOL_COLUMNS = ("symbol", "ticker")
GROUP_COLUMNS = ("industry", "sector", "subindustry")


def load_table(path: Path | str, *, field: str = "close") -> Panel:
    """Read a CSV (also .csv.gz) or Parquet file as a panel; all of it, or an error that says where and why.

    Long: a column `date` (or datetime, timestamp), a column `symbol` (or ticker), and one column
    for each field; `sector`, `industry` and `subindustry` hold text and become groups, every other
    column holds numbers. Wide: `date`, and one column for each symbol with the values of `field`.
    Rows may come in any order; symbols are text (000001 stays so) and are sorted.

    Dates are ISO (2012-01-03, 20120103, 2012-01-03 16:00); times with a zone keep its wall clock
    and must all be of one zone. Empty, NaN, NA and null are missing. A row that is absent is missing and
    outside the universe. `returns` (close over the previous row's close - 1) and `dollar_volume`
    (close x volume) are computed where the file has none.

    Args:
        path: the file.
        field: what a wide table holds.

    Raises:
        DataInvalid: names file, row (a CSV header is row 1), column, rule and the value.
    """
    path = Path(path)
    bars = read_bars(path, field=field)
    try:
        return _panel(path, bars)
    except DataInvalid as error:
        if error.message.startswith(path.name):
            raise
        raise DataInvalid(f"{path.name}: {error.message}") from None


@dataclass(frozen=True, eq=False)
class Bars:
    """What a file holds, and nothing that is computed from it.

    Attributes:
        fields: name to float64 [T, N].
        dates: datetime64[ns] [T], increasing.
        symbols: N names, sorted.
        groups: name to labels, [N] or [T, N].
        zone: whose wall clock the times are; empty where none was said.
    """

    fields: dict[str, Floats]
    dates: Dates
    symbols: list[str]
    groups: dict[str, NDArray[np.str_]]
    zone: str

    @property
    def present(self) -> NDArray[np.bool_]:
        """[T, N], whether any field has a number."""
        found: NDArray[np.bool_] = np.logical_or.reduce([np.isfinite(values) for values in self.fields.values()])
        return found


def read_bars(path: Path, *, field: str = "close") -> Bars:
    """The bars of a file; arguments, layout, rules and errors are those of `load_table`."""
    table = read_table(path)
    by_lower = {name.strip().lower(): name for name in table.columns}
    date_column = _one_of(table, by_lower, DATE_COLUMNS)
    symbol_column = _one_of(table, by_lower, SYMBOL_COLUMNS)
    if date_column is None:
        raise table.fault(f"must have a column {DATE_COLUMNS[0]!r}, got {', '.join(list(table.columns)[:8])}")
    dates, zone = read_dates(table, date_column)
    if symbol_column is None:
        return _wide(table, date_column, dates, field, zone)
    return _long(table, date_column, symbol_column, dates, zone)


def returns_of(close: Floats) -> Floats:
    """Close over the previous row's close - 1, [T, N]; the first row has none."""
    returns = np.full_like(close, np.nan)
    with np.errstate(over="ignore"):  # what overflows is refused as infinite by the panel
        returns[1:] = close[1:] / close[:-1] - 1
    return returns


def zone_caveat(zone: str) -> str:
    """What a panel says of the zone of its times."""
    return f"times are the wall clock of the zone {zone}"


def _one_of(table: Table, by_lower: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    found = [by_lower[name] for name in names if name in by_lower]
    if len(found) > 1:
        raise table.fault(f"must have one column of {', '.join(names)}, got {' and '.join(found)}")
    return found[0] if found else None


def _long(table: Table, date_column: str, symbol_column: str, dates: Dates, zone: str) -> Bars:
    labels: dict[str, str] = {}
    texts: dict[str, NDArray[np.str_]] = {}
    for name in table.columns:
        if name in (date_column, symbol_column):
            continue
        key = re.sub(r"[ -]+", "_", name.strip().lower())
        if key in labels:
            raise table.fault(f"names of fields must be distinct, got {labels[key]!r} and {name!r}", column=name)
        labels[key] = name
        if key in GROUP_COLUMNS:
            texts[key] = read_texts(table, name)
    names = [key for key in labels if key not in GROUP_COLUMNS]
    if not names:
        raise table.fault("must have at least one column of numbers besides date and symbol")

    symbols, columns = read_symbols(table, symbol_column)
    days, rows = np.unique(dates, return_inverse=True)
    shape = (days.size, len(symbols))
    _check_size(table, shape, len(names) + 2)
    values = {key: read_numbers(table, labels[key], field=key) for key in names}
    place = rows.astype(np.int64) * shape[1] + columns
    _check_duplicates(table, place, values, texts, lambda row: f"{_day(dates[row])} {symbols[columns[row]]}")

    def grid(column: Floats) -> Floats:
        filled = np.full(shape, np.nan)
        filled.flat[place] = column
        return filled

    groups = {key: _group(text, place, columns, shape) for key, text in texts.items()}
    return Bars({key: grid(column) for key, column in values.items()}, days, symbols, groups, zone)


def _wide(table: Table, date_column: str, dates: Dates, field: str, zone: str) -> Bars:
    names = [name for name in table.columns if name != date_column]
    lower = {name.strip().lower() for name in names}
    # LOW and OPEN are tickers too, but a column close, or nothing but fields, is no table of symbols
    if "close" in lower or lower <= set(RULES):
        raise table.fault(f"must have a column 'symbol' beside {names[0]!r} (one row for each date and symbol)")
    for name in names:
        check_symbol(table, name, column=name)
    days, place = np.unique(dates, return_inverse=True)
    _check_size(table, (days.size, len(names)), 2)
    values = {name: read_numbers(table, name, field=field) for name in names}
    _check_duplicates(table, place.astype(np.int64), values, {}, lambda row: _day(dates[row]))
    order = np.argsort(place)
    symbols = sorted(names)
    return Bars({field: np.column_stack([values[name][order] for name in symbols])}, days, symbols, {}, zone)


def _panel(path: Path, bars: Bars) -> Panel:
    fields = dict(bars.fields)
    present = bars.present
    caveats = ["imported: nobody has said whether its prices are adjusted"]
    close, volume = fields.get("close"), fields.get("volume")
    if close is not None and "returns" not in fields:
        fields["returns"] = returns_of(close)
        caveats.append("returns are computed: close over the previous row's close - 1")
    if close is not None and volume is not None and "dollar_volume" not in fields:
        with np.errstate(over="ignore"):  # what overflows is refused as infinite below
            fields["dollar_volume"] = close * volume
        caveats.append("dollar_volume is computed: close x volume")
    if bars.zone:
        caveats.append(zone_caveat(bars.zone))
    all_stay = bool(present[-1].all())
    if all_stay:
        caveats.append("no name leaves before the end: survivorship-biased")
    meta = {
        "name": path.name,
        "source": f"file {path.name}",
        "licence": "not stated",
        "caveats": caveats,
        "adjusted": None,
        "survivorship_biased": True if all_stay else None,
        "periods_per_year": rows_per_year(bars.dates),
    }
    return Panel.from_arrays(fields, bars.dates, bars.symbols, present, bars.groups, meta)


def _check_duplicates(
    table: Table,
    place: NDArray[np.int64],
    values: Mapping[str, Floats],
    texts: Mapping[str, NDArray[np.str_]],
    key: Callable[[int], str],
) -> None:
    order = np.argsort(place, kind="stable")
    again = np.flatnonzero(np.diff(place[order]) == 0)
    if not again.size:
        return
    # report the fault that comes first in the file
    first = int(again[np.argmin(order[again + 1])])
    one, two = int(order[first]), int(order[first + 1])
    differ = [name for name, column in values.items() if not np.array_equal(column[one], column[two], equal_nan=True)]
    differ += [name for name, column in texts.items() if column[one] != column[two]]
    what = f"a conflicting duplicate: it differs in {', '.join(differ[:5])}" if differ else "an identical duplicate"
    rule = f"{key(two)} must occur once; row {one + table.first_row} has it too and this is {what}"
    raise table.fault(rule, row=two)


def _check_size(table: Table, shape: tuple[int, int], fields: int) -> None:
    cells = shape[0] * shape[1] * fields
    if cells > MAX_CELLS:
        raise table.fault(
            f"must fill at most {MAX_CELLS:,} cells, got {shape[0]:,} dates x {shape[1]:,} symbols x {fields} fields"
        )


def _group(
    text: NDArray[np.str_], place: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.str_]:
    """Labels [N] when every row of a symbol says the same, else [T, N]."""
    fixed = np.full(shape[1], "", text.dtype)
    fixed[columns] = text
    if (fixed[columns] == text).all():
        return fixed
    labels = np.full(shape, "", text.dtype)
    labels.flat[place] = text
    return labels


def _day(date: np.datetime64) -> str:
    return (
        str(date.astype("datetime64[D]")) if date == date.astype("datetime64[D]") else str(date.astype("datetime64[s]"))
    )
