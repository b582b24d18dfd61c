"""`Appraiser`: what a finalist would pay, and everything that is reported beside it; the search window only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import SpecInvalid
from alphaswarm.research.examine import checked, factor_values
from alphaswarm.research.multiplicity import Multiplicity
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.trial import Trial
from alphaswarm.trading import ProportionalCosts

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.evaluation import Evaluator, FactorSeries
    from alphaswarm.evaluation.capacity import Capacity
    from alphaswarm.evaluation.gates import GateResult, Thresholds
    from alphaswarm.evaluation.known import KnownFormulas
    from alphaswarm.research.pool import Pool
    from alphaswarm.trading import TradedNames

__all__ = ["Appraiser", "last_read"]

# Rows after a model's cutoff from which figures on them alone are worth showing: a year.
LEAST_AFTER = 252

Array = NDArray[np.float64]


class Appraiser:
    """Appraises factors for a judge; what all factors of a panel share is computed once.

    Args:
        panels: what measures on the search window.
        pool: what a candidate is compared with.
    """

    def __init__(self, panels: Panels, pool: Pool) -> None:
        self._panels = panels
        self._pool = pool
        self._known: tuple[str, KnownFormulas] | None = None
        self._liquid: tuple[str, TradedNames | None] | None = None
        self._after: tuple[tuple[Any, ...], Evaluator | None] | None = None

    def appraise(
        self,
        opened: OpenPanel,
        trial: Trial,
        sign: int,
        thresholds: Thresholds,
        *,
        n_trials: int,
        together: Multiplicity,
    ) -> tuple[list[GateResult], dict[str, Any]]:
        """The gates of tier 2 that the search window decides, and the figures that decide nothing, as plain JSON.

        Args:
            opened: the panel that the trial was measured on.
            trial: an evaluated one.
            sign: which way it is held.
            thresholds: of tier 2.
            n_trials: N.
            together: all trials on these data.
        """
        from alphaswarm.evaluation.gates import book_figures, deflated, economic_gates, max_weight

        factor = factor_values(checked(trial.expression, opened.panel), opened.seen)
        _, series = self._panels.evidence(opened, factor, trial.horizon, cast("Fill", trial.fill))
        book = book_figures(series, sign, thresholds.cost_bp)
        weight = max_weight(factor, trial.horizon, opened.window.rows(opened.seen.dates))
        carried = self._capacity(opened, factor, sign, series, thresholds.cost_bp)
        gates = economic_gates(
            book,
            thresholds,
            n_trials=n_trials,
            weight=weight,
            capacity=carried.aum,
            likeness=self._pool.likeness(opened, trial, factor, series),
        )
        nearest = self._formulas(opened).nearest(factor)
        fitness = None if trial.fitness is None else sign * trial.fitness
        reported = {
            **together.report(),
            "discovery": together.is_discovery((trial.digest, trial.horizon, trial.fill)),
            "dsr_1T": deflated(book.gross, n_trials),
            "dsr_empirical": deflated(book.gross, n_trials, together.sharpe_variance()),
            "book": {
                "sharpe": book.sharpe,
                "net_sharpe": book.net_sharpe,
                "breakeven_bp": book.breakeven_bp,
                "turnover": book.turnover,
                "max_weight": weight,
            },
            "capacity": carried.to_dict(),
            "known": None if nearest is None else nearest.to_dict(),
            "brain": _brain(book.sharpe, fitness, book.turnover, weight),
        }
        return gates, reported

    def after_cutoff(self, opened: OpenPanel, trial: Trial, cutoff: np.datetime64) -> dict[str, Any] | None:
        """The headline figures on the rows that a model can't have read about; None of fewer than a year of them."""
        from alphaswarm.evaluation import Evaluator, Window

        fill = cast("Fill", trial.fill)
        key = (opened.panel.digest, cutoff, trial.horizon, fill)
        if self._after is None or self._after[0] != key:
            days = opened.seen.dates[opened.window.rows(opened.seen.dates)].astype("datetime64[D]")
            later = days[days > cutoff]
            evaluator = None
            if later.size >= LEAST_AFTER:
                window = Window(opened.window.role, later[0], later[-1])
                evaluator = Evaluator(opened.seen, window, horizon=trial.horizon, fill=fill)
            self._after = (key, evaluator)
        evaluator = self._after[1]
        if evaluator is None:
            return None
        found = evaluator.evidence(factor_values(checked(trial.expression, opened.panel), opened.seen))
        names = ("n_days", "rank_ic", "rank_ic_t", "evidence", "evidence_t", "sharpe")
        return {"window": evaluator.window.to_dict(), **{name: getattr(found, name) for name in names}}

    def _capacity(self, opened: OpenPanel, factor: Array, sign: int, series: FactorSeries, cost_bp: float) -> Capacity:
        """The money at which impact halves the Sharpe ratio of the net result."""
        from alphaswarm.backtest import rank_weights, stagger
        from alphaswarm.evaluation.capacity import capacity
        from alphaswarm.trading import TradedNames

        rows = np.flatnonzero(series.active) + opened.window.rows(opened.seen.dates).start
        names = self._liquidity(opened)
        if names is not None and names.dollar_volume is not None and names.volatility is not None:
            names = TradedNames(dollar_volume=names.dollar_volume[rows], volatility=names.volatility[rows])
        held = stagger(rank_weights(factor), series.horizon)
        traded = np.abs(np.diff(held, axis=0, prepend=0.0))[rows]
        result = sign * series.gross - ProportionalCosts(cost_bp).charge(series.turnover)
        return capacity(traded, result[series.active], names, periods=series.periods)

    def _liquidity(self, opened: OpenPanel) -> TradedNames | None:
        from alphaswarm.evaluation.capacity import VOLATILITY_ROWS, liquidity

        if self._liquid is None or self._liquid[0] != opened.panel.digest:
            spread = checked(f"ts_std(returns, {VOLATILITY_ROWS})", opened.panel)
            self._liquid = (opened.panel.digest, liquidity(opened.seen, factor_values(spread, opened.seen)))
        return self._liquid[1]

    def _formulas(self, opened: OpenPanel) -> KnownFormulas:
        from alphaswarm.evaluation.known import KnownFormulas

        if self._known is None or self._known[0] != opened.panel.digest:
            self._known = (opened.panel.digest, KnownFormulas(opened.seen))
        return self._known[1]


def last_read(cutoff: str | None) -> np.datetime64 | None:
    """The date that `cutoff`, the last one that a language model may have read about, names; None of None.

    Raises:
        SpecInvalid: it names none.
    """
    if cutoff is None:
        return None
    try:
        day: np.datetime64 = np.datetime64(cutoff, "D")
    except ValueError:
        day = np.datetime64("NaT")
    if len(cutoff) != len("2024-06-30") or np.isnat(day):
        raise SpecInvalid(f"the cutoff of a language model must be a date such as 2024-06-30, got {cutoff!r}")
    return day


def _brain(sharpe: float | None, fitness: float | None, turnover: float | None, weight: float | None) -> dict[str, Any]:
    """The submission tests of WorldQuant BRAIN for one day's delay, before costs: a label that decides nothing."""
    tests = {
        "sharpe": sharpe is not None and sharpe > 1.25,
        "fitness": fitness is not None and fitness > 1.0,
        "turnover": turnover is not None and 0.01 <= turnover <= 0.70,
        "weight": weight is not None and weight < 0.10,
    }
    return {"sharpe": sharpe, "fitness": fitness, "tests": tests, "passed": all(tests.values())}
