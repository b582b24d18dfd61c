"""The evidence cut into parts: by calendar year, by the state of the market, by group of names."""

from __future__ import annotations

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

__all__ = ["MIN_GROUP", "REGIME_ROWS", "Part", "by_group", "by_regime", "by_year", "market_regimes", "ranks_within"]

# Rows over which the market's direction and volatility are judged: a quarter of trading days.
REGIME_ROWS = 60
# A correlation over fewer names of one group is mostly chance, even averaged over years.
MIN_GROUP = 10

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
    size = len(labels)
    among = ranks_within(ranked, codes, label)
    rank_ic = _within(among, ranks_within(label_ranks, codes, factor), codes, size, MIN_GROUP)
    ic = np.where(np.isnan(rank_ic), np.nan, _within(factor, label, codes, size, MIN_GROUP))
    evidence = np.full(rank_ic.shape, np.nan)
    if scaled is not None:
        evidence = _within(ranks_within(ranked, codes, scaled), scaled, codes, size, MIN_GROUP)
    return tuple(
        _part(f"{name}: {label}", ic[:, g], rank_ic[:, g], evidence[:, g], None, horizon)
        for g, label in enumerate(labels)
    )


def ranks_within(ranked: RankedRows, codes: NDArray[np.int32], beside: Floats) -> Floats:
    """Average ranks [D, N] among the names of the same group (code 0 or more) whose `beside` is finite.

    Without sorting again. NaN elsewhere.
    """
    out = np.full(codes.shape, np.nan)
    _ranks_within(ranked.order, ranked.tie, ranked.count, codes, beside, out)
    return out


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
def _ranks_within(
    order: NDArray[np.int32],
    tie: NDArray[np.int32],
    count: NDArray[np.int64],
    codes: NDArray[np.int32],
    beside: Floats,
    out: Floats,
) -> None:
    days, names = codes.shape
    rank = np.empty(max(1, codes.max() + 1), np.int64)
    level = np.zeros(rank.size, np.int64)
    group = np.empty(names, np.int32)
    for t in range(days):
        rank[:] = 0
        for i in range(names):
            group[i] = codes[t, i] if np.isfinite(beside[t, i]) else -1
        k = 0
        while k < count[t]:
            stop = k + 1
            while stop < count[t] and tie[t, stop] == tie[t, k]:
                stop += 1
            if stop == k + 1:
                g = group[order[t, k]]
                if g >= 0:
                    rank[g] += 1
                    out[t, order[t, k]] = rank[g]
            else:  # equal values share the average rank within their group
                for place in range(k, stop):
                    g = group[order[t, place]]
                    if g >= 0:
                        level[g] += 1
                for place in range(k, stop):
                    g = group[order[t, place]]
                    if g >= 0:
                        out[t, order[t, place]] = rank[g] + 0.5 * (level[g] + 1)
                for place in range(k, stop):
                    g = group[order[t, place]]
                    if g >= 0:
                        rank[g] += level[g]
                        level[g] = 0
            k = stop


@jit
def _within(a: Floats, b: Floats, codes: NDArray[np.int32], groups: int, min_names: int) -> Floats:
    """Pearson correlation [D, G] of `a` and `b` among the names of each group that have both."""
    days, names = codes.shape
    out = np.full((days, groups), np.nan)
    n = np.empty(groups, np.int64)
    mean_a = np.empty(groups)
    mean_b = np.empty(groups)
    size_a = np.empty(groups)
    size_b = np.empty(groups)
    ab = np.empty(groups)
    aa = np.empty(groups)
    bb = np.empty(groups)
    for t in range(days):
        n[:] = 0
        for array in (mean_a, mean_b, size_a, size_b, ab, aa, bb):
            array[:] = 0.0
        for i in range(names):
            g = codes[t, i]
            if g >= 0 and np.isfinite(a[t, i]) and np.isfinite(b[t, i]):
                n[g] += 1
                mean_a[g] += a[t, i]
                mean_b[g] += b[t, i]
                size_a[g] = max(size_a[g], abs(a[t, i]))
                size_b[g] = max(size_b[g], abs(b[t, i]))
        for g in range(groups):
            mean_a[g] /= max(n[g], 1)
            mean_b[g] /= max(n[g], 1)
        for i in range(names):
            g = codes[t, i]
            if g >= 0 and np.isfinite(a[t, i]) and np.isfinite(b[t, i]):
                x = (a[t, i] - mean_a[g]) / size_a[g] if size_a[g] > 0.0 else 0.0
                y = (b[t, i] - mean_b[g]) / size_b[g] if size_b[g] > 0.0 else 0.0
                ab[g] += x * y
                aa[g] += x * x
                bb[g] += y * y
        for g in range(groups):
            # below this only rounding differs
            if n[g] >= min_names and aa[g] > 1e-24 and bb[g] > 1e-24:
                out[t, g] = min(1.0, max(-1.0, ab[g] / np.sqrt(aa[g] * bb[g])))
    return out
