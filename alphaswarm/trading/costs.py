"""What a trade costs: the only place in the package where costs are worked out.

Every model answers one question, ``charge(traded, names)``: what each name costs on a day, in the unit
of `traded`. Engines, evidence and capacity ask it and hold no opinion of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, SpecInvalid

__all__ = [
    "BASIS_POINT",
    "COST_CURVE_BP",
    "DEFAULT_COST_BP",
    "BorrowCosts",
    "Costs",
    "MinimumFee",
    "ProportionalCosts",
    "SpreadCosts",
    "SquareRootImpact",
    "SumOfCosts",
    "TradedNames",
    "largest",
]

BASIS_POINT = 1e-4

# A plain figure for liquid US shares traded by a small account: commission plus half the spread.
DEFAULT_COST_BP = 5.0

# Costs at which every result is also shown, so that nobody has to share our opinion of 5 bp.
COST_CURVE_BP = (0.0, 1.0, 2.0, 5.0, 10.0)

Array = NDArray[np.float64]
Traded = TypeVar("Traded", float, Array)


@dataclass(frozen=True, eq=False)
class TradedNames:
    """What is known of the names when their costs are worked out; [..., N] beside what is traded.

    A model takes what it needs and refuses to work without it. NaN is unknown.

    Attributes:
        price: per share, in money.
        dollar_volume: value that the market trades in a day, in the unit of what is traded.
        volatility: standard deviation of daily returns.
        held: signed value of the position after the trade.
    """

    price: Array | None = None
    dollar_volume: Array | None = None
    volatility: Array | None = None
    held: Array | None = None


class Costs(Protocol):
    """What trading costs, name by name."""

    def charge(self, traded: Array, names: TradedNames) -> Array:
        """The cost of trading `traded` [..., N], absolute values in money, in the same unit and shape.

        0 where nothing is traded (and, for what is held, nothing is held); NaN where something is
        traded and the cost can't be known.

        Raises:
            DataInvalid: `names` lacks what the model needs, or has another shape.
        """
        ...


@dataclass(frozen=True)
class ProportionalCosts:
    """The same charge on every unit of value traded, bought or sold.

    Attributes:
        bp: basis points (1/100 of a percent) of the value traded, 0 or more.

    Raises:
        SpecInvalid: a charge that is negative or not finite.
    """

    bp: float = DEFAULT_COST_BP

    def __post_init__(self) -> None:
        if not (math.isfinite(self.bp) and self.bp >= 0):
            raise SpecInvalid(f"costs must be a finite number of basis points, 0 or more, got {self.bp!r}")
        object.__setattr__(self, "bp", float(self.bp))

    @property
    def rate(self) -> float:
        """The charge as a fraction of the value traded."""
        return self.bp * BASIS_POINT

    def charge(self, traded: Traded, names: TradedNames | None = None) -> Traded:  # noqa: ARG002 - the same for all
        """What it costs to trade `traded` (absolute values, in any unit), in the same unit and shape."""
        return self.rate * traded


@dataclass(frozen=True)
class SpreadCosts:
    """Half the quoted spread on every unit of value traded.

    Attributes:
        bp: the quoted spread, in basis points of the price.
        tick: the smallest spread that is quoted, in the unit of the price (0.01 for US shares): cheap
            shares cost more. 0 leaves prices out of it, as it must where they are adjusted.

    Raises:
        SpecInvalid: a figure that is negative or not finite.
    """

    bp: float
    tick: float = 0.0

    def __post_init__(self) -> None:
        _positive(self, "bp", "tick")

    def charge(self, traded: Array, names: TradedNames) -> Array:
        """``traded * max(bp / 10000, tick / price) / 2``; see `Costs`."""
        spread: Array = np.full(traded.shape, self.bp * BASIS_POINT)
        if self.tick > 0.0:
            spread = np.maximum(spread, self.tick / _known(names.price, "price", "a spread of one tick", traded))
        return _times(0.5 * spread, traded)


@dataclass(frozen=True)
class SquareRootImpact:
    """Prices move against a large order: by the square root of its share in the day's volume.

    ``cost = coefficient * volatility * sqrt(traded / dollar_volume)`` per unit of value traded. With a
    coefficient of 1, trading a whole day's volume costs a day's volatility (Grinold and Kahn 2000,
    ch. 16). Almgren, Thum, Hauptmann and Li (2005), "Direct estimation of equity market impact", find
    an exponent of 3/5 and smaller coefficients: 1 is the careful side.

    Attributes:
        coefficient: cost of a full day's volume, in daily volatilities.
        cap: the largest share of the day's dollar volume that may be traded in a name, 0 to 1.

    Raises:
        SpecInvalid: a coefficient that is negative or not finite, or a cap outside ``0 < cap <= 1``.
    """

    coefficient: float = 1.0
    cap: float = 0.05

    def __post_init__(self) -> None:
        _positive(self, "coefficient", "cap")
        if not 0.0 < self.cap <= 1.0:
            raise SpecInvalid(f"cap must be a share of the day's volume above 0 and at most 1, got {self.cap!r}")

    def charge(self, traded: Array, names: TradedNames) -> Array:
        """The cost whatever the cap; see `Costs`. `largest` is what an engine may trade."""
        volatility = _known(names.volatility, "volatility", "square-root impact", traded)
        volume = _known(names.dollar_volume, "dollar_volume", "square-root impact", traded)
        return _times(self.coefficient * volatility * np.sqrt(traded / volume), traded)

    def largest(self, names: TradedNames) -> Array:
        """The largest value that may be traded in each name, [..., N]; NaN where volume is unknown."""
        if names.dollar_volume is None:
            raise DataInvalid("a cap on the share of the day's volume needs dollar_volume of the names, got none")
        return self.cap * names.dollar_volume


@dataclass(frozen=True)
class BorrowCosts:
    """The fee for borrowing what is sold short, for one period.

    Attributes:
        rate: per year, as a fraction of the short value (0.005 is easy to borrow).
        periods: periods in a year.

    Raises:
        SpecInvalid: a rate that is negative or not finite, or no positive number of periods.
    """

    rate: float = 0.005
    periods: float = 252.0

    def __post_init__(self) -> None:
        _positive(self, "rate", "periods")
        if self.periods == 0.0:
            raise SpecInvalid("periods must be a positive number in a year, got 0")

    def charge(self, traded: Array, names: TradedNames) -> Array:
        """``rate / periods * max(-held, 0)``, whatever is traded; see `Costs`."""
        held = _beside(names.held, "held", "a borrowing fee", traded)
        return self.rate / self.periods * np.maximum(-held, 0.0)


@dataclass(frozen=True)
class MinimumFee:
    """At least `fee` for every name that is traded at all.

    Attributes:
        fee: per order, in the unit of what is traded.
        costs: what the order costs otherwise.

    Raises:
        SpecInvalid: a fee that is negative or not finite.
    """

    fee: float
    costs: Costs = field(default_factory=ProportionalCosts)

    def __post_init__(self) -> None:
        _positive(self, "fee")

    def charge(self, traded: Array, names: TradedNames) -> Array:
        """The larger of fee and costs where something is traded; see `Costs`."""
        charged = self.costs.charge(traded, names)
        return np.where(traded > 0.0, np.maximum(charged, self.fee), charged)


@dataclass(frozen=True)
class SumOfCosts:
    """Several costs on top of each other.

    Attributes:
        parts: what is added up; none is free.
    """

    parts: tuple[Costs, ...]

    def charge(self, traded: Array, names: TradedNames) -> Array:
        """The sum over the parts; see `Costs`."""
        total = np.zeros(traded.shape)
        for part in self.parts:
            total += part.charge(traded, names)
        return total


def largest(costs: Costs, names: TradedNames) -> Array | None:
    """The largest value that `costs` let an engine trade in each name [..., N]; None where they set no cap.

    Raises:
        DataInvalid: a cap is set and the dollar volume of the names is not given.
    """
    if isinstance(costs, SquareRootImpact):
        return costs.largest(names)
    inner = costs.parts if isinstance(costs, SumOfCosts) else (costs.costs,) if isinstance(costs, MinimumFee) else ()
    caps = [cap for cap in (largest(part, names) for part in inner) if cap is not None]
    return np.minimum.reduce(caps) if caps else None


def _positive(model: object, *figures: str) -> None:
    """Each figure as a float, 0 or more."""
    for name in figures:
        value = getattr(model, name)
        if not (math.isfinite(value) and value >= 0):
            raise SpecInvalid(f"{name} must be a finite number, 0 or more, got {value!r}")
        object.__setattr__(model, name, float(value))


def _beside(values: Array | None, name: str, who: str, traded: Array) -> Array:
    if values is None or values.shape != traded.shape:
        got = "none" if values is None else f"shape {values.shape}"
        raise DataInvalid(f"{who} needs {name} of the names, {traded.shape} like what is traded, got {got}")
    return values


def _known(values: Array | None, name: str, who: str, traded: Array) -> Array:
    """`values`, which mean something only above 0."""
    given = _beside(values, name, who, traded)
    return np.where(given > 0.0, given, np.nan)


def _times(rate: Array, traded: Array) -> Array:
    # an unknown rate costs nothing where nothing is traded
    return np.where(traded == 0.0, 0.0, rate * traded)
