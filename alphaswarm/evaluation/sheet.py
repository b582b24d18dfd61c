"""`TearSheet`: all there is to say about one factor on one window, on one page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest import metrics, rank_rows
from alphaswarm.backtest.ranking import MIN_NAMES
from alphaswarm.core.runtime import make_rng
from alphaswarm.evaluation.book import RankBook, rank_book
from alphaswarm.evaluation.bootstrap import bootstrap_interval
from alphaswarm.evaluation.brain import BrainLabel, SubUniverse, brain_labels
from alphaswarm.evaluation.breakdown import Part, by_group, by_regime, by_year, market_regimes
from alphaswarm.evaluation.capacity import Capacity, CostPoint, book_capacity, cost_curve, liquidity
from alphaswarm.evaluation.evaluator import Evaluator, RankedFactor
from alphaswarm.evaluation.evidence import Evidence, summarise
from alphaswarm.evaluation.ic import newey_west_t
from alphaswarm.evaluation.neutral import ExposureSet, Left, what_is_left
from alphaswarm.evaluation.series import FactorSeries
from alphaswarm.evaluation.sharpe import (
    deflated_sharpe_ratio,
    minimum_backtest_length,
    minimum_track_record_length,
    probabilistic_sharpe_ratio,
    sharpe_moments,
)
from alphaswarm.trading import SquareRootImpact, TradedNames

__all__ = ["SharpeFigures", "TearSheet", "TearSheets"]

# The grouping that "what is left" and the parts by group look at.
SECTOR = "sector"

Floats = NDArray[np.float64]
Interval = tuple[float, float] | None


@dataclass(frozen=True)
class SharpeFigures:
    """A Sharpe ratio and how much of it is left after its error, its moments and the number of tries.

    Attributes:
        sharpe: annualised.
        interval: 95 % by block bootstrap, annualised.
        psr: probability that the true ratio is above 0.
        dsr: probability that it is more than the best of N trials without skill, whose ratios vary by 1 / T.
        min_track_record: rows after which a ratio like this one is above 0 at 95 %.
        min_backtest: rows after which the best of N trials without skill is no longer expected to reach it.
        n_obs: rows behind it.
        n_trials: N.
    """

    sharpe: float | None = None
    interval: Interval = None
    psr: float | None = None
    dsr: float | None = None
    min_track_record: float | None = None
    min_backtest: float | None = None
    n_obs: int = 0
    n_trials: int = 1

    @classmethod
    def of(
        cls, returns: Floats, *, n_trials: int, periods: float, horizon: int, rng: np.random.Generator
    ) -> SharpeFigures:
        """The figures of daily `returns`; all None where they do not vary."""
        found = sharpe_moments(returns)
        if found is None:
            return cls(n_trials=n_trials, n_obs=returns.size)
        year = math.sqrt(periods)
        ends = bootstrap_interval(returns, "sharpe", rng=rng, horizon=horizon)
        own = (found.sharpe, found.n_obs)
        shape = (found.skew, found.kurtosis)
        return cls(
            sharpe=found.sharpe * year,
            interval=None if ends is None else (ends[0] * year, ends[1] * year),
            psr=probabilistic_sharpe_ratio(*own, *shape),
            dsr=deflated_sharpe_ratio(*own, n_trials, 1.0 / found.n_obs, *shape),
            min_track_record=minimum_track_record_length(found.sharpe, *shape),
            min_backtest=minimum_backtest_length(n_trials, found.sharpe) if found.sharpe > 0.0 else None,
            n_obs=found.n_obs,
            n_trials=n_trials,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        return plain | {"interval": None if self.interval is None else list(self.interval)}


@dataclass(frozen=True, eq=False)
class TearSheet:
    """One factor on one window. The book and all conventions are those of `Evidence`.

    Attributes:
        evidence: the figures.
        series: what they were computed from, day by day.
        evidence_decay: horizon to mean residual evidence and its Newey-West t; the raw decay is in `evidence`.
        left: what is left beside sector, size, beta, volatility, all of them, and the chosen known factors.
        years: parts by calendar year.
        regimes: parts by the market's direction and volatility.
        groups: parts by sector; empty without one.
        intervals: 95 % by block bootstrap, of the means "rank_ic" and "evidence".
        gross: the Sharpe ratio before costs.
        net: the Sharpe ratio at the default cost.
        costs: Sharpe ratio and return by cost; the break-even is in `evidence`.
        capacity: the money at which impact halves the gross Sharpe ratio.
        sub_universe: the book among the liquid half.
        max_weight: the largest absolute weight of one name; None for a book that never trades.
        exposure: mean of the book's "gross" and "net" weight, and of its exposure to each style, in standard
            deviations of that style over the universe times weight.
        brain: WorldQuant BRAIN's tests.
        missing: figure or part to reason, where it is left out.
    """

    evidence: Evidence
    series: FactorSeries
    evidence_decay: Mapping[int, tuple[float | None, float | None]]
    left: tuple[Left, ...]
    years: tuple[Part, ...]
    regimes: tuple[Part, ...]
    groups: tuple[Part, ...]
    intervals: Mapping[str, Interval]
    gross: SharpeFigures
    net: SharpeFigures
    costs: tuple[CostPoint, ...]
    capacity: Capacity
    sub_universe: SubUniverse
    max_weight: float | None
    exposure: Mapping[str, float | None]
    brain: tuple[BrainLabel, ...]
    missing: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; days as ``YYYY-MM-DD``, missing values of a day as null."""
        series = self.series
        daily = {
            "rank_ic": series.rank_ic,
            "evidence": series.evidence,
            "gross": series.gross,
            "turnover": series.turnover,
            "equity": series.equity(0.0),
            "net_equity": series.equity(series.cost_bp),
        }
        return {
            "evidence": self.evidence.to_dict(),
            "evidence_decay": {str(h): {"evidence": e, "t": t} for h, (e, t) in self.evidence_decay.items()},
            "left": [row.to_dict() for row in self.left],
            "years": [part.to_dict() for part in self.years],
            "regimes": [part.to_dict() for part in self.regimes],
            "groups": [part.to_dict() for part in self.groups],
            "intervals": {name: None if ends is None else list(ends) for name, ends in self.intervals.items()},
            "gross": self.gross.to_dict(),
            "net": self.net.to_dict(),
            "costs": [point.to_dict() for point in self.costs],
            "capacity": self.capacity.to_dict(),
            "sub_universe": self.sub_universe.to_dict(),
            "max_weight": self.max_weight,
            "exposure": dict(self.exposure),
            "brain": [label.to_dict() for label in self.brain],
            "missing": dict(self.missing),
            "series": {"dates": np.datetime_as_string(series.dates, "D").tolist()}
            | {
                name: [value if math.isfinite(value) else None for value in days.tolist()]
                for name, days in daily.items()
            },
        }


class TearSheets:
    """Makes tear sheets on one evaluator; whatever the factors share is computed once.

    Attributes:
        evaluator: whose panel, window and conventions apply.
        impact: behind capacity.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        known: Mapping[str, ArrayLike] | None = None,
        impact: SquareRootImpact | None = None,
    ) -> None:
        """As above.

        Args:
            evaluator: of the window.
            known: name to values [T, N] of factors that "what is left" is to be told beside; all rows of
                the panel or those up to the window's end.
            impact: coefficient and cap.

        Raises:
            EvidenceInvalid: a known factor of another shape.
        """
        self.evaluator = evaluator
        self.impact = SquareRootImpact() if impact is None else impact
        panel, exposures, rows = evaluator.panel, evaluator.exposures, evaluator.rows
        universe = panel.universe[: rows.stop]
        styles = {
            name: np.where(universe, values[: rows.stop], np.nan)
            for name, values in zip(exposures.names, exposures.styles, strict=True)
        }
        self._missing = dict(exposures.missing)
        self._sectors: tuple[tuple[str, ...], NDArray[np.int32]] | None = None
        if SECTOR in panel.groups:
            self._sectors = _codes_here(panel.groups[SECTOR], panel.group_codes(SECTOR), rows)
        else:
            self._missing[SECTOR] = "the panel has no group sector"
        shape = (rows.stop - rows.start, panel.shape[1])
        own = ExposureSet.of(
            {name: values[rows] for name, values in styles.items()},
            {} if self._sectors is None else {SECTOR: self._sectors[1]},
            shape=shape,
        )
        self._exposures = [(own, {name: (name,) for name in own.names} | {"all": own.names})]
        if known:
            chosen = {name: np.asarray(values, np.float64)[rows] for name, values in known.items()}
            others = ExposureSet.of(chosen, shape=shape)
            self._exposures.append((others, {"known": others.names}))
        self._scores = {name: _standard(values[rows]) for name, values in styles.items()}
        self._regimes = {name: days[rows] for name, days in market_regimes(exposures.market[: rows.stop]).items()}
        self._names = _rows_of(liquidity(panel, exposures.volatility[: rows.stop]), rows)
        lead = max(0, rows.start - evaluator.horizon)
        self._liquid: NDArray[np.bool_] | None = None
        if "size" in styles:
            size = rank_rows(styles["size"][lead:])
            self._liquid = size.ranks > 0.5 * (size.count[:, None] + 1)

    def sheet(self, factor: ArrayLike, *, n_trials: int = 1, seed: int = 0) -> TearSheet:
        """Everything about `factor` [T, N], taken as it is: long its high values.

        Args:
            factor: as in `Evaluator.series`.
            n_trials: N, how many trials it was chosen from, for what deflates its Sharpe ratio.
            seed: of the bootstrap.

        Raises:
            EvidenceInvalid: another shape, or fewer than one trial.
        """
        judge = self.evaluator
        seen = judge.rank(factor)
        series = judge.series(seen)
        found = summarise(series, judge.window)
        horizon, active = judge.horizon, series.active
        scaled = judge.per_risk[horizon]
        book = seen.book
        gross, net = (
            SharpeFigures.of(
                series.net(bp)[active],
                n_trials=n_trials,
                periods=judge.periods,
                horizon=horizon,
                rng=make_rng(seed, "tear sheet", name),
            )
            for name, bp in (("gross", 0.0), ("net", series.cost_bp))
        )
        held = _span(active)
        carried = book_capacity(
            book.traded[held],
            series.gross[held],
            _rows_of(self._names, held),
            periods=judge.periods,
            impact=self.impact,
        )
        sub = self._sub_universe(seen, series, found)
        weight = float(max(book.weights.max(), -book.weights.min())) if active.any() else None
        decay = {h: (_mean(days), newey_west_t(days, horizon=h)) for h, days in judge.evidence_decay(seen).items()}
        missing = dict(found.missing)
        missing |= {f"left.{name}": why for name, why in self._missing.items()}
        missing |= {name: why for name, why in (("capacity", carried.reason), ("sub_universe", sub.reason)) if why}
        return TearSheet(
            evidence=found,
            series=series,
            evidence_decay=decay,
            left=self._what_is_left(seen, scaled),
            years=by_year(series),
            regimes=by_regime(series, self._regimes),
            groups=self._groups(seen, scaled),
            intervals={
                name: bootstrap_interval(days, rng=make_rng(seed, "tear sheet", name), horizon=horizon)
                for name, days in (("rank_ic", series.rank_ic), ("evidence", series.evidence))
            },
            gross=gross,
            net=net,
            costs=cost_curve(series),
            capacity=carried,
            sub_universe=sub,
            max_weight=weight,
            exposure=self._exposure(book, active),
            brain=brain_labels(found, weight, sub),
            missing=missing,
        )

    def _what_is_left(self, seen: RankedFactor, scaled: Floats) -> tuple[Left, ...]:
        judge = self.evaluator
        labels = judge.label_ranks[judge.horizon]
        table: tuple[Left, ...] = ()
        for exposures, rows in self._exposures:
            table += what_is_left(seen.here, exposures, rows, labels, scaled, judge.horizon)
        return table

    def _groups(self, seen: RankedFactor, scaled: Floats) -> tuple[Part, ...]:
        if self._sectors is None:
            return ()
        judge = self.evaluator
        labels, codes = self._sectors
        ranked, label = judge.label_ranks[judge.horizon], judge.labels[judge.horizon]
        return by_group(SECTOR, labels, codes, seen.here, seen.values, ranked, label, scaled, judge.horizon)

    def _sub_universe(self, seen: RankedFactor, series: FactorSeries, found: Evidence) -> SubUniverse:
        if self._liquid is None:
            return SubUniverse(reason="the panel has no dollar volume")
        judge = self.evaluator
        half = seen.ranked.among(self._liquid)
        book = rank_book(half, judge.labels[1], judge.horizon)
        active = book.active & np.isfinite(series.gross)
        inside = half.count[-seen.here.count.size :]
        ranked = seen.here.count >= MIN_NAMES
        if not ranked.any():
            return SubUniverse(reason="the factor is never ranked")
        return SubUniverse.of(
            float(inside[ranked].mean()),
            float(seen.here.count[ranked].mean()),
            metrics.sharpe(book.gross[active], judge.periods),
            found.sharpe,
        )

    def _exposure(self, book: RankBook, active: NDArray[np.bool_]) -> dict[str, float | None]:
        held = {"gross": np.abs(book.weights).sum(axis=1), "net": book.weights.sum(axis=1)}
        held |= {name: np.einsum("ti,ti->t", book.weights, scores) for name, scores in self._scores.items()}
        return {name: metrics.mean(days[active]) for name, days in held.items()}


def _codes_here(
    labels: NDArray[np.str_], codes: NDArray[np.int32], rows: slice
) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Names and codes of the groups on the rows; the codes are those of the panel's labels in order."""
    fixed = labels.strides[0] == 0  # one row stands for all dates
    names = tuple(str(name) for name in np.unique(labels[:1] if fixed else labels) if name)
    return names, np.ascontiguousarray(codes[rows])


def _rows_of(names: TradedNames | None, rows: slice | NDArray[np.bool_]) -> TradedNames | None:
    if names is None or names.dollar_volume is None or names.volatility is None:
        return None
    return TradedNames(dollar_volume=names.dollar_volume[rows], volatility=names.volatility[rows])


def _span(days: NDArray[np.bool_]) -> slice | NDArray[np.bool_]:
    """The same rows as a slice where they follow each other: no copies then."""
    marked = np.flatnonzero(days)
    whole = marked.size > 0 and marked[-1] - marked[0] + 1 == marked.size
    return slice(int(marked[0]), int(marked[-1]) + 1) if whole else days


def _standard(values: Floats) -> Floats:
    """Each row's distance from its mean in standard deviations (ddof 1); 0 where missing or without differences."""
    there = np.isfinite(values)
    n = np.maximum(there.sum(axis=1, keepdims=True), 1)
    away = np.where(there, values, 0.0)
    away = np.where(there, away - away.sum(axis=1, keepdims=True) / n, 0.0)
    spread = np.sqrt((away**2).sum(axis=1, keepdims=True) / np.maximum(n - 1, 1))
    scores: Floats = np.divide(away, spread, out=np.zeros_like(away), where=spread > 0.0)
    return scores


def _mean(days: Floats) -> float | None:
    return metrics.mean(days[np.isfinite(days)])
