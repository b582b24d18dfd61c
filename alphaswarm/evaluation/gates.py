"""Gates: what a factor must show before anybody may call it real, and then before anybody may trade it.

Two tiers, never one word for both. Tier 1 asks whether there is something at all: evidence over the hurdle
of all trials ever made, ranks that agree, no contradiction, no sign of a leak, and confirmation on rows that
the search never saw. Tier 2 asks whether it pays: only what holds in tier 1 is asked. A gate read on the
selection window carries no value: pass or fail is all that leaves it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from alphaswarm.backtest import metrics
from alphaswarm.evaluation.multiple import confirmation_hurdle, hurdle
from alphaswarm.evaluation.series import FactorSeries
from alphaswarm.evaluation.sharpe import SharpeMoments, deflated_sharpe_ratio, sharpe_moments
from alphaswarm.trading import DEFAULT_COST_BP, ProportionalCosts

__all__ = [
    "DISTINCT",
    "LEAK_IC",
    "MAX_FINALISTS",
    "MIN_ROWS",
    "SIGN_T",
    "BookFigures",
    "GateResult",
    "Thresholds",
    "all_passed",
    "book_figures",
    "confirmation_gate",
    "deflated",
    "distinct_gate",
    "economic_gates",
    "search_gates",
    "selection_gates",
]

# Tier 1 is not to be bargained about: its error rate was measured with these figures together.
SIGN_T = 2.0  # residual ranks check the sign; as evidence of a mean they are not valid
LEAK_IC = 0.08  # the best published daily signals on large stocks reach 0.03 to 0.05
MIN_ROWS = 504
DISTINCT = 0.7
MAX_FINALISTS = 5
SEALED = "sealed: only pass or fail leaves the selection window"


class GateResult(BaseModel):
    """What one gate says. `passed` is None where it was not asked, and then `reason` says why."""

    model_config = ConfigDict(frozen=True)

    name: str
    tier: Literal[1, 2]
    window: Literal["search", "selection"]
    value: float | None = Field(description="null where undefined or sealed")
    threshold: float | None
    passed: bool | None
    reason: str = ""


class Thresholds(BaseModel):
    """Tier 2: what counts as tradable. Opinions, so they are settings; a verdict keeps those it was made with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cost_bp: float = Field(default=DEFAULT_COST_BP, ge=0.0, le=1000.0, allow_inf_nan=False)
    net_sharpe: float = Field(default=1.0, description="least, yearly, at that cost, on search", allow_inf_nan=False)
    net_dsr: float = Field(
        default=0.95, ge=0.0, le=1.0, description="least deflated Sharpe ratio of the same net result"
    )
    breakeven_multiple: float = Field(
        default=1.5, ge=0.0, description="least break-even by cost, on search and on selection", allow_inf_nan=False
    )
    selection_net_sharpe: float = Field(default=0.0, description="to be exceeded on selection", allow_inf_nan=False)
    min_turnover: float = Field(default=0.01, ge=0.0, description="least per day, both sides", allow_inf_nan=False)
    max_turnover: float = Field(default=0.70, ge=0.0, description="most per day, both sides", allow_inf_nan=False)
    max_weight: float = Field(default=0.10, gt=0.0, le=1.0, description="no name reaches it")
    self_correlation: float = Field(default=0.7, ge=0.0, le=1.0, description="not reached with a member of the pool")
    better_by: float = Field(
        default=0.10,
        ge=0.0,
        description="unless the net Sharpe ratio is so much above the member's",
        allow_inf_nan=False,
    )


@dataclass(frozen=True)
class BookFigures:
    """The book of a factor, turned to its sign, on one window; None where undefined.

    Attributes:
        sharpe: yearly, before costs.
        net_sharpe: yearly, at the cost asked for.
        breakeven_bp: mean gross result by mean turnover.
        turnover: per day, both sides, without the entry.
        gross: moments of the daily result before costs.
        net: moments of the daily result after them.
    """

    sharpe: float | None
    net_sharpe: float | None
    breakeven_bp: float | None
    turnover: float | None
    gross: SharpeMoments | None
    net: SharpeMoments | None


def book_figures(series: FactorSeries, sign: int, cost_bp: float) -> BookFigures:
    """The figures of the book that holds `sign` times the factor's weights and pays `cost_bp`."""
    active = series.active
    gross, traded = sign * series.gross[active], series.turnover[active]
    net = gross - ProportionalCosts(cost_bp).charge(traded)
    mean_gross, mean_traded = metrics.mean(gross), metrics.mean(traded)
    return BookFigures(
        sharpe=metrics.sharpe(gross, series.periods),
        net_sharpe=metrics.sharpe(net, series.periods),
        breakeven_bp=mean_gross / mean_traded * 1e4 if mean_gross is not None and mean_traded else None,
        turnover=metrics.mean(traded[1:]),
        gross=sharpe_moments(gross),
        net=sharpe_moments(net),
    )


def deflated(moments: SharpeMoments | None, n_trials: int, variance: float | None = None) -> float | None:
    """The deflated Sharpe ratio of one of `n_trials`, `variance` being 1 / T where it is not given."""
    if moments is None:
        return None
    spread = 1.0 / moments.n_obs if variance is None else variance
    return deflated_sharpe_ratio(
        moments.sharpe, moments.n_obs, max(1, n_trials), spread, moments.skew, moments.kurtosis
    )


def search_gates(evidence: Mapping[str, Any], *, rows: int, n_trials: int, synthetic: bool) -> list[GateResult]:
    """Tier 1 as far as the search window goes.

    Args:
        evidence: figures of the factor on the search window, keys as in `Evidence.to_dict`.
        rows: rows of that window.
        n_trials: N, every distinct trial ever made on these data.
        synthetic: made data have no leak to look for, whatever their IC.
    """
    z, ranks_t = evidence.get("evidence_z"), evidence.get("residual_rank_ic_t")
    why: Mapping[str, str] = evidence.get("missing") or {}
    return [
        _at_least("history", float(rows), float(MIN_ROWS), f"{rows} rows in the search window, {MIN_ROWS} are needed"),
        _leak(evidence, synthetic=synthetic),
        _over_hurdle(z, hurdle(max(1, n_trials)), why.get("evidence_z", "")),
        _same_sign(z, ranks_t),
        _agreement(evidence),
    ]


def distinct_gate(stronger: str | None, correlation: float | None, *, kept: bool) -> GateResult:
    """Tier 1 on search: a finalist moves with no stronger one of its run, and is among the five strongest.

    Args:
        stronger: the one that it moves with.
        correlation: of their daily results without common risks, absolute.
        kept: whether it is a finalist.
    """
    reason = "" if kept else f"{MAX_FINALISTS} stronger ones were, the most that one run may send"
    if stronger is not None:
        reason = f"it moves with the stronger {stronger}"
    return GateResult(
        name="distinct",
        tier=1,
        window="search",
        value=correlation,
        threshold=DISTINCT,
        passed=kept,
        reason=reason,
    )


def confirmation_gate(evidence_z: float | None, sign: int, k: int) -> GateResult:
    """Tier 1 on the selection window: evidence of the sign that the search chose, over the hurdle of K finalists."""
    least = confirmation_hurdle(k)
    passed = evidence_z is not None and sign * evidence_z >= least
    return GateResult(
        name="confirmation", tier=1, window="selection", value=None, threshold=least, passed=passed, reason=SEALED
    )


def economic_gates(
    book: BookFigures,
    thresholds: Thresholds,
    *,
    n_trials: int,
    weight: float | None,
    capacity: float | None,
    likeness: tuple[float, float | None] | None,
) -> list[GateResult]:
    """Tier 2 on the search window.

    Args:
        book: of the factor turned to its sign, at ``thresholds.cost_bp``.
        thresholds: what is asked.
        n_trials: N, which deflates the Sharpe ratio.
        weight: the largest weight of one name.
        capacity: money at which impact halves the Sharpe ratio; None where it can't be told.
        likeness: largest absolute correlation to a member of the pool, and that member's net Sharpe ratio;
            None for an empty pool.
    """
    cost = f"at {thresholds.cost_bp:g} bp"
    flat = "the book never trades, or its results do not vary"
    least = thresholds.breakeven_multiple * thresholds.cost_bp
    return [
        _at_least("net_sharpe", book.net_sharpe, thresholds.net_sharpe, flat, tier=2),
        _at_least(
            "net_dsr",
            deflated(book.net, n_trials),
            thresholds.net_dsr,
            f"the net result {cost} may be the best of {n_trials} lucky trials",
            tier=2,
        ),
        _at_least("breakeven", book.breakeven_bp, least, flat, tier=2),
        _at_least(
            "min_turnover", book.turnover, thresholds.min_turnover, "it hardly trades: no bet of its own", tier=2
        ),
        _below("max_turnover", book.turnover, thresholds.max_turnover, "it trades too much", inclusive=True),
        _below("max_weight", weight, thresholds.max_weight, "one name weighs too much"),
        GateResult(
            name="capacity",
            tier=2,
            window="search",
            value=capacity,
            threshold=None,
            passed=capacity is not None,
            reason="" if capacity is not None else "no capacity: it needs dollar volume and a result above 0",
        ),
        _unlike(book.net_sharpe, likeness, thresholds),
    ]


def selection_gates(book: BookFigures, thresholds: Thresholds) -> list[GateResult]:
    """Tier 2 on the selection window: bits only."""
    least = thresholds.breakeven_multiple * thresholds.cost_bp
    pays = book.breakeven_bp is not None and book.breakeven_bp >= least
    earns = book.net_sharpe is not None and book.net_sharpe > thresholds.selection_net_sharpe
    asked = (("breakeven_selection", least, pays), ("net_sharpe_selection", thresholds.selection_net_sharpe, earns))
    return [
        GateResult(name=name, tier=2, window="selection", value=None, threshold=at, passed=passed, reason=SEALED)
        for name, at, passed in asked
    ]


def all_passed(gates: Sequence[GateResult], tier: int) -> bool:
    """Whether every gate of the tier was asked and passed."""
    return all(gate.passed for gate in gates if gate.tier == tier)


def _leak(evidence: Mapping[str, Any], *, synthetic: bool) -> GateResult:
    sizes = [abs(value) for name in ("ic", "rank_ic") if (value := evidence.get(name)) is not None]
    value = max(sizes, default=None)
    if value is None or value <= LEAK_IC:
        passed, reason = True, ""
    elif synthetic:
        passed, reason = True, "synthetic data: any IC can be made"
    else:
        passed = False
        reason = (
            f"a mean daily IC of {value:.3f} is more than any known signal reaches: look for the future in the data"
        )
    return GateResult(
        name="leak", tier=1, window="search", value=value, threshold=LEAK_IC, passed=passed, reason=reason
    )


def _over_hurdle(z: float | None, least: float, why: str) -> GateResult:
    passed = z is not None and abs(z) >= least
    reason = "" if passed else (why or "no evidence on residual returns") if z is None else "within reach of luck"
    return GateResult(name="evidence", tier=1, window="search", value=z, threshold=least, passed=passed, reason=reason)


def _same_sign(z: float | None, ranks_t: float | None) -> GateResult:
    passed = z is not None and ranks_t is not None and math.copysign(1.0, z) * ranks_t >= SIGN_T
    reason = "" if passed else "ranks on residual returns don't confirm the sign"
    return GateResult(
        name="residual_rank_ic",
        tier=1,
        window="search",
        value=ranks_t,
        threshold=SIGN_T,
        passed=passed,
        reason=reason,
    )


def _agreement(evidence: Mapping[str, Any]) -> GateResult:
    """Ranks, means and money must point the same way: low-risk factors have a positive RankIC and lose money."""
    said = {
        "RankIC": evidence.get("rank_ic"),
        "mean evidence": evidence.get("evidence"),
        "profit before costs": evidence.get("ann_return"),
    }
    signs = {name: 0 if value is None else int(np.sign(value)) for name, value in said.items()}
    passed = abs(sum(signs.values())) == len(signs)
    told = ", ".join(f"{name} {'+' if sign > 0 else '-' if sign < 0 else 'undefined'}" for name, sign in signs.items())
    return GateResult(
        name="agreement",
        tier=1,
        window="search",
        value=None,
        threshold=None,
        passed=passed,
        reason="" if passed else f"contradiction: {told}",
    )


def _at_least(name: str, value: float | None, least: float, reason: str, *, tier: Literal[1, 2] = 1) -> GateResult:
    passed = value is not None and value >= least
    return GateResult(
        name=name,
        tier=tier,
        window="search",
        value=value,
        threshold=least,
        passed=passed,
        reason="" if passed else reason,
    )


def _below(name: str, value: float | None, most: float, reason: str, *, inclusive: bool = False) -> GateResult:
    passed = value is not None and (value <= most if inclusive else value < most)
    return GateResult(
        name=name, tier=2, window="search", value=value, threshold=most, passed=passed, reason="" if passed else reason
    )


def _unlike(
    net_sharpe: float | None, likeness: tuple[float, float | None] | None, thresholds: Thresholds
) -> GateResult:
    most = thresholds.self_correlation
    if likeness is None:
        return GateResult(
            name="self_correlation",
            tier=2,
            window="search",
            value=None,
            threshold=most,
            passed=True,
            reason="the pool is empty",
        )
    value, theirs = likeness
    better = net_sharpe is not None and theirs is not None and net_sharpe >= theirs + thresholds.better_by * abs(theirs)
    passed = value < most or better
    reason = "" if value < most else "like a member of the pool, but better" if better else "like a member of the pool"
    return GateResult(
        name="self_correlation", tier=2, window="search", value=value, threshold=most, passed=passed, reason=reason
    )
