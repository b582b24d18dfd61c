"""`Panel`: the one shape in which market data walks through the package."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core.errors import DataInvalid, FieldNotFound, near
from alphaswarm.core.summary import canonical_json

__all__ = ["Panel"]

# A bare name of the expression language; also the rule for field and group names.
FIELD_NAME = re.compile(r"(?!__)(?!(?:and|or|not)\Z)[a-z_][a-z0-9_]{0,63}", re.ASCII)
# Fields named like labels would hand the future to a formula.
LABEL_NAME = re.compile(r"fwd_.*|future_.*|label.*|target.*")


@dataclass(frozen=True, eq=False)
class Panel:
    """Fields of shape [T, N] (T dates by N symbols), read-only, time-major.

    Attributes:
        fields: name to float64 [T, N]; NaN is missing, infinity is refused.
        dates: datetime64[ns] [T], strictly increasing.
        symbols: N distinct names.
        universe: bool [T, N], point-in-time membership.
        groups: name to string labels [T, N]; "" is missing.
        meta: source, licence, caveats, adjusted, survivorship_biased, periods_per_year, ...
    """

    fields: Mapping[str, NDArray[np.float64]]
    dates: NDArray[np.datetime64]
    symbols: tuple[str, ...]
    universe: NDArray[np.bool_]
    groups: Mapping[str, NDArray[np.str_]]
    meta: Mapping[str, Any]

    @classmethod
    def from_arrays(
        cls,
        fields: Mapping[str, ArrayLike],
        dates: ArrayLike,
        symbols: Sequence[str],
        universe: ArrayLike | None = None,
        groups: Mapping[str, ArrayLike] | None = None,
        meta: Mapping[str, Any] | None = None,
    ) -> Panel:
        """Copy, check and freeze.

        Args:
            fields: name to [T, N] numbers.
            dates: [T] strictly increasing dates (anything numpy reads as datetime64).
            symbols: N distinct, non-empty names.
            universe: [T, N] membership; everything is a member when absent.
            groups: name to labels, [N] (fixed) or [T, N] (point in time).
            meta: where the data come from and what is wrong with them.

        Raises:
            DataInvalid: a shape, name, date or value that breaks the rules above.
        """
        days = np.array(dates, dtype="datetime64[ns]")
        names = tuple(str(symbol) for symbol in symbols)
        if days.ndim != 1 or days.size == 0 or not names:
            raise DataInvalid(f"a panel needs at least one date and one symbol, got {days.size} and {len(names)}")
        shape = (days.size, len(names))
        faults = np.flatnonzero(np.isnat(days) | np.r_[False, np.diff(days) <= np.timedelta64(0)])
        if faults.size:
            row = int(faults[0])
            raise DataInvalid(
                f"dates must strictly increase, got {days[row]} in row {row} after {days[max(row - 1, 0)]}"
            )
        if len(set(names)) != len(names) or not all(names):
            repeated = sorted({name for name in names if not name or names.count(name) > 1})
            raise DataInvalid(f"symbols must be distinct and non-empty, got {repeated[:5]} more than once")
        if not fields:
            raise DataInvalid("a panel needs at least one field, got none")
        frozen = {name: _field(name, values, days, names) for name, values in sorted(fields.items())}
        members = np.ones(shape, np.bool_) if universe is None else np.array(universe, np.bool_)
        if members.shape != shape:
            raise DataInvalid(f"universe must have shape {shape}, got {members.shape}")
        labels = {name: _labels(name, values, shape) for name, values in sorted((groups or {}).items())}
        for array in (days, members):
            array.setflags(write=False)
        return cls(
            MappingProxyType(frozen), days, names, members, MappingProxyType(labels), MappingProxyType(dict(meta or {}))
        )

    @property
    def shape(self) -> tuple[int, int]:
        """(T, N)."""
        return self.dates.size, len(self.symbols)

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """The field `name`, [T, N]; `FieldNotFound` names what is there."""
        try:
            return self.fields[name]
        except KeyError:
            hint = near(name, self.fields)
            raise FieldNotFound(
                f"this panel has no field {name!r}; it offers {', '.join(self.fields)}{'; ' + hint if hint else ''}"
            ) from None

    def group_codes(self, name: str) -> NDArray[np.int32]:
        """Group `name` as codes [T, N], 0.. in label order and -1 where missing."""
        if name not in self.groups:
            offered = ", ".join(self.groups) or "none"
            raise FieldNotFound(f"this panel has no group {name!r}; it offers {offered}")
        labels = self.groups[name]
        fixed = labels.strides[0] == 0  # one row stands for all dates
        rows = labels[:1] if fixed else labels
        distinct, codes = np.unique(rows, return_inverse=True)
        codes = codes.reshape(rows.shape) - int(distinct[0] == "")  # "" sorts first
        return np.ascontiguousarray(np.broadcast_to(codes.astype(np.int32), self.shape))

    @cached_property
    def digest(self) -> str:
        """sha256 of the content: fields, dates, symbols, universe, groups (not `meta`)."""
        total = hashlib.sha256(canonical_json({"shape": self.shape, "symbols": self.symbols}))
        total.update(self.dates.tobytes())
        total.update(np.packbits(self.universe).tobytes())
        for name, values in self.fields.items():
            total.update(b"field:" + name.encode())
            # one bit pattern for every NaN and for both zeros, so equal panels hash alike
            total.update((np.where(np.isnan(values), np.nan, values) + 0.0).tobytes())
        for name, labels in self.groups.items():
            total.update(b"group:" + name.encode())
            total.update(canonical_json(np.unique(labels[:1] if labels.strides[0] == 0 else labels).tolist()))
            total.update(self.group_codes(name).tobytes())
        return total.hexdigest()

    def head(self, rows: int) -> Panel:
        """The first `rows` dates only: what was known then."""
        return replace(
            self,
            fields=MappingProxyType({name: values[:rows] for name, values in self.fields.items()}),
            dates=self.dates[:rows],
            universe=self.universe[:rows],
            groups=MappingProxyType({name: labels[:rows] for name, labels in self.groups.items()}),
        )


def _field(
    name: str, values: ArrayLike, dates: NDArray[np.datetime64], symbols: tuple[str, ...]
) -> NDArray[np.float64]:
    if not FIELD_NAME.fullmatch(name):
        raise DataInvalid(f"a field name must be a word of the language (a-z, 0-9, _; at most 64), got {name!r}")
    if LABEL_NAME.fullmatch(name):
        raise DataInvalid(
            f"field {name!r} is named like a label (fwd_*, future_*, label*, target*): "
            "it would hand the future to a formula"
        )
    array = np.array(values, dtype=np.float64, order="C")
    if array.shape != (dates.size, len(symbols)):
        raise DataInvalid(f"field {name!r} must have shape {(dates.size, len(symbols))}, got {array.shape}")
    if np.isinf(array).any():
        row, column = np.argwhere(np.isinf(array))[0]
        raise DataInvalid(
            f"field {name!r} must be finite or NaN, got {array[row, column]} "
            f"at {np.datetime_as_string(dates[row], 'D')}, {symbols[column]}"
        )
    array.setflags(write=False)
    return array


def _labels(name: str, values: ArrayLike, shape: tuple[int, int]) -> NDArray[np.str_]:
    if not FIELD_NAME.fullmatch(name):
        raise DataInvalid(f"a group name must be a word of the language (a-z, 0-9, _; at most 64), got {name!r}")
    labels = np.array(values, dtype=np.str_)
    if labels.shape not in (shape, shape[1:]):
        raise DataInvalid(f"group {name!r} must have shape {shape[1:]} or {shape}, got {labels.shape}")
    return np.broadcast_to(labels, shape)  # a read-only view: fixed groups cost no memory
