"""Later bars for a panel: only after its last row, by its own rules, all of them or none."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel
from alphaswarm.data.load import Bars, read_bars, returns_of, zone_caveat

__all__ = ["append_bars"]

Floats = NDArray[np.float64]

# Of a return: what decimals of prices and of cumulated returns differ by.
AGREEMENT = 1e-6
ZONE = zone_caveat("")
SHOWN = 5


def append_bars(panel: Panel, path: Path, *, zero_is_missing: Set[str] = frozenset()) -> Panel:
    """`panel` followed by the bars of a file; its own rows stay as they are, to the last bit.

    The file has the layout and rules of `load_table`, and the fields of the panel and no others. What
    follows from other fields in the panel may be left out and is continued from the last row:

    - `returns` where they are close over the previous row's close - 1, else `close` by cumulating them (a
      name without a return has no close from then on); where the file has both, they must agree;
    - `dollar_volume` where it is close x volume;
    - a group whose labels never change.

    Names that the file leaves out are missing and outside the universe, as in a table that is loaded.

    Args:
        panel: what is continued.
        path: a CSV or Parquet file.
        zero_is_missing: fields in which the panel has no zeros, because there a zero means missing.

    Raises:
        DataInvalid: says what of the file is refused: a day up to the panel's last, unknown symbols, missing
            or unknown fields, a duplicate, times of another zone, or whatever `load_table` refuses.
    """
    bars = read_bars(path)
    try:
        return _joined(panel, bars, zero_is_missing)
    except DataInvalid as error:
        raise DataInvalid(f"{path.name}: {error.message}") from None


def _joined(panel: Panel, bars: Bars, zero_is_missing: Set[str]) -> Panel:
    _check_days(panel, bars)
    place = _places(panel, bars)

    def grid(values: Floats) -> Floats:
        wide = np.full((bars.dates.size, panel.shape[1]), np.nan)
        wide[:, place] = values
        return wide

    new = {name: grid(values) for name, values in bars.fields.items()}
    for name in zero_is_missing & new.keys():
        new[name] = np.where(new[name] == 0, np.nan, new[name])
    members = np.zeros((bars.dates.size, panel.shape[1]), np.bool_)
    members[:, place] = bars.present
    new = _continued(panel, new)
    return Panel.from_arrays(
        {name: np.vstack([values, new[name]]) for name, values in panel.fields.items()},
        np.concatenate([panel.dates, bars.dates]),
        panel.symbols,
        np.vstack([panel.universe, members]),
        {name: _labels(panel, name, bars, place) for name in panel.groups},
        _told(panel, bars),
    )


def _check_days(panel: Panel, bars: Bars) -> None:
    last, first = (dates.astype("datetime64[D]") for dates in (panel.dates[-1], bars.dates[0]))
    if first <= last:
        raise DataInvalid(f"every bar must be of a day after the panel's last, {last}, got {first}")
    known = next((text for text in panel.meta.get("caveats", ()) if str(text).startswith(ZONE)), "")
    told = zone_caveat(bars.zone) if bars.zone else ""
    if told != known:
        raise DataInvalid(
            f"times must be of the zone of the panel's times ({known.removeprefix(ZONE) or 'none'}), "
            f"got {bars.zone or 'none'}"
        )


def _places(panel: Panel, bars: Bars) -> list[int]:
    """The column of each of the file's symbols."""
    columns = {name: column for column, name in enumerate(panel.symbols)}
    unknown = [name for name in bars.symbols if name not in columns]
    if unknown:
        raise DataInvalid(
            f"every symbol must be one of the panel's {len(columns)}, got {len(unknown)} others: {_some(unknown)}"
        )
    return [columns[name] for name in bars.symbols]


def _continued(panel: Panel, new: dict[str, Floats]) -> dict[str, Floats]:
    """All of the panel's fields on the new rows."""
    linked = _returns_follow_close(panel)
    if linked and "close" in new:
        returns = returns_of(np.vstack([panel["close"][-1:], new["close"]]))[1:]
        _check_agreement(new.get("returns", returns), returns)
        new = {"returns": returns, **new}
    elif linked and "returns" in new:
        with np.errstate(over="ignore"):  # what overflows is refused as infinite by the panel
            new = {**new, "close": panel["close"][-1] * np.cumprod(1 + new["returns"], axis=0)}
    if {"close", "volume"} <= new.keys() and _dollars_follow(panel):
        with np.errstate(over="ignore"):
            new = {"dollar_volume": new["close"] * new["volume"], **new}
    missing = [name for name in panel.fields if name not in new]
    if missing:
        hint = " (one of close and returns is enough)" if linked and {"close", "returns"} <= set(missing) else ""
        raise DataInvalid(f"must have all fields of the panel, missing {', '.join(missing)}{hint}")
    other = [name for name in new if name not in panel.fields]
    if other:
        raise DataInvalid(f"must have no fields but the panel's ({', '.join(panel.fields)}), got {_some(other)}")
    return new


def _returns_follow_close(panel: Panel) -> bool:
    """Whether each of the panel's returns is its close over the close of the row before, less 1."""
    if not {"close", "returns"} <= panel.fields.keys() or panel.shape[0] < 2:
        return False
    expected, found = returns_of(panel["close"])[1:], panel["returns"][1:]
    return np.allclose(found, expected, rtol=0.0, atol=AGREEMENT, equal_nan=True)


def _dollars_follow(panel: Panel) -> bool:
    if not {"close", "volume", "dollar_volume"} <= panel.fields.keys():
        return False
    expected = panel["close"] * panel["volume"]
    return np.allclose(panel["dollar_volume"], expected, rtol=1e-9, atol=0.0, equal_nan=True)


def _check_agreement(given: Floats, expected: Floats) -> None:
    both = np.isfinite(given) & np.isfinite(expected)
    apart = np.abs(np.where(both, given - expected, 0.0))
    if apart.max(initial=0.0) > AGREEMENT:
        row, column = np.unravel_index(int(apart.argmax()), apart.shape)
        raise DataInvalid(
            "close and returns must agree, for the panel's returns are close over the previous row's close - 1: a "
            f"return of {given[row, column]:.6g} meets closes that make {expected[row, column]:.6g}. The close must "
            "continue the panel's, or be left out"
        )


def _labels(panel: Panel, name: str, bars: Bars, place: list[int]) -> NDArray[np.str_]:
    old = panel.groups[name]
    fixed = bool((old == old[:1]).all())
    rows = bars.dates.size
    if name in bars.groups:
        labels = np.broadcast_to(bars.groups[name], (rows, len(place)))
        new = np.repeat(old[-1:], rows, axis=0) if fixed else np.full((rows, panel.shape[1]), "")
        new = new.astype(np.result_type(new, labels))
        new[:, place] = np.where((labels == "") & fixed, new[:, place], labels)
    elif fixed:
        return np.asarray(old[0])
    else:
        raise DataInvalid(f"must have all groups of the panel, missing {name}, whose labels change with time")
    joined: NDArray[np.str_] = np.concatenate([old, new])
    return joined[0] if (joined == joined[:1]).all() else joined


def _told(panel: Panel, bars: Bars) -> MappingProxyType[str, object]:
    first, last = (str(day) for day in bars.dates[[0, -1]].astype("datetime64[D]"))
    caveats = [*panel.meta.get("caveats", ()), f"appended: the rows from {first} to {last}"]
    return MappingProxyType({**panel.meta, "caveats": caveats})


def _some(names: list[str]) -> str:
    shown = ", ".join(ascii(name) for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
