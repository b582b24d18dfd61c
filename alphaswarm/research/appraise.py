"""`Appraiser`: what a finalist would pay, and everything that is reported beside it; the search window only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from alphaswarm.core import SpecInvalid
from alphaswarm.research.examine import checked, factor_values
from alphaswarm.research.multiplicity import Multiplicity
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.trial import Trial

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.evaluation import Evaluator
    from alphaswarm.evaluation.gates import GateResult, Thresholds
    from alphaswarm.evaluation.known import KnownFormulas
    from alphaswarm.evaluation.sheet import TearSheets
    from alphaswarm.research.pool import Pool

__all__ = ["Appraiser", "last_read"]

# Rows after a model's cutoff from which figures on them alone are worth showing: a year.
LEAST_AFTER = 252


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
        self._sheets: tuple[tuple[Any, ...], TearSheets] | None = None
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
        from alphaswarm.evaluation.gates import book_figures, deflated, economic_gates

        factor = factor_values(checked(trial.expression, opened.panel), opened.seen)
        sheet = self._tear_sheets(opened, trial).sheet(sign * factor, n_trials=n_trials)
        book = book_figures(sheet.series, 1, thresholds.cost_bp)
        gates = economic_gates(
            book,
            thresholds,
            n_trials=n_trials,
            weight=sheet.max_weight,
            capacity=sheet.capacity.aum,
            likeness=self._pool.likeness(opened, trial, factor, sheet.series),
        )
        nearest = self._formulas(opened).nearest(factor)
        reported = {
            **together.report,
            "discovery": together.is_discovery((trial.digest, trial.horizon, trial.fill)),
            "dsr_1T": deflated(book.gross, n_trials),
            "dsr_empirical": deflated(book.gross, n_trials, together.sharpe_variance()),
            "book": {
                "sharpe": book.sharpe,
                "net_sharpe": book.net_sharpe,
                "breakeven_bp": book.breakeven_bp,
                "turnover": book.turnover,
                "max_weight": sheet.max_weight,
            },
            "cost_curve": [point.to_dict() for point in sheet.costs],
            "capacity": sheet.capacity.to_dict(),
            "known": None if nearest is None else nearest.to_dict(),
            "brain": [label.to_dict() for label in sheet.brain],
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
        names = ("n_days", "rank_ic", "rank_ic_t", "evidence", "evidence_z", "sharpe")
        return {"window": evaluator.window.to_dict(), **{name: getattr(found, name) for name in names}}

    def _tear_sheets(self, opened: OpenPanel, trial: Trial) -> TearSheets:
        from alphaswarm.evaluation.sheet import TearSheets

        key = (opened.panel.digest, trial.horizon, trial.fill)
        if self._sheets is None or self._sheets[0] != key:
            evaluator = self._panels.search_evaluator(opened, trial.horizon, cast("Fill", trial.fill))
            self._sheets = (key, TearSheets(evaluator))
        return self._sheets[1]

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
