"""`TargetWeights`: w_t, the one interface between any signal and any execution."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core.errors import WeightsInvalid
from alphaswarm.core.summary import canonical_json

__all__ = ["TargetWeights", "decisions_digest"]

# No book is a thousand times its equity; below it, weights and cash make 1 to 1e-12 whatever they are.
MAX_GROSS = 1e3

# A day, or a moment of it, without a zone; "now" and "today" would depend on when they are read.
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class TargetWeights:
    """Target fractions of equity per symbol, decided at `as_of`.

    The rest of the equity is cash, said by `cash`; shorts are negative. A symbol that is
    dropped has weight 0, it is never absent. NaN, infinity or a wrong length is an error,
    and the caller then holds what it has.

    Two are equal when their digests are: the order of the symbols and names of weight 0 say nothing.

    Attributes:
        as_of: datetime64[ns], when the weights were decided; a wall clock without a zone.
        symbols: the whole universe, distinct names.
        weights: float64 [N], read-only.
        provenance: hashes of what made them (panel, expression, spec, seed), text to text.

    Raises:
        WeightsInvalid: a date, length, symbol, number or provenance that can't be.
    """

    as_of: np.datetime64
    symbols: tuple[str, ...]
    weights: NDArray[np.float64]
    provenance: Mapping[str, str]

    def __init__(
        self,
        as_of: np.datetime64 | str,
        symbols: Sequence[str],
        weights: ArrayLike,
        provenance: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        names = tuple(str(symbol) for symbol in symbols)
        object.__setattr__(self, "as_of", _moment(as_of))
        object.__setattr__(self, "symbols", names)
        object.__setattr__(self, "weights", _checked(weights, names))
        object.__setattr__(self, "provenance", MappingProxyType(_texts(provenance)))

    @classmethod
    def from_mapping(
        cls,
        as_of: np.datetime64 | str,
        weights: Mapping[str, float],
        provenance: Mapping[str, str] = MappingProxyType({}),
    ) -> TargetWeights:
        """From symbol to weight."""
        return cls(as_of, list(weights), list(weights.values()), provenance)

    @property
    def cash(self) -> float:
        """1 - sum of weights, summed exactly: the same in every order of the symbols."""
        return 1.0 - math.fsum(self.weights.tolist())

    @property
    def gross(self) -> float:
        """Sum of absolute weights."""
        return math.fsum(np.abs(self.weights).tolist())

    def __getitem__(self, symbol: str) -> float:
        """The weight of `symbol`; `KeyError` when it is outside the universe."""
        return self._by_symbol[symbol]

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, TargetWeights) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def to_bytes(self) -> bytes:
        """Canonical bytes: sorted by symbol, zero weights left out.

        So permuting symbols or adding one of weight 0 changes nothing.
        """
        held = {name: weight for name, weight in self._by_symbol.items() if weight}
        body = {"as_of": str(self.as_of), "weights": held, "provenance": dict(self.provenance)}
        return canonical_json(body)

    @cached_property
    def digest(self) -> str:
        """sha256 of `to_bytes()`: the same in backtest, paper and live logs."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @cached_property
    def _by_symbol(self) -> dict[str, float]:
        return dict(zip(self.symbols, self.weights.tolist(), strict=True))


def decisions_digest(decisions: Iterable[TargetWeights | None]) -> str:
    """sha256 of a log of decisions, one after the other; None is a decision to hold.

    Of the same decisions it is the same in a backtest, on paper and live, whatever then was filled.
    """
    total = hashlib.sha256()
    for decision in decisions:
        total.update(b"hold\n" if decision is None else f"{decision.digest}\n".encode())
    return total.hexdigest()


def _moment(as_of: np.datetime64 | str) -> np.datetime64:
    text = str(as_of)
    try:
        moment = np.datetime64(text, "ns") if _MOMENT.fullmatch(text) else np.datetime64("NaT")
    except ValueError:  # the 31st of June
        moment = np.datetime64("NaT")
    if np.isnat(moment) or str(moment)[:10] != text[:10]:  # nanoseconds reach from 1678 to 2262
        raise WeightsInvalid(f"as_of must be a date such as 2012-01-03 or 2012-01-03T16:00, without a zone, got {text}")
    return moment


def _checked(weights: ArrayLike, names: tuple[str, ...]) -> NDArray[np.float64]:
    try:
        values = np.array(weights, np.float64)
    except (TypeError, ValueError) as error:
        raise WeightsInvalid(f"weights must be numbers, got {error}") from None
    if values.shape != (len(names),):
        raise WeightsInvalid(f"weights must have one value for each of {len(names)} symbols, got {values.shape}")
    if len(set(names)) != len(names) or not all(names):
        raise WeightsInvalid("symbols must be distinct, and none may be empty")
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        raise WeightsInvalid(f"weights must be finite, got {values[bad]} for {names[bad]}")
    gross = math.fsum(np.minimum(np.abs(values), MAX_GROSS).tolist())
    if gross > MAX_GROSS:
        raise WeightsInvalid(f"weights must sum to at most {MAX_GROSS:g} times the equity in absolute value, got more")
    values += 0.0  # one zero: -0.0 and 0.0 hash alike
    values.setflags(write=False)
    return values


def _texts(provenance: Mapping[str, str]) -> dict[str, str]:
    found = dict(provenance)
    for name, value in found.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise WeightsInvalid(f"provenance must map text to text, got {name!r}: {value!r}")
    return found
