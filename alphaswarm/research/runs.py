"""Runs: a search from its intent to its outcome, held by one process at a time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict
from sqlalchemy import Connection, RowMapping, func, insert, select, update

from alphaswarm.core import (
    AlphaSwarmError,
    Clock,
    Reason,
    Store,
    StoreBusy,
    StoreError,
    UnknownName,
    canonical_json,
)
from alphaswarm.research.lease import LEASE_SECONDS, Holder
from alphaswarm.research.tables import runs, trials

__all__ = ["Run", "Runs"]

MAX_BUDGET = 1_000_000
MAX_SEED = 2**63 - 1  # what the database keeps


class Run(BaseModel):
    """What a run was asked to do and how far it is.

    `status` is "finished", "running" while its holder lives, else "interrupted": it can be resumed.
    `trials` counts the trials that this run was the first to record, valid or not.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    status: Literal["running", "interrupted", "finished"]
    panel: str
    panel_digest: str
    horizon: int
    fill: str
    proposer: str
    budget: int
    seed: int
    intent: str
    config: dict[str, Any]
    started: str
    finished: str | None
    outcome: Any
    trials: int
    trials_total: int | None


class Runs:
    """The runs of a workspace, as seen and held by one holder."""

    def __init__(self, store: Store, clock: Clock, holder: Holder) -> None:
        self._store = store
        self._clock = clock
        self._holder = holder
        self._held: set[str] = set()

    def start(
        self,
        *,
        panel: str,
        panel_digest: str,
        horizon: int,
        fill: str,
        proposer: str,
        budget: int,
        seed: int,
        intent: str,
        config: Mapping[str, Any],
    ) -> Run:
        """A new run, held from its first moment.

        Raises:
            AlphaSwarmError: a budget or seed that can't be.
        """
        _check_whole("budget", budget, 1, MAX_BUDGET)
        _check_whole("seed", seed, 0, MAX_SEED)
        with self._store.write() as connection:
            number = 1 + (connection.execute(select(func.max(runs.c.number))).scalar() or 0)
            identifier = f"r{number:04d}"
            connection.execute(
                insert(runs).values(
                    number=number,
                    id=identifier,
                    panel=panel,
                    panel_digest=panel_digest,
                    horizon=horizon,
                    fill=fill,
                    proposer=proposer,
                    budget=budget,
                    seed=seed,
                    intent=intent,
                    config=canonical_json(dict(config)).decode(),
                    started=self._clock.now().isoformat(),
                    holder=str(self._holder),
                    expires=self._expiry(),
                )
            )
        self._held.add(identifier)
        return self.get(identifier)

    def resume(self, identifier: str) -> Run:
        """Take a run whose holder is gone.

        Raises:
            UnknownName: no such run.
            StoreBusy: its holder lives.
            StoreError: it has finished.
        """
        with self._store.write() as connection:
            row = self._row(connection, identifier)
            if row["finished"] is not None:
                raise StoreError(f"run {identifier} has finished; start a new one")
            if self._is_held(row):
                holder = Holder.parse(row["holder"])
                raise StoreBusy(f"run {identifier} is held by process {holder.pid} on {holder.host.split('/')[0]}")
            here = runs.c.id == identifier
            connection.execute(update(runs).where(here).values(holder=str(self._holder), expires=self._expiry()))
        self._held.add(identifier)
        return self.get(identifier)

    def check(self, identifier: str) -> None:
        """See that work for the run may go on.

        Raises:
            UnknownName: no such run.
            StoreBusy: somebody took the run over: this process must stop working on it.
            StoreError: the run has finished.
        """
        with self._store.read() as connection:
            self._check(self._row(connection, identifier))

    def renew(self, connection: Connection, identifier: str) -> None:
        """A sign of life, in the caller's transaction; a run that we never held is only looked at.

        Raises:
            StoreBusy: somebody took the run over: this process must stop working on it.
            StoreError: the run has finished.
        """
        self._check(self._row(connection, identifier))
        if identifier in self._held:
            connection.execute(update(runs).where(runs.c.id == identifier).values(expires=self._expiry()))

    def finish(self, identifier: str, outcome: Any, trials_total: int) -> Run:
        """Close a run; finishing it again changes nothing.

        Raises:
            UnknownName: no such run.
            StoreBusy: another process holds it.
        """
        with self._store.write() as connection:
            row = self._row(connection, identifier)
            if row["finished"] is None:
                self._check_finishable(row)
                values = {
                    "finished": self._clock.now().isoformat(),
                    "outcome": canonical_json(outcome).decode(),
                    "trials_total": trials_total,
                    "holder": None,
                    "expires": None,
                }
                connection.execute(update(runs).where(runs.c.id == identifier).values(values))
        self._held.discard(identifier)
        return self.get(identifier)

    def check_finishable(self, identifier: str) -> None:
        """See that nobody else holds an unfinished run.

        Raises:
            UnknownName: no such run.
            StoreBusy: another process holds it.
        """
        with self._store.read() as connection:
            self._check_finishable(self._row(connection, identifier))

    def get(self, identifier: str) -> Run:
        """The run with this id, or `UnknownName`."""
        with self._store.read() as connection:
            return self._run(connection, self._row(connection, identifier))

    def all(self) -> list[Run]:
        """Every run, the newest first."""
        with self._store.read() as connection:
            rows = connection.execute(select(runs).order_by(runs.c.number.desc())).mappings().all()
            return [self._run(connection, row) for row in rows]

    def release(self) -> None:
        """Give every lease back; what is unfinished can then be resumed by anybody."""
        held, self._held = sorted(self._held), set()
        if held:
            with self._store.write() as connection:
                mine = runs.c.id.in_(held) & (runs.c.holder == str(self._holder))
                connection.execute(update(runs).where(mine).values(holder=None, expires=None))

    def _row(self, connection: Connection, identifier: str) -> RowMapping:
        row = connection.execute(select(runs).where(runs.c.id == identifier)).mappings().one_or_none()
        if row is None:
            raise UnknownName.of("run", identifier, connection.execute(select(runs.c.id)).scalars())
        return row

    def _check(self, row: RowMapping) -> None:
        if row["finished"] is not None:
            raise StoreError(f"run {row['id']} has finished; nothing more belongs to it")
        if row["id"] in self._held and row["holder"] != str(self._holder):
            raise StoreBusy(f"run {row['id']} was taken over by another process; this one must stop")

    def _check_finishable(self, row: RowMapping) -> None:
        if row["holder"] != str(self._holder) and self._is_held(row):
            raise StoreBusy(f"run {row['id']} is held by another process, which alone may finish it")

    def _run(self, connection: Connection, row: RowMapping) -> Run:
        first = select(func.count()).select_from(trials).where(trials.c.first_run == row["id"])
        running = "running" if self._is_held(row, by_anyone=True) else "interrupted"
        return Run(
            id=row["id"],
            status="finished" if row["finished"] is not None else running,  # type: ignore[arg-type]
            panel=row["panel"],
            panel_digest=row["panel_digest"],
            horizon=row["horizon"],
            fill=row["fill"],
            proposer=row["proposer"],
            budget=row["budget"],
            seed=row["seed"],
            intent=row["intent"],
            config=json.loads(row["config"]),
            started=row["started"],
            finished=row["finished"],
            outcome=None if row["outcome"] is None else json.loads(row["outcome"]),
            trials=connection.execute(first).scalar_one(),
            trials_total=row["trials_total"],
        )

    def _is_held(self, row: RowMapping, *, by_anyone: bool = False) -> bool:
        if row["holder"] is None:
            return False
        holder = Holder.parse(row["holder"])
        if by_anyone and holder == self._holder:
            return True
        expired = row["expires"] is None or row["expires"] <= self._clock.now().timestamp()
        return not holder.may_be_replaced(self._holder, expired=expired)

    def _expiry(self) -> float:
        return self._clock.now().timestamp() + LEASE_SECONDS


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise AlphaSwarmError(
            f"{name} must be a whole number from {least} to {most}, got {repr(value)[:40]}", Reason.ARGUMENT_INVALID
        )
