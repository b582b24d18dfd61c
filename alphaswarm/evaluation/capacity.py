"""What costs leave of a book: the cost curve, the cost at which nothing is left, the money it can carry."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.backtest import metrics
from alphaswarm.backtest.liquidity import VOLUME_ROWS, dollar_volume, trailing_mean
from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.core.jit import jit
from alphaswarm.evaluation.series import FactorSeries
from alphaswarm.trading import COST_CURVE_BP, SquareRootImpact, TradedNames

__all__ = [
    "CURVE_AUM",
    "Capacity",
    "CostPoint",
    "book_capacity",
    "cost_curve",
    "liquidity",
]

# Money at which the Sharpe ratio is shown, in the unit of the panel's dollar volume.
CURVE_AUM = (1e6, 1e7, 1e8, 1e9, 1e10)

# Rows that are charged at once.
_ROWS = 32

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CostPoint:
    """The book's annual figures at one cost, both on gross 1; None where undefined."""

    bp: float
    sharpe: float | None
    ann_return: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def cost_curve(series: FactorSeries, bps: tuple[float, ...] = COST_CURVE_BP) -> tuple[CostPoint, ...]:
    """Net Sharpe ratio and mean return of the book by cost, from the lowest; `bps` plus the series' own cost."""
    points = []
    for bp in sorted({*bps, series.cost_bp}):
        net = series.net(bp)[series.active]
        mean = metrics.mean(net)
        points.append(
            CostPoint(bp, metrics.sharpe(net, series.periods), None if mean is None else mean * series.periods)
        )
    return tuple(points)


def liquidity(panel: Panel, volatility: Floats) -> TradedNames | None:
    """What impact needs to know of the names, known at each close; None where the panel has no dollar volume.

    Dollar volume is the mean over the last 20 rows, of which half must be there.

    Args:
        panel: with `dollar_volume`, or `close` and `volume`.
        volatility: [T, N], standard deviation of daily returns over rows up to each row (60 by custom).
    """
    traded = dollar_volume(panel)
    if traded is None:
        return None
    return TradedNames(dollar_volume=trailing_mean(traded, VOLUME_ROWS), volatility=volatility)


@dataclass(frozen=True)
class Capacity:
    """How much money a book can carry, in the unit of the panel's dollar volume.

    Attributes:
        aum: the smaller of `impact_aum` and `volume_aum`; None where there is neither, with `reason`.
        impact_aum: money at which impact has halved the Sharpe ratio; None where it costs nothing.
        volume_aum: money at which the average dollar traded is the impact's `cap` of its name's day.
        participation: share of the day's volume that the average dollar traded is at `aum`.
        covered: share of the traded value whose dollar volume and volatility are known; the rest is taken
            to be free.
        curve: (money, Sharpe ratio after impact).
        coefficient: of the impact.
        cap: of the impact.
        reason: why there is no `aum`; empty where there is one.
    """

    aum: float | None = None
    impact_aum: float | None = None
    volume_aum: float | None = None
    participation: float | None = None
    covered: float | None = None
    curve: tuple[tuple[float, float | None], ...] = ()
    coefficient: float = 0.0
    cap: float = 0.0
    reason: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"curve": [{"aum": aum, "sharpe": sharpe} for aum, sharpe in self.curve]}


def book_capacity(
    traded: Floats,
    result: Floats,
    names: TradedNames | None,
    *,
    periods: float,
    impact: SquareRootImpact | None = None,
) -> Capacity:
    """The money at which square-root impact halves the Sharpe ratio of `result`.

    Trading a fraction w of the money A in one name costs ``c sigma sqrt(A w / volume) w`` of A, so the
    book's cost on day d is ``sqrt(A) k_d`` with k_d known, and the halving solves a quadratic in sqrt(A):
    ``(g - s k)^2 = (SR / 2)^2 var(g_d - s k_d)``. Nothing is searched for.

    Args:
        traded: [D, N], absolute changes of weight on each day.
        result: [D], what the book earns before impact: the gross result, or that after proportional
            costs, whose Sharpe ratio is then the one that halves.
        names: dollar volume and volatility [D, N] known when each row was decided, see `liquidity`.
        periods: rows in a year.
        impact: coefficient and cap.

    Raises:
        EvidenceInvalid: another number of days.
    """
    model = SquareRootImpact() if impact is None else impact
    if traded.ndim != 2 or result.shape != traded.shape[:1]:
        raise EvidenceInvalid(f"traded [D, N] and result [D] must share their days, got {traded.shape}, {result.shape}")

    def none(reason: str, covered: float | None = None) -> Capacity:
        return Capacity(covered=covered, coefficient=model.coefficient, cap=model.cap, reason=reason)

    if names is None or names.dollar_volume is None:
        return none("the panel has no dollar volume")
    costs = _charged(model, traded, names)
    daily, total, known, squares = _totals(costs, traded, names.dollar_volume)
    covered = known / total if total > 0.0 else None
    if not covered:
        return none("nothing is traded whose dollar volume and volatility are known", covered)
    before = metrics.sharpe(result, periods)
    if before is None or before <= 0.0:
        return none("the book earns nothing before impact", covered)
    average = squares / known  # share of the day's volume by unit of capital
    impact_aum = _halving(result, daily) if daily.any() else None
    volume_aum = model.cap / average
    aum = volume_aum if impact_aum is None else min(impact_aum, volume_aum)
    curve = tuple((money, metrics.sharpe(result - math.sqrt(money) * daily, periods)) for money in CURVE_AUM)
    return Capacity(
        aum=aum,
        impact_aum=impact_aum,
        volume_aum=volume_aum,
        participation=aum * average,
        covered=covered,
        curve=curve,
        coefficient=model.coefficient,
        cap=model.cap,
    )


def _charged(model: SquareRootImpact, traded: Floats, names: TradedNames) -> Floats:
    """What every name costs at a capital of 1 [D, N]; some rows at a time, which stay in the processor's cache."""
    costs = np.empty(traded.shape)
    for start in range(0, traded.shape[0], _ROWS):
        rows = slice(start, start + _ROWS)
        here = TradedNames(
            dollar_volume=None if names.dollar_volume is None else names.dollar_volume[rows],
            volatility=None if names.volatility is None else names.volatility[rows],
        )
        costs[rows] = model.charge(traded[rows], here)
    return costs


@jit
def _totals(costs: Floats, traded: Floats, volume: Floats) -> tuple[Floats, float, float, float]:
    """Known costs by day [D]; what was traded, what of it at known costs, the sum of its squares by volume."""
    daily = np.zeros(traded.shape[0])
    total = 0.0
    known = 0.0
    squares = 0.0
    for d in range(traded.shape[0]):
        for i in range(traded.shape[1]):
            total += traded[d, i]
            if traded[d, i] > 0.0 and np.isfinite(costs[d, i]):
                daily[d] += costs[d, i]
                known += traded[d, i]
                squares += traded[d, i] * (traded[d, i] / volume[d, i])
    return daily, total, known, squares


def _halving(result: Floats, daily: Floats) -> float:
    """A with ``sharpe(result - sqrt(A) daily) = sharpe(result) / 2``, which is above 0."""
    mean, cost = float(result.mean()), float(daily.mean())
    (own, both), (_, other) = np.cov(result, daily, ddof=1)
    quarter = 0.25 * mean**2 / own  # the square of half the Sharpe ratio
    # The quadratic is above 0 at s = 0, and not above it at s = mean / cost, where nothing is earned.
    a = cost**2 - quarter * other
    b = quarter * both - mean * cost  # half of the linear term
    c = mean**2 - quarter * own
    root = math.sqrt(max(b**2 - a * c, 0.0))
    # the smaller root above 0, without taking a difference of near equals
    s = c / (root - b) if b <= 0.0 else -(b + root) / a
    return float(s**2)
