"""Files to columns: CSV and Parquet under caps on size, with the row of every fault."""

from __future__ import annotations

import csv
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa  # ships no type information
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

from alphaswarm.core import DataInvalid

__all__ = ["MAX_CELLS", "SUFFIXES", "Table", "read_table"]

SUFFIXES = (".csv", ".csv.gz", ".parquet")
MAX_BYTES = 1 << 30  # unpacked
MAX_CELLS = 100_000_000  # 800 MB as float64
MAX_DECODED = 2 << 30  # the most cells, and the texts beside them
MAX_COLUMNS = 20_000
# A table of prices packs 3 to 30 to 1; a bomb packs about 1000 to 1.
MAX_RATIO = 100
RATIO_FREE_BYTES = 64 << 20
CHUNK = 1 << 20
TEXT_WIDTH = 4
SHOWN = 40
PANDAS_INDEX = "__index_level_0__"

_PARQUET_FAULTS = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of one file, by the names in its header.

    Attributes:
        file: the file's name, for messages.
        columns: header name to values, as stored.
        rows: how many.
        first_row: what the first of them is called in messages (a CSV header is row 1).
    """

    file: str
    columns: Mapping[str, pa.ChunkedArray]
    rows: int
    first_row: int

    def fault(self, rule: str, *, row: int | None = None, column: str | None = None, got: object = None) -> DataInvalid:
        """The error that names file, row (counted from 0 here), column, rule and what was got."""
        where = [f"row {row + self.first_row}"] if row is not None else []
        where += [f"column {_shown(column)}"] if column is not None else []
        value = f", got {_shown(got)}" if got is not None else ""
        return _fault(self.file, rule + value, ", ".join(where))


def read_table(path: Path) -> Table:
    """Read a .csv, .csv.gz or .parquet file whole; CSV values stay text.

    Raises:
        DataInvalid: not such a file, unreadable, truncated, empty, too large, or not a rectangle.
    """
    name = path.name.lower()
    if not name.endswith(SUFFIXES):
        raise _fault(path.name, f"a panel is read from {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise _fault(path.name, "there is no such file")
    try:
        if name.endswith(".parquet"):
            return _parquet(path)
        return _csv(path.name, _unpacked(path) if name.endswith(".gz") else _content(path))
    except OSError as error:
        raise _fault(path.name, f"can't be read: {error.strerror or error}") from None


def _content(path: Path) -> bytes:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise _fault(path.name, f"must be at most {MAX_BYTES >> 20} MiB, got {size >> 20} MiB; write it as Parquet")
    return path.read_bytes()


def _unpacked(path: Path) -> bytes:
    """Unpack gzip piece by piece, and stop as soon as it can't be a table of prices."""
    unpacker = zlib.decompressobj(wbits=31)
    pieces: list[bytes] = []
    packed = unpacked = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            packed += len(chunk)
            while chunk:
                try:
                    piece = unpacker.decompress(chunk, CHUNK)
                except zlib.error as error:
                    raise _fault(path.name, f"is no sound gzip file: {error}") from None
                unpacked += len(piece)
                if unpacked > MAX_BYTES or unpacked > max(RATIO_FREE_BYTES, MAX_RATIO * packed):
                    raise _fault(path.name, f"unpacks to more than {unpacked >> 20} MiB; refused as a compression bomb")
                pieces.append(piece)
                chunk = unpacker.unconsumed_tail
                if unpacker.eof:
                    chunk = unpacker.unused_data
                    if chunk:  # gzip files may follow one another
                        unpacker = zlib.decompressobj(wbits=31)
    if not unpacker.eof:
        raise _fault(path.name, "ends in the middle of its gzip stream; it is truncated")
    return b"".join(pieces)


def _csv(file: str, data: bytes) -> Table:
    data = data.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")  # Excel's byte-order mark; empty last lines
    if not data.strip():
        raise _fault(file, "is empty")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _fault(file, "must be UTF-8 text", f"row {_row_of(data, error.start)}") from None
    if b"\x00" in data:
        raise _fault(file, "must be text, got a null byte", f"row {_row_of(data, data.index(0))}")
    head = re.match(rb"[^\r\n]*(\r\n|\r|\n)?", data)
    header, body = (head[0], data[head.end() :]) if head else (data, b"")
    line = header.decode("utf-8").rstrip("\r\n")
    try:
        names = [name.strip() for name in next(csv.reader([line], strict=True))]
    except csv.Error as error:
        raise _fault(file, f"the header must be one line of comma-separated names: {error}", "row 1") from None
    if len(names) < 2:
        raise _fault(file, "columns must be separated by commas", f"row 1 {_shown(line)}")
    _check_names(file, names)
    if not body.strip():
        raise _fault(file, "has a header and no rows")

    broken: list[pa_csv.InvalidRow] = []

    def refuse(row: pa_csv.InvalidRow) -> str:
        broken.append(row)
        return "error"

    keys = [str(position) for position in range(len(names))]
    try:
        table = pa_csv.read_csv(
            pa.py_buffer(body),
            # one thread: only then are broken rows numbered
            read_options=pa_csv.ReadOptions(column_names=keys, use_threads=False, block_size=1 << 24),
            parse_options=pa_csv.ParseOptions(ignore_empty_lines=False, invalid_row_handler=refuse),
            convert_options=pa_csv.ConvertOptions(
                column_types=dict.fromkeys(keys, pa.string()), strings_can_be_null=False
            ),
        )
    except pa.ArrowException as error:
        if broken and broken[0].number is not None:
            row = broken[0]
            rule = f"must have {row.expected_columns} values like the header, got {row.actual_columns}"
            raise _fault(file, rule, f"row {row.number + 1}") from None
        raise _fault(file, f"is no sound CSV: {str(error).splitlines()[0]}") from None
    _check_cells(file, table.num_rows, table.num_columns)
    columns = dict(zip(names, table.columns, strict=True))
    return Table(file, MappingProxyType(columns), table.num_rows, first_row=2)


def _parquet(path: Path) -> Table:
    most = min(MAX_DECODED, max(RATIO_FREE_BYTES, MAX_RATIO * path.stat().st_size))
    try:
        with pa_parquet.ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
        names = list(schema.names)
        _check_names(path.name, names)
        # of row groups, not of their columns: asking a damaged file for a column's size ends the process
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        rows = max(metadata.num_rows, sum(group.num_rows for group in groups))
        _check_cells(path.name, rows, len(names))
        # a value that is repeated takes no room in the file, and its full width once decoded
        width = sum(_width(path.name, column) for column in schema)
        _check_decoded(path.name, max(rows * width, sum(group.total_byte_size for group in groups)), most)
        # each distinct text is decoded once, so that what all rows come to is known before they are written out
        texts = [column.name for column in schema if _has_length(column.type)]
        with pa_parquet.ParquetFile(path, read_dictionary=texts, page_checksum_verification=True) as file:
            table = file.read()
        table.validate(full=True)
        _check_decoded(path.name, sum(_written_out(column) for column in table.columns), most)
    except DataInvalid:
        raise
    except _PARQUET_FAULTS as error:
        told = (str(error).splitlines() or [type(error).__name__])[0]
        raise _fault(path.name, f"is no sound Parquet file (truncated or damaged): {told[:200]}") from None
    if table.num_rows == 0:
        raise _fault(path.name, "has a header and no rows")
    columns = dict(zip(names, table.columns, strict=True))
    # pandas keeps an unnamed index as a column: dates of a wide table are wanted, row numbers are not
    index = columns.pop(PANDAS_INDEX, None)
    if index is not None and pa.types.is_temporal(index.type) and "date" not in columns:
        columns = {"date": index, **columns}
    return Table(path.name, MappingProxyType(columns), table.num_rows, first_row=1)


def _has_length(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _width(file: str, column: pa.Field) -> int:
    """Bytes of one decoded value; of a text, of its place among the distinct ones."""
    if _has_length(column.type):
        return TEXT_WIDTH
    if pa.types.is_null(column.type):
        return 0
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        raise _fault(
            file, f"must hold numbers, dates or text, got {_shown(column.type)}", f"column {_shown(column.name)}"
        )
    return int(column.type.bit_width + 7) // 8


def _written_out(column: pa.ChunkedArray) -> int:
    """Bytes of a column with every text written out in its row."""
    if not pa.types.is_dictionary(column.type) or not _has_length(column.type.value_type):
        return int(column.nbytes)
    lengths = (pc.binary_length(chunk.dictionary).take(chunk.indices) for chunk in column.chunks)
    return sum(pc.sum(length).as_py() or 0 for length in lengths)


def _check_names(file: str, names: list[str]) -> None:
    if len(names) > MAX_COLUMNS:
        raise _fault(file, f"must have at most {MAX_COLUMNS} columns, got {len(names)}")
    seen: set[str] = set()
    for position, name in enumerate(names, 1):
        if not name:
            hint = "; write tables without the row number (index=False)" if position == 1 else ""
            raise _fault(file, f"every column must have a name{hint}", f"column {position}")
        if name in seen:
            raise _fault(file, f"column names must be distinct, got {_shown(name)} twice", f"column {position}")
        seen.add(name)


def _check_cells(file: str, rows: int, columns: int) -> None:
    if rows * columns > MAX_CELLS:
        raise _fault(file, f"must hold at most {MAX_CELLS:,} values, got {rows:,} rows x {columns:,} columns")


def _check_decoded(file: str, decoded: int, most: int) -> None:
    if decoded > most:
        raise _fault(file, f"decodes to {decoded >> 20} MiB, of at most {most >> 20}; refused as a compression bomb")


def _row_of(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1


def _fault(file: str, rule: str, where: str = "") -> DataInvalid:
    return DataInvalid(f"{file}: {where + ': ' if where else ''}{rule}")


def _shown(value: object) -> str:
    """Foreign text, quoted, short and in ASCII: it may end up in a terminal or a prompt."""
    text = str(value)
    return ascii(text if len(text) <= SHOWN else text[:SHOWN] + "...")
