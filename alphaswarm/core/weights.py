"""`TargetWeights`: w_t, the one interface between any signal and any execution."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.core.errors import WeightsInvalid
from alphaswarm.core.summary import canonical_json

__all__ = ["TargetWeights"]


@dataclass(frozen=True, eq=False)
class TargetWeights:
    """Target fractions of equity per symbol, decided at `as_of`.

    The rest of the equity is cash, said by `cash`; shorts are negative. A symbol that is
    dropped has weight 0, it is never absent. NaN, infinity or a wrong length is an error,
    and the caller then holds what it has.

    Attributes:
        as_of: datetime64[ns], when the weights were decided.
        symbols: the whole universe, distinct.
        weights: float64 [N], read-only.
        provenance: hashes of what made them (panel, expression, spec, seed).
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
        values = np.array(weights, np.float64)
        moment = np.datetime64(str(as_of), "ns")
        if np.isnat(moment):
            raise WeightsInvalid("as_of must be a date, got NaT")
        if values.shape != (len(names),):
            raise WeightsInvalid(f"weights must have one value for each of {len(names)} symbols, got {values.shape}")
        if len(set(names)) != len(names):
            raise WeightsInvalid("symbols must be distinct")
        if not np.isfinite(values).all():
            bad = int(np.argmin(np.isfinite(values)))
            raise WeightsInvalid(f"weights must be finite, got {values[bad]} for {names[bad]}")
        values += 0.0  # one zero: -0.0 and 0.0 hash alike
        values.setflags(write=False)
        object.__setattr__(self, "as_of", moment)
        object.__setattr__(self, "symbols", names)
        object.__setattr__(self, "weights", values)
        object.__setattr__(self, "provenance", MappingProxyType(dict(provenance)))

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
        """1 - sum of weights."""
        return float(1.0 - self.weights.sum())

    @property
    def gross(self) -> float:
        """Sum of absolute weights."""
        return float(np.abs(self.weights).sum())

    def __getitem__(self, symbol: str) -> float:
        """The weight of `symbol`; `KeyError` when it is outside the universe."""
        return self._by_symbol[symbol]

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
