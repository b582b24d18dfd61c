"""One column of a table: numbers, dates, symbols or labels, each value checked and each fault placed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pyarrow as pa  # ships no type information
import pyarrow.compute as pc
from numpy.typing import NDArray

from alphaswarm.data.table import Table

__all__ = ["PRICES", "RULES", "check_symbol", "read_dates", "read_numbers", "read_symbols", "read_texts"]

Floats = NDArray[np.float64]
Dates = NDArray[np.datetime64]

PRICES = ("open", "high", "low", "close", "adj_close", "vwap")
AMOUNTS = ("volume", "dollar_volume", "sigma", "cap")
MAX_SYMBOL = 32
MAX_LABEL = 64
YEARS = (1900, 2200)
MISSING = ("", "nan", "na", "n/a", "null", "none")

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
_DATE = re.compile(
    r"(?P<year>\d{4})(?P<dash>-?)(?P<month>\d\d)(?P=dash)(?P<day>\d\d)"
    r"([T ](?P<time>\d\d:\d\d(:\d\d(\.\d{1,9})?)?) ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d)?)?"
)


@dataclass(frozen=True)
class Rule:
    """What every value of a field must fulfil."""

    holds: Callable[[Floats], NDArray[np.bool_]]
    text: str


_POSITIVE = Rule(lambda values: values > 0, "a price must be above 0")
_NOT_NEGATIVE = Rule(lambda values: values >= 0, "an amount must not be negative")
_RETURN = Rule(lambda values: values >= -1, "a return must be at least -1 (-100 %)")
# What the values of fields with these names must fulfil.
RULES: Mapping[str, Rule] = MappingProxyType(
    dict.fromkeys(PRICES, _POSITIVE) | dict.fromkeys(AMOUNTS, _NOT_NEGATIVE) | {"returns": _RETURN}
)


def read_numbers(table: Table, column: str, *, field: str) -> Floats:
    """The column as float64 with NaN for missing, every value finite and within the rule of `field`.

    Raises:
        DataInvalid: text, infinity, a value against the rule, or no number at all.
    """
    stored = table.columns[column]
    if _is_text(stored.type):
        stored = _parsed(table, column)
    elif not (
        pa.types.is_integer(stored.type) or pa.types.is_floating(stored.type) or pa.types.is_decimal(stored.type)
    ):
        raise table.fault("must hold numbers", column=column, got=stored.type)
    values = np.array(stored.cast(pa.float64(), safe=False).to_numpy(), np.float64)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise table.fault("a number must be finite", row=row, column=column, got=values[row])
    if not np.isfinite(values).any():
        raise table.fault("must hold at least one number", column=column)
    rule = RULES.get(field)
    if rule is not None:
        broken = ~rule.holds(values) & np.isfinite(values)
        if broken.any():
            row = int(np.argmax(broken))
            raise table.fault(rule.text, row=row, column=column, got=values[row])
    return values


def _parsed(table: Table, column: str) -> pa.ChunkedArray:
    text = pc.utf8_trim_whitespace(table.columns[column].cast(pa.string()))
    text = pc.if_else(pc.is_in(pc.utf8_lower(text), pa.array(MISSING)), pa.scalar(None, pa.string()), text)
    sound = pc.fill_null(pc.match_substring_regex(text, _NUMBER), True)
    if not pc.all(sound).as_py():
        row = pc.index(sound, False).as_py()
        infinite = text[row].as_py().lower().lstrip("+-") in ("inf", "infinity")
        rule = "a number must be finite" if infinite else "must be a number (text, or a thousands separator, is not)"
        raise table.fault(rule, row=row, column=column, got=text[row].as_py())
    return pc.replace_substring_regex(text, r"^\+", "").cast(pa.float64())


def read_texts(table: Table, column: str) -> NDArray[np.str_]:
    """The column as labels, "" where missing.

    Raises:
        DataInvalid: not text, too long, or not printable.
    """
    stored = table.columns[column]
    if not _is_text(stored.type):
        raise table.fault("must hold text", column=column, got=stored.type)
    coded = pc.fill_null(pc.utf8_trim_whitespace(stored.cast(pa.string())), "").combine_chunks().dictionary_encode()
    labels = coded.dictionary.to_pylist()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    for code, label in enumerate(labels):
        if len(label) > MAX_LABEL or not label.isprintable():
            rule = f"must be printable text of at most {MAX_LABEL} characters"
            raise table.fault(rule, row=int(np.argmax(codes == code)), column=column, got=label)
    found: NDArray[np.str_] = np.array(labels, np.str_)[codes]
    return found


def read_symbols(table: Table, column: str) -> tuple[list[str], NDArray[np.int64]]:
    """The distinct symbols, sorted, and for each row which it is.

    Raises:
        DataInvalid: missing, too long, or not printable.
    """
    stored = table.columns[column]
    if not _is_text(stored.type) and not pa.types.is_integer(stored.type):
        raise table.fault("symbols must be text", column=column, got=stored.type)
    coded = pc.utf8_trim_whitespace(stored.cast(pa.string())).combine_chunks().dictionary_encode()
    if coded.null_count:
        row = pc.index(coded.is_null(), True).as_py()
        raise table.fault("a symbol must not be missing", row=row, column=column)
    codes = coded.indices.to_numpy(zero_copy_only=False)
    names = coded.dictionary.to_pylist()
    for code, name in enumerate(names):
        check_symbol(table, name, column=column, row=int(np.argmax(codes == code)))
    order = sorted(range(len(names)), key=names.__getitem__)
    position = np.empty(len(names), np.int64)
    position[order] = np.arange(len(names))
    return [names[code] for code in order], position[codes]


def check_symbol(table: Table, name: str, *, column: str, row: int | None = None) -> None:
    """Refuse what can't be a symbol.

    Raises:
        DataInvalid: empty, too long, or not printable.
    """
    if not name or len(name) > MAX_SYMBOL or not name.isprintable():
        rule = f"a symbol must be printable text of 1 to {MAX_SYMBOL} characters"
        raise table.fault(rule, row=row, column=column, got=name)


def read_dates(table: Table, column: str) -> tuple[Dates, str]:
    """Every row's date, without zone, and the zone there was.

    Raises:
        DataInvalid: missing, no date, out of range, or of several zones.
    """
    stored = table.columns[column]
    if stored.null_count:
        row = pc.index(stored.is_null(), True).as_py()
        raise table.fault("a date must not be missing", row=row, column=column)
    if not (pa.types.is_date(stored.type) or pa.types.is_timestamp(stored.type)):
        if not _is_text(stored.type) and not pa.types.is_integer(stored.type):
            raise table.fault("must hold dates", column=column, got=stored.type)
        return _parsed_dates(table, column)
    zone = getattr(stored.type, "tz", None) or ""
    try:
        local = pc.local_timestamp(stored) if zone else stored
        seconds = local.cast(pa.timestamp("s"), safe=False).to_numpy()
        exact = local.cast(pa.timestamp("ns"), safe=False).to_numpy()
    except pa.ArrowException as error:
        raise table.fault(f"must hold dates: {error}", column=column) from None
    years = seconds.astype("datetime64[Y]").astype(np.int64) + 1970
    wrong = (years < YEARS[0]) | (years >= YEARS[1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise table.fault(_year_rule(), row=row, column=column, got=seconds[row])
    return exact, zone


def _parsed_dates(table: Table, column: str) -> tuple[Dates, str]:
    coded = pc.utf8_trim_whitespace(table.columns[column].cast(pa.string())).combine_chunks().dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    distinct = np.empty(len(coded.dictionary), "datetime64[ns]")
    zones: dict[str, int] = {}
    for code, text in enumerate(coded.dictionary.to_pylist()):
        try:
            found = _DATE.fullmatch(text)
            if found is None:
                raise ValueError
            day = f"{found['year']}-{found['month']}-{found['day']}T{found['time'] or '00:00'}"
            distinct[code] = np.datetime64(day, "ns")
        except ValueError:
            rule = "must be a date such as 2012-01-03 or 2012-01-03 16:00"
            raise table.fault(rule, row=int(np.argmax(codes == code)), column=column, got=text) from None
        if not YEARS[0] <= int(found["year"]) < YEARS[1]:
            raise table.fault(_year_rule(), row=int(np.argmax(codes == code)), column=column, got=text)
        zones.setdefault((found["zone"] or "").replace("UTC", "Z").replace(":", ""), code)
    if len(zones) > 1:
        second = list(zones.values())[1]
        names = " and ".join(zone or "no zone" for zone in list(zones)[:2])
        raise table.fault(
            f"all times must be of one time zone, got {names}; convert them first",
            row=int(np.argmax(codes == second)),
            column=column,
            got=coded.dictionary[second].as_py(),
        )
    return distinct[codes], next(iter(zones))


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _year_rule() -> str:
    return f"a date must lie in the years {YEARS[0]} to {YEARS[1] - 1}"
