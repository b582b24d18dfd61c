"""`Evidence`: what one window says about one factor, in numbers that may cross a border."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.backtest import metrics
from alphaswarm.evaluation.ic import information_ratio, newey_west_lags, newey_west_t, rank_ic_series
from alphaswarm.evaluation.mean_test import mean_z
from alphaswarm.evaluation.series import FactorSeries
from alphaswarm.evaluation.windows import Window
from alphaswarm.trading import COST_CURVE_BP

__all__ = ["DecayPoint", "Evidence", "summarise"]

# BRAIN takes a slower alpha to trade this much a day, so that fitness rewards no idleness.
LEAST_TURNOVER = 0.125


@dataclass(frozen=True)
class DecayPoint:
    """Mean rank IC at one horizon, and its Newey-West t."""

    rank_ic: float | None
    t: float | None


@dataclass(frozen=True)
class Evidence:
    """Figures of one factor on one window; None where undefined, and then `missing` says why.

    Correlations are means over the dates where they are defined; `_t` is their Newey-West t,
    `icir` mean over standard deviation by day. The book is the rank portfolio of gross 1, held in
    `horizon` staggered tranches, filled one session after each decision.

    Attributes:
        window: the dates it was computed on; labels end inside.
        horizon: rows from fill to exit, also the number of tranches.
        fill: when decisions are carried out.
        cost_bp: the cost behind `max_drawdown`.
        n_days: dates with a defined rank IC at `horizon`.
        undefined_days: dates with a label but without a defined rank IC.
        decay: rank IC by horizon.
        evidence: correlation of the factor's rank with the label's residual per unit of risk, see `Exposures`:
            what is left after market, volatility, size and common components. This is what is judged.
        evidence_z: its mean on the scale that hurdles are drawn on, see `mean_z`.
        evidence_days: dates where it is defined.
        residual_rank_ic: rank IC with the residual: a check of the sign, since ranks see the skew of a residual too.
        quantiles: mean one-row label from the lowest fifth to the highest.
        spread: highest minus lowest, mean over the dates that have both.
        monotonicity: Spearman correlation of a quantile's number and its mean.
        coverage: finite factor values by finite closes of the universe.
        rank_autocorr: rank correlation with the row before.
        turnover: traded per day as a fraction of gross, both sides, without drift, without entry.
        breakeven_bp: mean gross result by mean turnover (entry included), in basis points.
        sharpe: of the gross result, annualised.
        net_sharpe: by cost in basis points.
        fitness: ``sharpe * sqrt(2 * abs(ann_return) / max(turnover, 0.125))``, as WorldQuant BRAIN scores
            alphas: it divides results by half the book.
        ann_return: mean gross result times the rows of a year.
        max_drawdown: of the compounded result net of `cost_bp`, 0 or below.
        missing_returns: returns the book needed and the data did not have; each counted as 0.
        missing: figure to reason.
    """

    window: Window
    horizon: int
    fill: str
    cost_bp: float
    n_days: int
    undefined_days: int
    ic: float | None
    ic_t: float | None
    icir: float | None
    rank_ic: float | None
    rank_ic_t: float | None
    rank_icir: float | None
    decay: Mapping[int, DecayPoint]
    evidence: float | None
    evidence_t: float | None
    evidence_z: float | None
    evidence_days: int
    residual_rank_ic: float | None
    residual_rank_ic_t: float | None
    quantiles: tuple[float | None, ...]
    spread: float | None
    monotonicity: float | None
    coverage: float | None
    rank_autocorr: float | None
    turnover: float | None
    breakeven_bp: float | None
    sharpe: float | None
    net_sharpe: Mapping[float, float | None]
    fitness: float | None
    ann_return: float | None
    max_drawdown: float | None
    missing_returns: int
    missing: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; horizons and costs become text keys ("5", "2", "0.5")."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["window"] = self.window.to_dict()
        plain["decay"] = {str(h): {"rank_ic": point.rank_ic, "t": point.t} for h, point in self.decay.items()}
        plain["net_sharpe"] = {f"{bp:g}": value for bp, value in self.net_sharpe.items()}
        plain["quantiles"] = list(self.quantiles)
        plain["missing"] = dict(self.missing)
        return plain


def summarise(series: FactorSeries, window: Window) -> Evidence:
    """The figures of `series`, whose dates lie in `window`."""
    ic, rank_ic = _finite(series.ic), _finite(series.rank_ic)
    gross, traded = series.gross[series.active], series.turnover[series.active]
    net = series.net(series.cost_bp)[series.active]
    decay = {
        h: DecayPoint(metrics.mean(_finite(values)), newey_west_t(values, horizon=h))
        for h, values in series.decay.items()
    }
    costs = sorted({*COST_CURVE_BP, series.cost_bp})
    mean_gross, mean_traded = metrics.mean(gross), metrics.mean(traded)
    evidence, residual_rank_ic = _finite(series.evidence), _finite(series.residual_rank_ic)
    quantiles = tuple(metrics.mean(_finite(column)) for column in series.quantiles.T)
    sharpe, turnover = metrics.sharpe(gross, series.periods), metrics.mean(traded[1:])
    ann_return = None if mean_gross is None else mean_gross * series.periods
    found = Evidence(
        window=window,
        horizon=series.horizon,
        fill=series.fill,
        cost_bp=series.cost_bp,
        n_days=rank_ic.size,
        undefined_days=int(series.decision.sum()) - rank_ic.size,
        ic=metrics.mean(ic),
        ic_t=newey_west_t(ic, horizon=series.horizon),
        icir=information_ratio(ic),
        rank_ic=metrics.mean(rank_ic),
        rank_ic_t=newey_west_t(rank_ic, horizon=series.horizon),
        rank_icir=information_ratio(rank_ic),
        decay=decay,
        evidence=metrics.mean(evidence),
        evidence_t=newey_west_t(evidence, horizon=series.horizon),
        evidence_z=mean_z(evidence, horizon=series.horizon),
        evidence_days=evidence.size,
        residual_rank_ic=metrics.mean(residual_rank_ic),
        residual_rank_ic_t=newey_west_t(residual_rank_ic, horizon=series.horizon),
        quantiles=quantiles,
        spread=metrics.mean(_finite(series.quantiles[:, -1] - series.quantiles[:, 0])),
        monotonicity=_monotonicity(quantiles),
        coverage=metrics.mean(_finite(series.coverage)),
        rank_autocorr=metrics.mean(_finite(series.rank_autocorr)),
        turnover=turnover,
        breakeven_bp=mean_gross / mean_traded * 1e4 if mean_gross is not None and mean_traded else None,
        sharpe=sharpe,
        net_sharpe={bp: metrics.sharpe(series.net(bp)[series.active], series.periods) for bp in costs},
        fitness=_fitness(sharpe, ann_return, turnover),
        ann_return=ann_return,
        max_drawdown=_drawdown(net),
        missing_returns=series.missing_returns,
        missing={},
    )
    object.__setattr__(found, "missing", _reasons(found, series))
    return found


def _drawdown(net: NDArray[np.float64]) -> float | None:
    return metrics.max_drawdown(np.asarray(np.cumprod(1.0 + net), np.float64))


def _fitness(sharpe: float | None, ann_return: float | None, turnover: float | None) -> float | None:
    if sharpe is None or ann_return is None or turnover is None:
        return None
    return sharpe * math.sqrt(2.0 * abs(ann_return) / max(turnover, LEAST_TURNOVER))


def _monotonicity(means: Sequence[float | None]) -> float | None:
    known = np.array([np.nan if value is None else value for value in means])
    if np.isnan(known).any():
        return None
    found = rank_ic_series(np.arange(known.size)[None], known[None], min_names=2)[0]
    return None if np.isnan(found) else float(found)


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[np.isfinite(values)]


def _reasons(found: Evidence, series: FactorSeries) -> dict[str, str]:
    no_ic = f"no date has {series.min_names} names with a label and factor values that differ"
    lags = newey_west_lags(found.n_days, found.horizon)
    no_t = no_ic if not found.n_days else f"{found.n_days} dates are too few for {lags} lags, or do not vary"
    no_book = f"the book never trades: no date ranks {series.min_names} names"
    flat = no_book if not series.active.any() else "the results of the book are too few or do not vary"
    because = {
        "ic": no_ic,
        "rank_ic": no_ic,
        "ic_t": no_t,
        "rank_ic_t": no_t,
        "icir": no_t,
        "rank_icir": no_t,
        "spread": "no date has names in both the lowest and the highest fifth",
        "monotonicity": "a quantile is empty on every date, or their means are equal",
        "fitness": flat,
        "coverage": "no date has a close in the universe",
        "rank_autocorr": f"no two dates in a row rank {series.min_names} names in common",
        "turnover": no_book if not series.active.any() else "the book trades on one day only",
        "breakeven_bp": no_book,
        "sharpe": flat,
        "ann_return": no_book,
        "max_drawdown": no_book,
    }
    no_evidence = series.no_residual.get("evidence", f"no date has {series.min_names} names with a residual and ranks")
    few = no_evidence if not found.evidence_days else f"{found.evidence_days} dates are too few, or do not vary"
    because |= dict.fromkeys(("evidence", "residual_rank_ic"), no_evidence)
    because |= dict.fromkeys(("evidence_t", "evidence_z", "residual_rank_ic_t"), few)
    reasons = {name: why for name, why in because.items() if getattr(found, name) is None}
    reasons |= {f"decay.{h}": f"too few dates with a label of {h} rows" for h, p in found.decay.items() if p.t is None}
    reasons |= {f"net_sharpe.{bp:g}": flat for bp, value in found.net_sharpe.items() if value is None}
    reasons |= {
        f"quantiles.{place}": "ties leave this quantile empty on every date"
        for place, value in enumerate(found.quantiles)
        if value is None
    }
    reasons |= {name: why for name, why in series.no_residual.items() if found.evidence_days}
    return reasons
