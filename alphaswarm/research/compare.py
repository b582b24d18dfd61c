"""`Comparison`: several expressions side by side on the search window, and how much they are one bet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel, ConfigDict, Field

from alphaswarm.research.examine import checked, factor_values
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.trial import Trial, TrialWindow

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill

__all__ = ["MOST_COMPARED", "Compared", "Comparison", "compare"]

MOST_COMPARED = 20


class Compared(BaseModel):
    """One of them, by the figures of its trial."""

    model_config = ConfigDict(frozen=True)

    trial: str
    expression: str
    digest: str
    evidence_z: float | None = Field(description="z of the evidence on residual returns: held against the hurdle")
    residual_rank_ic_t: float | None
    rank_ic: float | None
    rank_ic_t: float | None
    sharpe: float | None
    net_sharpe: dict[str, float | None] = Field(description="cost in basis points to yearly Sharpe ratio")
    breakeven_bp: float | None
    turnover: float | None
    coverage: float | None


class Comparison(BaseModel):
    """Figures and correlations; everything is of the search window.

    The matrices are in the order of `alphas`: of values the mean rank correlation by date, of results
    that of the daily profit before costs. From 0.7 on, in either, two are one bet.
    """

    model_config = ConfigDict(frozen=True)

    panel: str
    window: TrialWindow
    horizon: int
    fill: str
    alphas: list[Compared]
    values: list[list[float | None]]
    results: list[list[float | None]]


def compare(panels: Panels, opened: OpenPanel, trials: Sequence[Trial]) -> Comparison:
    """Compare evaluated trials of one horizon and fill on `opened`; at least one."""
    from alphaswarm.backtest import rank_rows
    from alphaswarm.evaluation.pool import result_correlation, value_correlation

    first = trials[0]
    rows = opened.window.rows(opened.seen.dates)
    ranks, results = [], []
    for trial in trials:
        factor = factor_values(checked(trial.expression, opened.panel), opened.seen)
        ranks.append(rank_rows(factor[rows]))
        results.append(panels.evidence(opened, factor, trial.horizon, cast("Fill", trial.fill))[1].gross)
    return Comparison(
        panel=opened.name,
        window=first.window,
        horizon=first.horizon,
        fill=first.fill,
        alphas=[Compared(**trial.model_dump(include=set(Compared.model_fields))) for trial in trials],
        values=[[value_correlation(one, other) for other in ranks] for one in ranks],
        results=[[result_correlation(one, other) for other in results] for one in results],
    )
