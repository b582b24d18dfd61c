"""`Evaluator`: from factor values to evidence on one window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alphaswarm.backtest import Fill, RankedRows, rank_rows
from alphaswarm.backtest.metrics import periods_per_year
from alphaswarm.backtest.ranking import MIN_NAMES
from alphaswarm.core import EvidenceInvalid, Panel
from alphaswarm.evaluation.book import RankBook, rank_book
from alphaswarm.evaluation.evidence import Evidence, summarise
from alphaswarm.evaluation.ic import pearson_where, rank_correlation, rank_value_correlation
from alphaswarm.evaluation.labels import forward_returns
from alphaswarm.evaluation.quantiles import quantile_series_of_ranks
from alphaswarm.evaluation.residual import HISTORY, Exposures
from alphaswarm.evaluation.series import FactorSeries
from alphaswarm.evaluation.windows import Window
from alphaswarm.trading import DEFAULT_COST_BP, ProportionalCosts

__all__ = ["DECAY_HORIZONS", "Evaluator", "RankedFactor"]

DECAY_HORIZONS = (1, 2, 5, 10, 20)


@dataclass(frozen=True, eq=False)
class RankedFactor:
    """A factor on the D rows of a window, ranked once for all that is asked about it.

    Attributes:
        values: [D, N].
        ranked: with the rows before the window that the first staggered books still hold.
        here: the rows of the window.
        book: what its ranks hold, trade and earn.
    """

    values: NDArray[np.float64]
    ranked: RankedRows
    here: RankedRows
    book: RankBook


class Evaluator:
    """Judges factors on one window of one panel; whatever all of them share is computed once.

    Decisions are the rows of the window whose label ends inside it. A factor's earlier rows may
    count (a formula looks back), its later rows and later prices are never read.

    Attributes:
        panel: the panel up to the window's last row: all that a factor needs to be computed on.
        window: the dates that are judged.
        horizon: rows from fill to exit, and the number of staggered tranches.
        fill: when decisions are carried out.
        cost_bp: the default cost.
        rows: of the panel, that are judged.
        periods: rows in a year.
        labels: horizon to the returns [D, N] that decisions of the window's rows earn.
        label_ranks: horizon to the same, ranked.
        per_risk: horizon to what common risks leave of them, in units of volatility [D, N]; other horizons
            than `horizon` come with `evidence_decay`.
        exposures: of the panel, or of a longer one that begins with it: they need no later row, so windows,
            horizons and fills can share them. Found here when none are handed in.

    Raises:
        EvidenceInvalid: a horizon below 1, an unknown fill, a window too short for one label, or the
            exposures of another panel.
        FieldNotFound: the panel lacks the price that the fill needs.
    """

    def __init__(
        self,
        panel: Panel,
        window: Window,
        *,
        horizon: int = 5,
        fill: Fill = "close_t1",
        cost_bp: float = DEFAULT_COST_BP,
        exposures: Exposures | None = None,
    ) -> None:
        rows = window.rows(panel.dates)
        length = rows.stop - rows.start
        if length < horizon + 2:
            raise EvidenceInvalid(
                f"a window needs at least horizon + 2 = {horizon + 2} rows of the panel so that one label ends "
                f"inside it, got {max(length, 0)} from {window.start} to {window.end}"
            )
        self.panel = panel.head(rows.stop)
        self.window = window
        self.horizon = horizon
        self.fill: Fill = fill
        self.cost_bp = ProportionalCosts(cost_bp).bp
        self.periods = periods_per_year(panel)
        self.rows = rows
        self._start: int = rows.start
        self._stop: int = rows.stop
        self.labels = {
            h: np.ascontiguousarray(forward_returns(self.panel, h, fill)[rows]) for h in {1, horizon, *DECAY_HORIZONS}
        }
        self.label_ranks = {h: rank_rows(labels) for h, labels in self.labels.items()}
        self._priced = np.isfinite(self.panel["close"][rows]) & self.panel.universe[rows]
        self._decision = np.arange(length) < length - horizon - 1
        self.exposures = Exposures.of(self.panel) if exposures is None else _of_this(exposures, self.panel)
        own, daily = self._residuals(horizon, 1)
        self._residual_ranks = rank_rows(own)
        self.per_risk = {horizon: self.exposures.per_risk(own, self._start)}
        self._has_residual = np.isfinite(daily).any(axis=1)
        self._residual_earned = np.nan_to_num(daily, nan=0.0)
        self._no_residual = self._reasons(own)
        self._paid = np.arange(length) < length - 2  # the row after the fill lies inside

    def rank(self, factor: ArrayLike) -> RankedFactor:
        """`factor` on the window, for `series`, `evidence` and `evidence_decay` to share.

        Args:
            factor: [T, N] on the panel's symbols, NaN where undefined; either all rows of the panel
                or those up to the window's end.

        Raises:
            EvidenceInvalid: another shape.
        """
        values = self._values(factor)
        lead = max(0, self._start - self.horizon)  # rows the first staggered book still holds
        ranked = rank_rows(values[lead : self._stop])
        return RankedFactor(
            values=np.ascontiguousarray(values[self._start : self._stop]),
            ranked=ranked,
            here=ranked.rows(self._start - lead, ranked.count.size),
            book=rank_book(ranked, self.labels[1], self.horizon),
        )

    def evidence(self, factor: ArrayLike | RankedFactor) -> Evidence:
        """The figures of `factor`; arguments and errors as in `series`."""
        return summarise(self.series(factor), self.window)

    def series(self, factor: ArrayLike | RankedFactor) -> FactorSeries:
        """The daily series of `factor` on the window.

        Args:
            factor: [T, N] as in `rank`, or what `rank` made of it.

        Raises:
            EvidenceInvalid: another shape.
        """
        seen = factor if isinstance(factor, RankedFactor) else self.rank(factor)
        here, book = seen.here, seen.book
        rank_ics = {h: rank_correlation(here, labels) for h, labels in self.label_ranks.items()}
        rank_ic = rank_ics[self.horizon]
        active = book.active & self._paid
        return FactorSeries(
            dates=self.panel.dates[self._start :],
            decision=self._decision,
            ic=pearson_where(rank_ic, seen.values, self.labels[self.horizon]),
            rank_ic=rank_ic,
            decay={h: rank_ics[h] for h in DECAY_HORIZONS},
            evidence=rank_value_correlation(here, self.per_risk[self.horizon]),
            residual_rank_ic=rank_correlation(here, self._residual_ranks),
            quantiles=quantile_series_of_ranks(here, self.labels[1]),
            coverage=self._coverage(seen.values),
            rank_autocorr=self._autocorrelation(seen.ranked, seen.ranked.count.size - here.count.size),
            active=active,
            gross=np.where(self._paid, book.gross, np.nan),
            turnover=book.turnover,
            neutral=np.where(
                self._paid & self._has_residual, np.einsum("ti,ti->t", book.weights, self._residual_earned), np.nan
            ),
            missing_returns=int(book.missing[active].sum()),
            horizon=self.horizon,
            fill=self.fill,
            cost_bp=self.cost_bp,
            periods=self.periods,
            min_names=MIN_NAMES,
            no_residual=self._no_residual,
        )

    def evidence_decay(self, factor: ArrayLike | RankedFactor) -> dict[int, NDArray[np.float64]]:
        """The daily evidence [D] of `factor` by horizon: what is left after common risks, near and far.

        Arguments and errors as in `series`. The residuals of the other horizons are found at the first call.
        """
        here = (factor if isinstance(factor, RankedFactor) else self.rank(factor)).here
        wanted = [h for h in DECAY_HORIZONS if h not in self.per_risk]
        for h, residual in zip(wanted, self._residuals(*wanted), strict=True):
            self.per_risk[h] = self.exposures.per_risk(residual, self._start)
        return {h: rank_value_correlation(here, self.per_risk[h]) for h in DECAY_HORIZONS}

    def _residuals(self, *horizons: int) -> list[NDArray[np.float64]]:
        return self.exposures.residuals([self.labels[h] for h in horizons], self._start)

    def _reasons(self, residual: NDArray[np.float64]) -> dict[str, str]:
        """Why there are no residuals, or which exposure they keep."""
        rows = self.panel.shape[0]
        if rows <= HISTORY:
            return {"evidence": f"residuals need {HISTORY} rows of history before their first date, got {rows} in all"}
        if not np.isfinite(residual).any():
            return {"evidence": f"no date after {HISTORY} rows of history has names enough with a label and exposures"}
        return {f"evidence.{name}": why for name, why in self.exposures.missing.items()}

    def _values(self, factor: ArrayLike) -> NDArray[np.float64]:
        values = np.asarray(factor, np.float64)
        names = self.panel.shape[1]
        if values.ndim != 2 or values.shape[1] != names or values.shape[0] < self._stop:
            raise EvidenceInvalid(
                f"a factor must have the panel's {names} symbols and at least the {self._stop} rows "
                f"up to {self.window.end}, got shape {values.shape}"
            )
        return values

    def _coverage(self, now: NDArray[np.float64]) -> NDArray[np.float64]:
        priced = self._priced.sum(axis=1)
        covered = (np.isfinite(now) & self._priced).sum(axis=1)
        share = np.full(priced.size, np.nan)
        np.divide(covered, priced, out=share, where=self._decision & (priced > 0))
        return share

    def _autocorrelation(self, ranked: RankedRows, ahead: int) -> NDArray[np.float64]:
        rows = ranked.count.size
        found = np.full(rows, np.nan)
        found[1:] = rank_correlation(ranked.rows(1, rows), ranked.rows(0, rows - 1))
        return np.where(self._decision, found[ahead:], np.nan)


def _of_this(exposures: Exposures, panel: Panel) -> Exposures:
    rows = panel.shape[0]
    if exposures.symbols != panel.symbols or not np.array_equal(exposures.dates[:rows], panel.dates):
        raise EvidenceInvalid("exposures must be those of the panel: the same symbols, and its dates to begin with")
    return exposures
