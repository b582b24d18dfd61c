"""Weights from a file: every row placed on the panel, or an error that says which row and why."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel, canonical_json
from alphaswarm.core.errors import near
from alphaswarm.data.columns import read_dates, read_numbers, read_symbols
from alphaswarm.data.table import Table, read_table

__all__ = ["FileWeights", "read_weights"]

SYMBOL_COLUMNS = ("symbol", "ticker")
DAY = "datetime64[D]"

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FileWeights:
    """What a file decides.

    Attributes:
        name: of the file.
        weights: [T, N] on the panel; a row that the file does not date is NaN: positions are held.
        digest: sha256 of what is decided; the order of rows and columns, names of weight 0 and the format say nothing.
    """

    name: str
    weights: Array
    digest: str


def read_weights(path: Path, panel: Panel, rows: slice) -> FileWeights:
    """Read a CSV (also .csv.gz) or Parquet file of target weights.

    Long: `date`, `symbol` (or ticker) and `weight`; a symbol that a date does not list has weight 0 then.
    Wide: `date`, and one column for each symbol. A date is that of the close which decides.

    Args:
        path: the file.
        panel: whose dates and symbols the weights are on.
        rows: of the panel that may be decided on.

    Raises:
        DataInvalid: names file, row (a CSV header is row 1), column, rule and the value: an unknown symbol, a date
            that is no day of `rows`, a row that occurs twice, or a weight that is no finite number.
    """
    table = read_table(path)
    lower = {name.strip().lower(): name for name in table.columns}
    if "date" not in lower:
        raise table.fault(f"must have a column 'date', got {', '.join(list(table.columns)[:8])}")
    days = _rows_of(table, lower["date"], panel, rows)
    symbol = next((lower[name] for name in SYMBOL_COLUMNS if name in lower), None)
    weights = np.full(panel.shape, np.nan)
    if symbol is None:
        _fill_wide(table, lower["date"], days, panel, weights)
    else:
        _fill_long(table, (lower["date"], symbol), days, panel, weights)
    return FileWeights(path.name, weights, _digest(panel, weights))


def _rows_of(table: Table, column: str, panel: Panel, rows: slice) -> NDArray[np.int64]:
    """The panel's row of each row of the file."""
    dates, _ = read_dates(table, column)
    offered = panel.dates[rows]
    by_day = np.unique(offered.astype(DAY)).size == offered.size and bool((dates == dates.astype(DAY)).all())
    if by_day:  # a panel may stamp its days with the moment of their close
        dates, offered = dates.astype(DAY), offered.astype(DAY)
    place = np.minimum(np.searchsorted(offered, dates), offered.size - 1)
    wrong = np.flatnonzero(offered[place] != dates)
    if wrong.size:
        row = int(wrong[0])
        first, last = (str(day.astype(DAY)) for day in (offered[0], offered[-1]))
        raise table.fault(
            f"a date must be a day of the panel from {first} to {last}, which may be looked at",
            row=row,
            column=column,
            got=dates[row],
        )
    found: NDArray[np.int64] = place.astype(np.int64) + rows.start
    return found


def _fill_wide(table: Table, date: str, days: NDArray[np.int64], panel: Panel, weights: Array) -> None:
    names = [name for name in table.columns if name != date]
    place = {symbol: column for column, symbol in enumerate(panel.symbols)}
    for name in names:
        if name not in place:
            raise _unknown(table, name, panel, column=name)
    _refuse_twice(table, days, date, lambda row: str(panel.dates[days[row]].astype(DAY)))
    weights[days] = 0.0
    for name in names:
        weights[days, place[name]] = _numbers(table, name)


def _fill_long(table: Table, keys: tuple[str, str], days: NDArray[np.int64], panel: Panel, weights: Array) -> None:
    symbol = keys[1]
    values = [name for name in table.columns if name not in keys]
    if [name.strip().lower() for name in values] != ["weight"]:
        raise table.fault(f"must have the columns date, symbol and weight, got {', '.join(table.columns)}")
    names, which = read_symbols(table, symbol)
    place = {name: column for column, name in enumerate(panel.symbols)}
    for code, name in enumerate(names):
        if name not in place:
            raise _unknown(table, name, panel, column=symbol, row=int(np.argmax(which == code)))
    columns = np.array([place[name] for name in names], np.int64)[which]
    _refuse_twice(
        table,
        days * len(panel.symbols) + columns,
        symbol,
        lambda row: f"{panel.dates[days[row]].astype(DAY)} {panel.symbols[columns[row]]}",
    )
    weights[days] = 0.0
    weights[days, columns] = _numbers(table, values[0])


def _numbers(table: Table, column: str) -> Array:
    numbers = read_numbers(table, column, field="weight")
    missing = np.flatnonzero(np.isnan(numbers))
    if missing.size:
        raise table.fault("a weight must not be missing; 0 is no position", row=int(missing[0]), column=column)
    return numbers


def _refuse_twice(table: Table, keys: NDArray[np.int64], column: str, shown: Callable[[int], str]) -> None:
    order = np.argsort(keys, kind="stable")
    again = order[1:][keys[order[1:]] == keys[order[:-1]]]
    if again.size:
        row = int(again.min())
        first = int(np.flatnonzero(keys == keys[row])[0])
        raise table.fault(
            f"{shown(row)} must occur once; row {first + table.first_row} has it too", row=row, column=column
        )


def _unknown(table: Table, name: str, panel: Panel, *, column: str, row: int | None = None) -> DataInvalid:
    hint = near(name, panel.symbols)
    rule = f"a symbol must be one of the panel's {len(panel.symbols)}" + (f" ({hint})" if hint else "")
    return table.fault(rule, row=row, column=column, got=name)


def _digest(panel: Panel, weights: Array) -> str:
    """Over the decided rows: the date, and symbol and weight of what is held."""
    total = hashlib.sha256()
    order = sorted(range(len(panel.symbols)), key=panel.symbols.__getitem__)
    for row in np.flatnonzero(~np.isnan(weights[:, 0])).tolist():
        held = [(panel.symbols[place], float(weights[row, place])) for place in order if weights[row, place]]
        total.update(canonical_json([str(panel.dates[row]), held]))
    return total.hexdigest()
