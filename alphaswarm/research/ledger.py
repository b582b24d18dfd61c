"""The ledger: every trial, kept once and for ever, and what was said about it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping, case, func, select

from alphaswarm.core import Clock, Store, UnknownName, canonical_json, content_key
from alphaswarm.research.daily import Daily
from alphaswarm.research.lineage import lineage_of, names_of
from alphaswarm.research.tables import insert_once, notes, series, trials
from alphaswarm.research.trial import Trial

__all__ = ["Ledger", "Note", "insert_once"]

SHORTEST_PREFIX = 4
# Results are one where their t-values agree to a millionth: the order of a copy's columns moves the last bits.
SAME_RESULT = 1e6
Order = Literal["strongest", "proposed"]


@dataclass(frozen=True, slots=True)
class Note:
    """What somebody says about a trial; empty texts say nothing."""

    run: str | None = None
    source: str = ""
    rationale: str = ""
    critique: str = ""
    parents: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to keep."""
        return self == Note()


class Ledger:
    """Reads and writes trials and notes. Writing happens in the caller's transaction."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def add(self, connection: Connection, row: Mapping[str, Any]) -> bool:
        """Keep a trial; False when its key is there already, and then nothing changes."""
        return insert_once(connection, trials, {**row, "created": self._clock.now().isoformat()})

    def add_daily(self, connection: Connection, trial: str, daily: Daily) -> None:
        """Keep the daily figures of a trial beside it."""
        insert_once(connection, series, {"trial": trial, **daily.columns()})

    def series(self, identifiers: Iterable[str]) -> dict[str, Daily]:
        """The daily figures of the trials with these ids; those that have none are left out."""
        query = select(series).where(series.c.trial.in_(list(identifiers)))
        with self._store.read() as connection:
            return {row["trial"]: Daily.parse(row) for row in connection.execute(query).mappings()}

    def say(self, connection: Connection, trial: str, note: Note) -> bool:
        """Keep a note; False when the same was said before, or it says nothing."""
        if note.empty:
            return False
        said = {
            "trial": trial,
            "run": note.run,
            "source": note.source,
            "rationale": note.rationale,
            "critique": note.critique,
            "parents": canonical_json(list(note.parents)).decode(),
        }
        key = content_key(said)
        return insert_once(connection, notes, {**said, "key": key, "created": self._clock.now().isoformat()})

    def row(self, connection: Connection, key: str) -> RowMapping | None:
        """The trial with this key, if there is one."""
        return connection.execute(select(trials).where(trials.c.id == key)).mappings().one_or_none()

    def said(self, connection: Connection, key: str, run: str | None = None) -> dict[str, Any]:
        """What a trial's notes say together: of each field the last that is not empty."""
        query = select(notes).where(notes.c.trial == key).order_by(notes.c.seq)
        if run is not None:
            query = query.where(notes.c.run == run)
        return together(connection.execute(query).mappings())

    def trial(self, row: RowMapping, connection: Connection, *, known: bool, run: str | None = None) -> Trial:
        """A row as the model that everybody sees."""
        total = self.count(connection, lineage_of(connection, row["panel"]))
        return Trial.of(row, self.said(connection, row["id"], run), trials_total=total, known=known)

    def count(self, connection: Connection, lineage: str) -> int:
        """N: distinct (digest, horizon, fill) ever tried on any panel of the lineage, once for each result they had.

        A copy of the data gives the same RankIC, and is no new look; other values of a field of the same name are one.
        """
        here = trials.c.panel.in_(names_of(connection, lineage))
        asked = (trials.c.digest, trials.c.horizon, trials.c.fill)
        results = func.count(func.round(trials.c.rank_ic_t * SAME_RESULT).distinct())  # what has none counts below
        times = select(case((results > 1, results), else_=1).label("times")).where(here).group_by(*asked).subquery()
        return int(connection.execute(select(func.coalesce(func.sum(times.c.times), 0))).scalar_one())

    def relatives(self, panel: str, lineage: str) -> list[str]:
        """The other names of the lineage under which something was tried; it is in N too."""
        with self._store.read() as connection:
            names = [name for name in names_of(connection, lineage) if name != panel]
            tried = select(trials.c.panel).where(trials.c.panel.in_(names)).distinct().order_by(trials.c.panel)
            return list(connection.execute(tried).scalars())

    def find(self, prefix: str) -> Trial:
        """The trial whose id begins so; else the newest of the expression whose digest does.

        Raises:
            UnknownName: there is none, or several begin so.
        """
        with self._store.read() as connection:
            row = self._find(connection, prefix)
            return self.trial(row, connection, known=True)

    def trials(
        self,
        *,
        run: str | None = None,
        panel: str | None = None,
        status: str | None = "evaluated",
        order: Order = "strongest",
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Trial]:
        """Trials, of one run or panel if asked; by their strength, or in order of proposal."""
        query = select(trials)
        if run is not None:
            first = select(notes.c.trial, func.min(notes.c.seq).label("said")).where(notes.c.run == run)
            said = first.group_by(notes.c.trial).subquery()
            query = query.join(said, said.c.trial == trials.c.id)
            proposed = said.c.said
        else:
            proposed = trials.c.seq
        if panel is not None:
            query = query.where(trials.c.panel == panel)
        if status is not None:
            query = query.where(trials.c.status == status)
        if order == "strongest":
            strength = func.coalesce(trials.c.strength, func.abs(trials.c.rank_ic_t), -1.0)
            query = query.order_by(strength.desc(), trials.c.digest, trials.c.id)
        else:
            query = query.order_by(proposed)
        with self._store.read() as connection:
            rows = connection.execute(query.limit(limit).offset(offset)).mappings().all()
            panels = {row["panel"] for row in rows}
            totals = {name: self.count(connection, lineage_of(connection, name)) for name in panels}
            return [
                Trial.of(row, self.said(connection, row["id"], run), trials_total=totals[row["panel"]], known=True)
                for row in rows
            ]

    def _find(self, connection: Connection, prefix: str) -> RowMapping:
        if len(prefix) < SHORTEST_PREFIX or not set(prefix) <= set("0123456789abcdef"):
            raise UnknownName(
                f"a trial is named by at least {SHORTEST_PREFIX} letters of its id or digest (0-9, a-f), got {prefix!r}"
            )
        for column in (trials.c.id, trials.c.digest):
            named = column == prefix if len(prefix) == 64 else column.startswith(prefix)
            found = connection.execute(select(column).where(named).distinct().limit(4)).scalars().all()
            if len(found) > 1:
                raise UnknownName(f"{prefix!r} begins several trials: {', '.join(key[:12] for key in found)}; say more")
            if found:
                query = select(trials).where(column == found[0]).order_by(trials.c.seq.desc()).limit(1)
                return connection.execute(query).mappings().one()
        raise UnknownName(f"no trial has an id or digest that begins with {prefix!r}; list them to see which there are")


def together(rows: Iterable[RowMapping]) -> dict[str, Any]:
    """Notes as one: of each field the last that is not empty."""
    said: dict[str, Any] = {"source": "", "rationale": "", "critique": "", "parents": []}
    for row in rows:
        for name in ("source", "rationale", "critique"):
            said[name] = row[name] or said[name]
        said["parents"] = json.loads(row["parents"]) or said["parents"]
    return said
