"""Lineages: which panels hold the same data, so that windows and counts can be those of the data.

A panel under another name, a copy with a name less, the same days with other fields: whoever looks
at it looks at the same future. So windows, the count N of trials and the count K of finalists belong
to a lineage of panels that share their cells.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from alphaswarm.core import Clock, EvidenceInvalid, Panel, Store, canonical_json
from alphaswarm.research.tables import insert_once, lineages, selections, windows

if TYPE_CHECKING:
    from alphaswarm.evaluation import Windows

__all__ = ["Cells", "Lineages", "lineage_of", "names_of"]

# A panel belongs to older data that hold more than this share of its cells.
MOST = 0.5


@dataclass(frozen=True, eq=False)
class Cells:
    """The (symbol, date) pairs for which a panel has data; rows of one day are one row.

    Attributes:
        symbols: N distinct names.
        days: datetime64[D] [D], increasing.
        present: bool [D, N], a finite close (any finite field where there is no close) inside the universe.
    """

    symbols: NDArray[np.str_]
    days: NDArray[np.datetime64]
    present: NDArray[np.bool_]

    @classmethod
    def of(cls, panel: Panel) -> Cells:
        """The cells of `panel`. Names of an invented market (`meta["market"]`) are of that market only."""
        prices = [panel["close"]] if "close" in panel.fields else list(panel.fields.values())
        there = np.logical_or.reduce([np.isfinite(values) for values in prices]) & panel.universe
        days, starts = np.unique(panel.dates.astype("datetime64[D]"), return_index=True)
        if days.size < there.shape[0]:
            there = np.logical_or.reduceat(there, starts, axis=0)
        market = panel.meta.get("market")
        folded = [name.casefold() for name in panel.symbols]  # another spelling is no other share
        names = folded if len(set(folded)) == len(folded) else panel.symbols
        return cls(np.array([f"{market}/{name}" if market else name for name in names]), days, there)

    @classmethod
    def parse(cls, row: Mapping[str, bytes]) -> Cells:
        """From a row of `lineages`."""
        symbols = np.array(json.loads(zlib.decompress(row["symbols"])))
        days = np.frombuffer(zlib.decompress(row["dates"]), "<i8").astype("datetime64[D]")
        shape = (days.size, symbols.size)
        bits = np.frombuffer(zlib.decompress(row["cells"]), np.uint8)
        return cls(symbols, days, np.unpackbits(bits, count=shape[0] * shape[1]).reshape(shape).view(np.bool_))

    def columns(self) -> dict[str, bytes]:
        """For a row of `lineages`."""
        return {
            "symbols": zlib.compress(canonical_json(self.symbols.tolist())),
            "dates": zlib.compress(self.days.astype("<i8").tobytes()),
            "cells": zlib.compress(np.packbits(self.present).tobytes(), level=1),
        }

    def between(self, first: np.datetime64, last: np.datetime64) -> Cells:
        """Those of the days from `first` to `last`, both included."""
        rows = slice(int(np.searchsorted(self.days, first, "left")), int(np.searchsorted(self.days, last, "right")))
        return Cells(self.symbols, self.days[rows], self.present[rows])

    def share_in(self, others: Iterable[Cells]) -> float:
        """How much of these cells at least one of `others` holds too, 0 to 1."""
        held = np.zeros_like(self.present)
        for other in others:
            _, rows, their_rows = np.intersect1d(self.days, other.days, assume_unique=True, return_indices=True)
            _, names, their_names = np.intersect1d(self.symbols, other.symbols, assume_unique=True, return_indices=True)
            held[np.ix_(rows, names)] |= other.present[np.ix_(their_rows, their_names)]
        total = int(self.present.sum())
        return int((held & self.present).sum()) / total if total else 0.0


class Lineages:
    """Settles, once for each panel and content, to which lineage it belongs."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def settle(self, name: str, panel: Panel) -> tuple[str, Windows]:
        """The lineage of `panel`, called `name`, and its windows; both are fixed now if they were not.

        One transaction decides, so of two processes that come at once the second finds what the first did.

        Raises:
            EvidenceInvalid: the name belongs to other data than most of what the panel holds now; or fewer
                than five days, which can't be cut in windows.
        """
        from alphaswarm.evaluation import default_windows

        known = (lineages.c.panel == name) & (lineages.c.panel_digest == panel.digest)
        with self._store.read() as connection:
            lineage = connection.execute(select(lineages.c.lineage).where(known)).scalar()
            fixed = None if lineage is None else _windows(connection, lineage)
        if lineage is not None and fixed is not None:
            return lineage, fixed
        cells = Cells.of(panel)
        with self._store.write() as connection:
            lineage = self._decide(connection, name, cells)
            now = self._clock.now().isoformat()
            panel_is = {"panel": name, "panel_digest": panel.digest, "lineage": lineage, "created": now}
            insert_once(connection, lineages, {**panel_is, **cells.columns()})
            fixed = _windows(connection, lineage)
            if fixed is None:
                fixed = default_windows(name, panel)
                for window in (fixed.search, fixed.selection, fixed.vault):
                    insert_once(connection, windows, {"panel": lineage, **window.to_dict()})
            span = {"start": str(fixed.selection.start), "end": str(fixed.selection.end)}
            first = {"lineage": lineage, "number": 1, **span, "opened": now, "reason": "fixed at first use"}
            insert_once(connection, selections, first)
        return lineage, fixed

    def used(self) -> list[str]:
        """The names of all panels that were ever opened here, sorted."""
        with self._store.read() as connection:
            names = connection.execute(select(lineages.c.panel).union(select(windows.c.panel))).scalars()
            return sorted(names)

    def seen_elsewhere(self, lineage: str, cells: Cells) -> str | None:
        """The other lineage in whose search window the most of `cells` were seen, if most were seen in such windows."""
        seen: dict[str, list[Cells]] = {}
        with self._store.read() as connection:
            for other, held in _known(connection).items():
                fixed = _windows(connection, other)
                if other != lineage and fixed is not None:
                    seen[other] = [part.between(fixed.search.start, fixed.search.end) for part in held]
        if cells.share_in(part for parts in seen.values() for part in parts) <= MOST:
            return None
        return max(seen, key=lambda other: cells.share_in(seen[other]))

    def _decide(self, connection: Connection, name: str, cells: Cells) -> str:
        shares = {lineage: cells.share_in(held) for lineage, held in _known(connection).items()}
        others = {lineage: share for lineage, share in shares.items() if share > MOST}
        own = connection.execute(select(lineages.c.lineage).where(lineages.c.panel == name).limit(1)).scalar()
        given = _windows(connection, name)  # by an earlier version, if there is no lineage yet
        if own is None and given is None:
            return max(others, key=others.__getitem__, default=name)
        own = own or name
        others.pop(own, None)
        if not others:
            return own
        other = max(others, key=others.__getitem__)
        if own == name and own not in shares and _windows(connection, other) == given:
            return other
        raise EvidenceInvalid(
            f"panel {name!r} was used with the windows of {own!r}, and most of what it holds now belongs to panel "
            f"{other!r}, which has its own; give these data another name, and they will be counted with {other!r}"
        )


def lineage_of(connection: Connection, name: str) -> str:
    """The lineage of the panel of this name; the name itself where it was not opened yet."""
    found = connection.execute(select(lineages.c.lineage).where(lineages.c.panel == name).limit(1)).scalar()
    return name if found is None else str(found)


def names_of(connection: Connection, lineage: str) -> list[str]:
    """The names of all panels of a lineage, sorted; its first panel is among them."""
    found = connection.execute(select(lineages.c.panel).where(lineages.c.lineage == lineage).distinct()).scalars()
    return sorted({lineage, *found})


def _known(connection: Connection) -> dict[str, list[Cells]]:
    """Lineage to the cells of its panels, the oldest lineage first."""
    found: dict[str, list[Cells]] = {}
    query = select(lineages).order_by(lineages.c.created, lineages.c.panel)
    for row in connection.execute(query).mappings():
        found.setdefault(row["lineage"], []).append(
            Cells.parse({name: row[name] for name in ("symbols", "dates", "cells")})
        )
    return found


def _windows(connection: Connection, lineage: str) -> Windows | None:
    from alphaswarm.evaluation import Window, Windows

    rows = connection.execute(select(windows).where(windows.c.panel == lineage)).mappings().all()
    if not rows:
        return None
    return Windows(**{row["role"]: Window(row["role"], row["start"], row["end"]) for row in rows})
