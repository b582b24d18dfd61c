"""The panels a workspace has open: each with its lineage's windows and what measures factors on them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import Clock, EvidenceInvalid, Panel, Store
from alphaswarm.research.lineage import Cells, Lineages
from alphaswarm.research.selections import Selections

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.data import Catalog
    from alphaswarm.evaluation import Evaluator, FactorSeries, Window, Windows
    from alphaswarm.evaluation.residual import Exposures

__all__ = ["OpenPanel", "Panels"]

# Label ranks of one horizon and fill take some 30 MB on ten years of 500 names.
MAX_EVALUATORS = 6
# Exposures take some 40 MB on ten years of 500 names; search and one judged window are at work together.
MAX_EXPOSURES = 2


@dataclass(frozen=True, eq=False)
class OpenPanel:
    """A panel as research may see it.

    Attributes:
        name: under which its trials are counted.
        panel: all of it.
        lineage: the data that it belongs to: name of the first panel that held most of them. Windows
            and counts are the lineage's.
        windows: fixed when the lineage was first used here.
        window: whose numbers may be read: the search window, or in an unsealed workspace the whole panel.
        seen: its rows up to the end of `window`. Factors are evaluated on these and no others,
            so that nothing later can reach a number, whatever an operator does.
    """

    name: str
    lineage: str
    panel: Panel
    windows: Windows
    window: Window
    seen: Panel

    @property
    def days(self) -> int:
        """Rows in the window."""
        rows = self.window.rows(self.seen.dates)
        return int(rows.stop) - int(rows.start)

    @property
    def as_of(self) -> str:
        """The last market date of the window: what is known of it is known by then."""
        return str(self.seen.dates[-1].astype("datetime64[D]"))


class Panels:
    """Opens panels once and keeps them, from whatever thread they are asked for."""

    def __init__(self, store: Store, catalog: Catalog, clock: Clock, *, unsealed: bool = False) -> None:
        self._catalog = catalog
        self._unsealed = unsealed
        self.lineages = Lineages(store, clock)
        self.selections = Selections(store, clock, self.lineages)
        self._open: dict[str, OpenPanel] = {}
        self._evaluators: OrderedDict[tuple[str, str, int, str], Evaluator] = OrderedDict()
        self._exposures: OrderedDict[tuple[str, int], Exposures] = OrderedDict()
        self._guard = threading.RLock()

    def open(self, name: str) -> OpenPanel:
        """The panel of this name or path, with its windows; they are fixed now if they were not.

        Raises:
            UnknownName, ProviderError, DataInvalid: it can't be had.
            EvidenceInvalid: it has no day in the search window of its lineage, or now holds the data of another.
        """
        with self._guard:
            known = self._open.get(name)
            if known is None:
                own = self._catalog.adopt(name)
                known = self._open.get(own) or self._looked_at(own, self._catalog.open(own))
                self._open[name] = self._open[own] = known
            return known

    def evidence(
        self, opened: OpenPanel, factor: NDArray[np.float64], horizon: int, fill: Fill
    ) -> tuple[Mapping[str, Any], FactorSeries]:
        """What `factor` [rows seen, N] shows on the window, as plain JSON, and the daily series behind it."""
        from alphaswarm.evaluation.evidence import summarise

        series = self._evaluator(opened, horizon, fill).series(factor)
        return summarise(series, opened.window).to_dict(), series

    def selection_evaluator(self, opened: OpenPanel, horizon: int, fill: Fill, number: int) -> Evaluator:
        """Measures on a selection window. For the judge alone: of what it finds only pass or fail may leave.

        Raises:
            EvidenceInvalid: no such window here, it holds no label of this horizon after its embargo, or it was seen.
        """
        every = self._sealed(opened).all(opened.lineage)
        if not 1 <= number <= len(every):
            raise EvidenceInvalid(f"panel {opened.name!r} has selection windows 1 to {len(every)}, got {number}")
        return self._judging(opened, every[number - 1].judged(opened.panel.dates), horizon, fill)

    def vault_evaluator(self, opened: OpenPanel, horizon: int, fill: Fill) -> Evaluator:
        """Measures on the vault. For the release of a pool alone, which is logged first.

        Raises:
            EvidenceInvalid: the vault holds no label of this horizon after its embargo, or was seen.
        """
        self._sealed(opened)
        return self._judging(opened, opened.windows.vault.after_embargo(opened.panel.dates), horizon, fill)

    def search_evaluator(self, opened: OpenPanel, horizon: int, fill: Fill) -> Evaluator:
        """Measures on the window whose numbers may be read; raises as `check_label`."""
        return self._evaluator(opened, horizon, fill)

    def check_label(self, opened: OpenPanel, horizon: int, fill: Fill) -> None:
        """See that factors can be measured against this label.

        Raises:
            EvidenceInvalid: no label of this horizon ends inside the search window.
            FieldNotFound: the panel lacks the price that the fill needs.
        """
        self._evaluator(opened, horizon, fill)

    def _looked_at(self, name: str, panel: Panel) -> OpenPanel:
        from alphaswarm.evaluation import Window

        lineage, windows = self.lineages.settle(name, panel)
        if self._unsealed:
            whole = Window("in-sample", panel.dates[0], panel.dates[-1])
            return OpenPanel(name, lineage, panel, windows, whole, panel)
        rows = windows.search.rows(panel.dates)
        if rows.stop <= rows.start:
            owner = "was" if lineage == name else f"holds the data of {lineage!r}, which was"
            raise EvidenceInvalid(
                f"panel {name!r} {owner} first used with the search window {windows.search.start} to "
                f"{windows.search.end}, and has no day in it now; give other data another name"
            )
        return OpenPanel(name, lineage, panel, windows, windows.search, panel.head(rows.stop))

    def _sealed(self, opened: OpenPanel) -> Selections:
        if self._unsealed:
            raise EvidenceInvalid(f"nothing of panel {opened.name!r} is sealed here: nothing can be confirmed on it")
        return self.selections

    def _judging(self, opened: OpenPanel, window: Window, horizon: int, fill: Fill) -> Evaluator:
        """What measures on a later window, unless most of it was seen as the search window of other panels."""
        from alphaswarm.evaluation import Evaluator

        cells = Cells.of(opened.panel).between(window.start, window.end)
        seen = self.lineages.seen_elsewhere(opened.lineage, cells)
        if seen is not None:
            raise EvidenceInvalid(
                f"the rows of panel {opened.name!r} from {window.start} to {window.end} lie in the search window of "
                f"panel {seen!r}: they were seen, and can't judge anything any more"
            )
        known = opened.panel.head(window.rows(opened.panel.dates).stop)
        return Evaluator(known, window, horizon=horizon, fill=fill, exposures=self._exposed(opened, known))

    def _evaluator(self, opened: OpenPanel, horizon: int, fill: Fill) -> Evaluator:
        from alphaswarm.evaluation import Evaluator

        key = (opened.name, opened.panel.digest, horizon, fill)
        with self._guard:
            evaluator = self._evaluators.pop(key, None)
            if evaluator is None:
                exposures = self._exposed(opened, opened.seen)
                evaluator = Evaluator(opened.seen, opened.window, horizon=horizon, fill=fill, exposures=exposures)
            self._evaluators[key] = evaluator
            while len(self._evaluators) > MAX_EVALUATORS:
                self._evaluators.popitem(last=False)
            return evaluator

    def _exposed(self, opened: OpenPanel, known: Panel) -> Exposures:
        """The exposures of the rows `known`, which all windows, horizons and fills that end there share."""
        from alphaswarm.evaluation.residual import Exposures

        key = (opened.panel.digest, known.shape[0])
        with self._guard:
            exposures = self._exposures.pop(key, None) or Exposures.of(known)
            self._exposures[key] = exposures
            while len(self._exposures) > MAX_EXPOSURES:
                self._exposures.popitem(last=False)
            return exposures
