"""The panels a workspace has open: each with its fixed windows and what measures factors on it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from alphaswarm.core import EvidenceInvalid, Panel, Store
from alphaswarm.research.ledger import insert_once
from alphaswarm.research.tables import windows as windows_table

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.data import Catalog
    from alphaswarm.evaluation import Evaluator, Window, Windows

__all__ = ["OpenPanel", "Panels"]

# Label ranks of one horizon and fill take some 30 MB on ten years of 500 names.
MAX_EVALUATORS = 6


@dataclass(frozen=True, eq=False)
class OpenPanel:
    """A panel as research may see it.

    Attributes:
        name: under which its trials are counted.
        panel: all of it.
        lineage: the data that it belongs to: name of the first panel that held most of them. Windows
            and counts are the lineage's.
        windows: fixed when the lineage was first used here.
        seen: its rows up to the end of the search window. Factors are evaluated on these and no others,
            so that nothing later can reach a number, whatever an operator does.
    """

    name: str
    lineage: str
    panel: Panel
    windows: Windows
    seen: Panel

    @property
    def window(self) -> Window:
        """The search window."""
        return self.windows.search

    @property
    def days(self) -> int:
        """Rows in the search window."""
        rows = self.window.rows(self.seen.dates)
        return int(rows.stop) - int(rows.start)

    @property
    def as_of(self) -> str:
        """The last market date of the search window: what is known of it is known by then."""
        return str(self.seen.dates[-1].astype("datetime64[D]"))


class Panels:
    """Opens panels once and keeps them, from whatever thread they are asked for."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._open: dict[str, OpenPanel] = {}
        self._evaluators: OrderedDict[tuple[str, str, int, str], Evaluator] = OrderedDict()
        self._guard = threading.RLock()

    def open(self, name: str) -> OpenPanel:
        """The panel of this name or path, with its windows; they are fixed now if they were not.

        Raises:
            UnknownName, ProviderError, DataInvalid: it can't be had.
            EvidenceInvalid: it has no day in the search window that its name was given before.
        """
        with self._guard:
            known = self._open.get(name)
            if known is None:
                own = self._catalog.adopt(name)
                known = self._open.get(own) or self._looked_at(own, self._catalog.open(own))
                self._open[name] = self._open[own] = known
            return known

    def evidence(self, opened: OpenPanel, factor: NDArray[np.float64], horizon: int, fill: Fill) -> Mapping[str, Any]:
        """What `factor` [rows seen, N] shows on the search window, as plain JSON."""
        return self._evaluator(opened, horizon, fill).evidence(factor).to_dict()

    def check_label(self, opened: OpenPanel, horizon: int, fill: Fill) -> None:
        """See that factors can be measured against this label.

        Raises:
            EvidenceInvalid: no label of this horizon ends inside the search window.
            FieldNotFound: the panel lacks the price that the fill needs.
        """
        self._evaluator(opened, horizon, fill)

    def _looked_at(self, name: str, panel: Panel) -> OpenPanel:
        windows = self._fixed_windows(name, panel)
        rows = windows.search.rows(panel.dates)
        if rows.stop <= rows.start:
            raise EvidenceInvalid(
                f"panel {name!r} was first used with the search window {windows.search.start} to "
                f"{windows.search.end}, and has no day in it now; give other data another name"
            )
        return OpenPanel(name, name, panel, windows, panel.head(rows.stop))

    def _fixed_windows(self, name: str, panel: Panel) -> Windows:
        from alphaswarm.evaluation import Window, Windows, default_windows

        query = select(windows_table).where(windows_table.c.panel == name)
        with self._store.read() as connection:
            rows = connection.execute(query).mappings().all()
        if not rows:
            first = default_windows(name, panel)
            with self._store.write() as connection:
                for window in (first.search, first.selection, first.vault):
                    insert_once(connection, windows_table, {"panel": name, **window.to_dict()})
                rows = connection.execute(query).mappings().all()
        return Windows(**{row["role"]: Window(row["role"], row["start"], row["end"]) for row in rows})

    def _evaluator(self, opened: OpenPanel, horizon: int, fill: Fill) -> Evaluator:
        from alphaswarm.evaluation import Evaluator

        key = (opened.name, opened.panel.digest, horizon, fill)
        with self._guard:
            evaluator = self._evaluators.pop(key, None)
            if evaluator is None:
                evaluator = Evaluator(opened.seen, opened.window, horizon=horizon, fill=fill)
            self._evaluators[key] = evaluator
            while len(self._evaluators) > MAX_EVALUATORS:
                self._evaluators.popitem(last=False)
            return evaluator
