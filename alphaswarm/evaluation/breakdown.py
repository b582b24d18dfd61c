"""The evidence cut into parts: by calendar year, by the state of the market, by group of names."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.backtest import RankedRows, metrics
from alphaswarm.core import EvidenceInvalid
from alphaswarm.core.jit import jit
from alphaswarm.evaluation.ic import newey_west_t
from alphaswarm.evaluation.series import FactorSeries

__all__ = ["MIN_GROUP", "REGIME_ROWS", "Part", "by_group", "by_regime", "by_year", "market_regimes"]

# Rows over which the market's direction and volatility are judged: a quarter of trading days.
REGIME_ROWS = 60
# A correlation over fewer names of one group is mostly chance, even averaged over years.
MIN_GROUP = 10
# The exponent of 2 of the smallest unit: its reciprocal is finite.
_SMALLEST = -1000

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Part:
    """Figures of a part of the evidence; None where undefined, which is where `n` or the days are too few.

    Attributes:
        name: "2009", "market up", "sector: Energy".
        n: dates with a defined rank IC.
        ic: mean Pearson correlation with the label.
        ic_t: its Newey-West t, the dates of the part strung together.
        rank_ic: mean Spearman correlation.
        rank_ic_t: its t.
        evidence: mean correlation of ranks with the scaled residual label.
        evidence_t: its t.
        sharpe: of the gross result of the part's active days, annualised; None for groups, whose book is
            that of all names.
    """

    name: str
    n: int
    ic: float | None
    ic_t: float | None
    rank_ic: float | None
    rank_ic_t: float | None
    evidence: float | None
    evidence_t: float | None
    sharpe: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def by_year(series: FactorSeries) -> tuple[Part, ...]:
    """One part for each calendar year of the window, in order."""
    years = series.dates.astype("datetime64[Y]")
    return tuple(_dates(str(year), series, years == year) for year in np.unique(years))


def by_regime(series: FactorSeries, regimes: Mapping[str, NDArray[np.bool_]]) -> tuple[Part, ...]:
    """One part for each of `regimes`: name to the dates [D] that belong to it.

    Raises:
        EvidenceInvalid: another number of dates than the series has.
    """
    for name, days in regimes.items():
        if days.shape != series.dates.shape:
            raise EvidenceInvalid(f"regime {name!r} must mark the {series.dates.size} dates, got shape {days.shape}")
    return tuple(_dates(name, series, days) for name, days in regimes.items())


def market_regimes(market: NDArray[np.float64]) -> dict[str, NDArray[np.bool_]]:
    """The state of the market as known at each close, from its returns `market` [T] up to that row.

    "market up" and "market down": the sign of its compounded return over 60 rows. "volatility high" and
    "volatility low": the standard deviation over 60 rows against the median of all such values so far,
    this one included; a tie is low. Rows without 60 finite returns behind them belong to none.

    Returns:
        name to bool [T].
    """
    days = market.size
    growth, spread = np.full(days, np.nan), np.full(days, np.nan)
    if days >= REGIME_ROWS:
        rows = np.lib.stride_tricks.sliding_window_view(market, REGIME_ROWS)
        growth[REGIME_ROWS - 1 :] = np.prod(1.0 + rows, axis=1) - 1.0
        spread[REGIME_ROWS - 1 :] = rows.std(axis=1, ddof=1)
    usual = _expanding_median(spread)
    return {
        "market up": growth > 0.0,
        "market down": growth <= 0.0,
        "volatility high": spread > usual,
        "volatility low": spread <= usual,
    }


def by_group(
    name: str,
    labels: tuple[str, ...],
    codes: NDArray[np.int32],
    ranked: RankedRows,
    factor: Floats,
    label_ranks: RankedRows,
    label: Floats,
    scaled: Floats | None,
    horizon: int,
) -> tuple[Part, ...]:
    """The correlations among the names of each group, over the dates with 10 of them or more.

    Args:
        name: of the grouping, as in "sector".
        labels: what the codes 0, 1, ... stand for.
        codes: int32 [D, N], -1 where missing.
        ranked: the factor, ranked.
        factor: [D, N].
        label_ranks: forward returns, ranked.
        label: [D, N], forward returns.
        scaled: [D, N], residual labels over volatility; None where there are none.
        horizon: rows of the label.

    Raises:
        EvidenceInvalid: shapes that differ.
    """
    shape = codes.shape
    arrays = [ranked.ranks, factor, label_ranks.ranks, label, *([] if scaled is None else [scaled])]
    if any(array.shape != shape for array in arrays):
        raise EvidenceInvalid(f"factor, labels and groups must share a shape, got {[a.shape for a in arrays]}, {shape}")
    ic, rank_ic, evidence = _group_correlations(
        ranked.ranks,
        ranked.order,
        ranked.tie,
        ranked.count,
        factor,
        label_ranks.ranks,
        label_ranks.order,
        label_ranks.tie,
        label_ranks.count,
        label,
        np.full(shape, np.nan) if scaled is None else scaled,
        codes,
        len(labels),
        MIN_GROUP,
    )
    return tuple(
        _part(f"{name}: {label}", ic[:, g], rank_ic[:, g], evidence[:, g], None, horizon)
        for g, label in enumerate(labels)
    )


def _dates(name: str, series: FactorSeries, days: NDArray[np.bool_]) -> Part:
    active = series.active & days
    sharpe = metrics.sharpe(series.gross[active], series.periods)
    return _part(name, series.ic[days], series.rank_ic[days], series.evidence[days], sharpe, series.horizon)


def _part(name: str, ic: Floats, rank_ic: Floats, evidence: Floats, sharpe: float | None, horizon: int) -> Part:
    means = [(metrics.mean(v[np.isfinite(v)]), newey_west_t(v, horizon=horizon)) for v in (ic, rank_ic, evidence)]
    n = int(np.isfinite(rank_ic).sum())
    return Part(name, n, *means[0], *means[1], *means[2], sharpe)


def _expanding_median(values: Floats) -> Floats:
    """The median of the finite values up to each row, that row included."""
    out = np.full(values.size, np.nan)
    ordered: list[float] = []
    for row in np.flatnonzero(np.isfinite(values)):
        insort(ordered, float(values[row]))
        middle = len(ordered) // 2
        out[row] = ordered[middle] if len(ordered) % 2 else 0.5 * (ordered[middle - 1] + ordered[middle])
    return out


@jit
def _group_correlations(
    ranks: Floats,
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: NDArray[np.int64],
    factor: Floats,
    label_ranks: Floats,
    label_order: NDArray[np.int32],
    label_tie: NDArray[np.int32],
    label_count: NDArray[np.int64],
    label: Floats,
    scaled: Floats,
    codes: NDArray[np.int32],
    groups: int,
    min_names: int,
) -> tuple[Floats, Floats, Floats]:
    """IC, rank IC and evidence [D, G] among the names of each group."""
    days, names = codes.shape
    ic = np.full((days, groups), np.nan)
    rank_ic = np.full((days, groups), np.nan)
    evidence = np.full((days, groups), np.nan)
    group = np.empty(names, np.int64)
    place = np.empty(names, np.int64)
    start = np.empty(groups + 1, np.int64)
    rank = np.empty(groups + 1, np.int64)
    level = np.empty(groups + 1, np.int64)
    among = np.empty(names)
    x = np.empty(names)
    y = np.empty(names)
    for t in range(days):
        n = _in_groups(codes[t], ranks[t], label_ranks[t], groups, group, place, start)
        _ranks_within(order[t], tie[t], count[t], group, rank, level, among)
        for k in range(n):
            x[k] = among[place[k]]
        _ranks_within(label_order[t], label_tie[t], label_count[t], group, rank, level, among)
        for k in range(n):
            y[k] = among[place[k]]
        _correlate(x, y, start, min_names, rank_ic[t])
        same = True
        for k in range(n):
            y[k] = scaled[t, place[k]]
            same = same and np.isfinite(y[k])
        if same:
            _correlate(x, y, start, min_names, evidence[t])
        for k in range(n):
            x[k] = factor[t, place[k]]
            y[k] = label[t, place[k]]
        _correlate(x, y, start, min_names, ic[t])
        for g in range(groups):
            if np.isnan(rank_ic[t, g]):
                ic[t, g] = np.nan
        if not same:  # residual labels are rarer
            n = _in_groups(codes[t], ranks[t], scaled[t], groups, group, place, start)
            _ranks_within(order[t], tie[t], count[t], group, rank, level, among)
            for k in range(n):
                x[k] = among[place[k]]
                y[k] = scaled[t, place[k]]
            _correlate(x, y, start, min_names, evidence[t])
    return ic, rank_ic, evidence


@jit
def _in_groups(
    codes: NDArray[np.int32],
    a: Floats,
    b: Floats,
    groups: int,
    group: NDArray[np.int64],
    place: NDArray[np.int64],
    start: NDArray[np.int64],
) -> int:
    """List names that have a group and finite `a` and `b` in `place` [:n], group after group; returns n.

    `start` [G + 1] says where each begins, `group` [N] names the group, G for names that are not listed.
    """
    start[:] = 0
    for i in range(codes.size):
        there = codes[i] >= 0 and np.isfinite(a[i]) and np.isfinite(b[i])
        group[i] = codes[i] if there else groups
        start[group[i]] += 1
    n = 0
    for g in range(groups + 1):
        n += start[g]
        start[g] = n - start[g]
    for i in range(codes.size):
        if group[i] < groups:
            place[start[group[i]]] = i
            start[group[i]] += 1
    for g in range(groups, 0, -1):
        start[g] = start[g - 1]
    start[0] = 0
    return int(start[groups])


@jit
def _ranks_within(
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: int,
    group: NDArray[np.int64],
    rank: NDArray[np.int64],
    level: NDArray[np.int64],
    out: Floats,
) -> None:
    """Average ranks [N] of one sorted row among the names of the same `group`, without sorting again."""
    rank[:] = 0
    if count > 0 and tie[count - 1] == count - 1:  # nothing is equal
        for k in range(count):
            g = group[order[k]]
            rank[g] += 1
            out[order[k]] = rank[g]
        return
    level[:] = 0
    k = 0
    while k < count:
        stop = k + 1
        while stop < count and tie[stop] == tie[k]:
            stop += 1
        if stop == k + 1:
            g = group[order[k]]
            rank[g] += 1
            out[order[k]] = rank[g]
        else:  # equal values share the average rank within their group
            for one in range(k, stop):
                level[group[order[one]]] += 1
            for one in range(k, stop):
                g = group[order[one]]
                out[order[one]] = rank[g] + 0.5 * (level[g] + 1)
            for one in range(k, stop):
                g = group[order[one]]
                rank[g] += level[g]
                level[g] = 0
        k = stop


@jit
def _correlate(a: Floats, b: Floats, start: NDArray[np.int64], min_names: int, out: Floats) -> None:
    """Pearson correlation of `a` and `b` from `start` to `start` for each group."""
    for g in range(out.size):
        first = start[g]
        stop = start[g + 1]
        n = stop - first
        if n < min_names:
            continue
        mean_a = 0.0
        mean_b = 0.0
        size_a = 0.0
        size_b = 0.0
        for k in range(first, stop):
            mean_a += a[k]
            mean_b += b[k]
            size_a = max(size_a, abs(a[k]))
            size_b = max(size_b, abs(b[k]))
        mean_a /= n
        mean_b /= n
        # in units near the largest value, so that squares neither vanish nor overflow; powers of 2 round nothing
        unit_a = math.ldexp(1.0, -max(math.frexp(size_a)[1], _SMALLEST))
        unit_b = math.ldexp(1.0, -max(math.frexp(size_b)[1], _SMALLEST))
        ab = 0.0
        aa = 0.0
        bb = 0.0
        for k in range(first, stop):
            x = (a[k] - mean_a) * unit_a
            y = (b[k] - mean_b) * unit_b
            ab += x * y
            aa += x * x
            bb += y * y
        if aa > 1e-24 and bb > 1e-24:  # below this only rounding differs
            out[g] = min(1.0, max(-1.0, ab / np.sqrt(aa * bb)))
