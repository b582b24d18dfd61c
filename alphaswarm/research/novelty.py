"""`Novelty`: which stored trial a new expression is nearest to, by how it behaves, else by its form.

Behaviour is the rank correlation of values on a few days that are spread over the window, and, for those that are
not far apart, the correlation of risk-neutral daily results. Both are blind to sign and scale. Nothing that an
expression earned is told, so asking costs no trial.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field
from sqlalchemy import Column, Connection, ForeignKey, Index, Integer, LargeBinary, String, Table, select

from alphaswarm.core import ExpressionError, Store
from alphaswarm.core.store import metadata
from alphaswarm.rag import Memory
from alphaswarm.research.ledger import Ledger
from alphaswarm.research.lineage import names_of
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.tables import insert_once, trials

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.dsl import Expr

__all__ = ["ALIKE", "Nearest", "Novelty", "add_sketch", "sketch"]

ALIKE = 0.7
"""Absolute correlation from which two factors are one idea; the pool and the judge draw the same line."""
# Residual results of rank books move together as their weights do: below this the results are not measured.
WORTH_MEASURING = 0.4
MEASURED = 8
DAYS = 16
# Trials of earlier versions have no sketch; so many are given one at a time.
BACKLOG = 40
MISSING = -128
CHUNK = 256

Array = NDArray[np.float64]
Ranks = NDArray[np.int8]

# Ranks of each evaluated trial's values on a few days: a cache, made again where it is missing.
sketches = Table(
    "sketches",
    metadata,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    Column("trial", String(64), ForeignKey("trials.id"), nullable=False, unique=True),
    Column("frame", String(32), nullable=False),  # of which days and names
    Column("ranks", LargeBinary, nullable=False),  # zlib of int8 [DAYS, N], -127 to 127, -128 where missing
    Index("sketches_of_frame", "frame", "seq"),
    sqlite_autoincrement=True,
)


class Nearest(BaseModel):
    """The stored trial that an expression is nearest to."""

    digest: str
    expression: str
    why: str
    likeness: float = Field(description="absolute correlation, or cosine of the structures; 0 to 1")
    of: Literal["behaviour", "structure"]


@dataclass
class _Known:
    """The sketches of one frame, in order of writing."""

    last: int = 0
    trials: list[str] = field(default_factory=list)
    ranks: list[Ranks] = field(default_factory=list)


class Novelty:
    """Compares expressions with the trials of a workspace."""

    def __init__(self, store: Store, panels: Panels, ledger: Ledger, memory: Memory) -> None:
        self._store = store
        self._panels = panels
        self._ledger = ledger
        self._memory = memory
        self._frames: dict[str, _Known] = {}
        self._guard = threading.Lock()

    def nearest(
        self, expression: Expr, opened: OpenPanel, *, horizon: int | None = None, fill: Fill = "close_t1"
    ) -> Nearest | None:
        """The nearest trial on the same data, other than trials of the same canonical expression.

        Args:
            expression: valid on the panel.
            opened: the panel; of its rows only those of the search window are looked at.
            horizon: only trials of this label, and then daily results are compared too; None for all labels.
            fill: of that label.

        Returns:
            The trial that behaves most alike if that is `ALIKE` or more, else one of the same form, else None.
        """
        with self._store.read() as connection:
            known = self._candidates(connection, expression, opened, horizon, fill)
        if not known:
            return None
        return self._by_behaviour(expression, opened, known, horizon, fill) or self._by_form(expression, opened, known)

    def _candidates(
        self, connection: Connection, expression: Expr, opened: OpenPanel, horizon: int | None, fill: Fill
    ) -> dict[str, Any]:
        columns = (trials.c.id, trials.c.digest, trials.c.expression, trials.c.panel, trials.c.panel_digest)
        query = select(*columns).where(
            trials.c.panel.in_(names_of(connection, opened.lineage)),
            trials.c.status == "evaluated",
            trials.c.digest != expression.digest,
        )
        if horizon is not None:
            query = query.where(trials.c.horizon == horizon, trials.c.fill == fill)
        return {row.id: row for row in connection.execute(query.order_by(trials.c.seq))}

    def _by_behaviour(
        self, expression: Expr, opened: OpenPanel, known: dict[str, Any], horizon: int | None, fill: Fill
    ) -> Nearest | None:
        from alphaswarm.research.examine import factor_values

        frame = _frame(opened)
        with self._guard:
            self._catch_up(frame)
            self._sketch_some(opened, frame, known)
            shelf = self._frames[frame]
            places = [place for place, trial in enumerate(shelf.trials) if trial in known]
            stored = [shelf.ranks[place] for place in places]
            names = [shelf.trials[place] for place in places]
        if not stored:
            return None
        factor = factor_values(expression, opened.seen)
        alike = np.abs(_correlations(sketch(factor, opened), stored))
        order = sorted(range(len(names)), key=lambda place: (-round(float(alike[place]), 6), names[place]))
        best, what = order[0], "values"
        likeness = float(alike[best])
        if horizon is not None and WORTH_MEASURING <= likeness < 1.0 - 1e-6:
            close = [place for place in order[:MEASURED] if alike[place] >= WORTH_MEASURING]
            moves = self._results(factor, opened, [names[place] for place in close], horizon, fill)
            for place in close:
                if moves.get(names[place], 0.0) > likeness + 1e-6:
                    best, likeness, what = place, moves[names[place]], "daily results"
        if likeness < ALIKE:
            return None
        row = known[names[best]]
        why = f"its {what} move with those of trial {row.id[:12]}: absolute correlation {likeness:.2f}"
        return Nearest(
            digest=row.digest, expression=row.expression, why=why, likeness=round(min(likeness, 1.0), 6), of="behaviour"
        )

    def _results(
        self, factor: Array, opened: OpenPanel, names: Sequence[str], horizon: int, fill: Fill
    ) -> dict[str, float]:
        """|correlation| of daily results with those kept of each trial; risk-neutral ones where there are."""
        from alphaswarm.evaluation.pool import result_correlation

        mine = self._panels.search_evaluator(opened, horizon, fill).series(factor)
        found = {}
        for name, daily in self._ledger.series(names).items():
            neutral = np.isfinite(mine.neutral).any() and np.isfinite(daily.neutral).any()
            ours, theirs = (mine.neutral, daily.neutral) if neutral else (mine.gross, daily.gross)
            if ours.shape == theirs.shape:
                found[name] = abs(result_correlation(ours, theirs))
        return found

    def _by_form(self, expression: Expr, opened: OpenPanel, known: dict[str, Any]) -> Nearest | None:
        like = self._memory.of_form(expression, universe=opened.lineage)
        for document, likeness, why in like:
            if document.id in known:
                return Nearest(
                    digest=document.digest,
                    expression=document.expression,
                    why=f"trial {document.id[:12]} is {why}",
                    likeness=likeness,
                    of="structure",
                )
        return None

    def _catch_up(self, frame: str) -> None:
        shelf = self._frames.setdefault(frame, _Known())
        query = select(sketches).where(sketches.c.frame == frame, sketches.c.seq > shelf.last).order_by(sketches.c.seq)
        with self._store.read() as connection:
            for row in connection.execute(query):
                shelf.trials.append(row.trial)
                shelf.ranks.append(np.frombuffer(zlib.decompress(row.ranks), np.int8).reshape(DAYS, -1))
                shelf.last = row.seq

    def _sketch_some(self, opened: OpenPanel, frame: str, known: dict[str, Any]) -> None:
        """Give trials of this panel that lack a sketch one, the latest first."""
        from alphaswarm.research.examine import checked, factor_values

        have = set(self._frames[frame].trials)
        lacking = [
            row
            for row in reversed(known.values())
            if row.id not in have and row.panel == opened.name and row.panel_digest == opened.panel.digest
        ]
        if not lacking:
            return
        made = {}
        for row in lacking[:BACKLOG]:
            try:
                made[row.id] = sketch(factor_values(checked(row.expression, opened.panel), opened.seen), opened)
            except ExpressionError:  # an older version of the language read it
                continue
        with self._store.write() as connection:
            for trial, ranks in made.items():
                add_sketch(connection, trial, opened, ranks)
        self._catch_up(frame)


def sketch(factor: Array, opened: OpenPanel) -> Ranks:
    """Ranks of a factor [rows seen, N] on `DAYS` days spread over the window, int8 [DAYS, N]."""
    from scipy.stats import rankdata

    rows = opened.window.rows(opened.seen.dates)
    days = np.linspace(rows.start, rows.stop - 1, DAYS).round().astype(int)
    out = np.full((DAYS, factor.shape[1]), MISSING, np.int8)
    for place, day in enumerate(days):
        finite = np.isfinite(factor[day])
        count = int(finite.sum())
        if count > 1:
            ranks = rankdata(factor[day, finite]) - (count + 1) / 2
            out[place, finite] = np.rint(127.0 * ranks / ((count - 1) / 2)).astype(np.int8)
    return out


def add_sketch(connection: Connection, trial: str, opened: OpenPanel, ranks: Ranks) -> None:
    """Keep the sketch of a trial beside it."""
    row = {"trial": trial, "frame": _frame(opened), "ranks": zlib.compress(ranks.tobytes(), 1)}
    insert_once(connection, sketches, row)


def _frame(opened: OpenPanel) -> str:
    """Which days and names the sketches on a panel are of: only those of one frame can be compared."""
    window = opened.window
    told = f"{window.start}|{window.end}|{'|'.join(opened.seen.symbols)}"
    rows = window.rows(opened.seen.dates)
    told += f"|{hashlib.sha256(np.ascontiguousarray(opened.seen.dates[rows]).tobytes()).hexdigest()}"
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def _correlations(mine: Ranks, stored: Sequence[Ranks]) -> Array:
    """Mean over days of the correlation of `mine` with each of `stored`, over the names that both have."""
    here = mine != MISSING
    own = np.where(here, mine, 0).astype(np.float32)
    out = np.zeros(len(stored))
    for start in range(0, len(stored), CHUNK):
        block = np.stack(stored[start : start + CHUNK])
        there = (block != MISSING) & here
        theirs = np.where(there, block, 0).astype(np.float32)
        both = np.einsum("kdn,dn->kd", theirs, own)
        norm = np.sqrt(np.einsum("kdn,kdn->kd", theirs, theirs) * np.einsum("kdn,dn->kd", there, own * own))
        daily = np.divide(both, norm, out=np.full(both.shape, np.nan, np.float32), where=norm > 0.0)
        told = np.isfinite(daily)
        counted = told.sum(axis=1)
        total = np.where(told, daily, 0.0).sum(axis=1)
        out[start : start + CHUNK] = np.divide(total, counted, out=np.zeros(len(block)), where=counted > 0)
    return out
