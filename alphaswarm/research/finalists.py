"""What was ever sent to a selection window: written down, with its count K, before the window is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, func, insert, select

from alphaswarm.core import Clock, Store, canonical_json, content_key
from alphaswarm.research.tables import finalists

__all__ = ["Finalist", "Finalists", "finalist_key"]


@dataclass(frozen=True)
class Finalist:
    """One bet on a selection window.

    Attributes:
        key: of lineage, selection window, digest, horizon and fill.
        sign: which way it is held, chosen on search.
        k: K, every finalist sent to that window by then, those of the same call included.
        body: what was said of it before the window was read.
    """

    key: str
    lineage: str
    selection: int
    digest: str
    horizon: int
    fill: str
    sign: int
    k: int
    body: Mapping[str, Any]


class Finalists:
    """The register of finalists. A row is never changed: who was counted stays counted, with the same K."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def find(self, keys: Sequence[str]) -> dict[str, Finalist]:
        """Those of `keys` that were sent, by key."""
        with self._store.read() as connection:
            return self._find(connection, keys)

    def count(self, lineage: str, selection: int) -> int:
        """K: distinct finalists ever sent to a selection window."""
        with self._store.read() as connection:
            return self._count(connection, lineage, selection)

    def send(
        self, lineage: str, selection: int, entries: Sequence[Mapping[str, Any]], run: str | None = None
    ) -> dict[str, Finalist]:
        """Count `entries` as finalists of a selection window, and say what was kept, by key.

        One transaction gives all new ones the same K, which counts every one before and all of these; one that was
        sent before keeps its own. Of two processes that send at once the second counts what the first sent.

        Args:
            lineage: whose window.
            selection: its number.
            entries: `digest`, `horizon`, `fill`, `sign` and `body` (plain JSON) of each.
            run: who sends.
        """
        named = {finalist_key(lineage, selection, entry): entry for entry in entries}
        with self._store.write() as connection:
            sent = self._find(connection, list(named))
            new = {key: entry for key, entry in named.items() if key not in sent}
            k = self._count(connection, lineage, selection) + len(new)
            now = self._clock.now().isoformat()
            for key, entry in new.items():
                row = {
                    "key": key,
                    "lineage": lineage,
                    "selection": selection,
                    "digest": entry["digest"],
                    "horizon": entry["horizon"],
                    "fill": entry["fill"],
                    "sign": entry["sign"],
                    "k": k,
                    "run": run,
                    "body": canonical_json(entry["body"]).decode(),
                    "created": now,
                }
                connection.execute(insert(finalists).values(row))
            return self._find(connection, list(named))

    def _find(self, connection: Connection, keys: Sequence[str]) -> dict[str, Finalist]:
        rows = connection.execute(select(finalists).where(finalists.c.key.in_(keys))).mappings()
        return {row["key"]: _finalist(row) for row in rows}

    def _count(self, connection: Connection, lineage: str, selection: int) -> int:
        here = (finalists.c.lineage == lineage) & (finalists.c.selection == selection)
        return int(connection.execute(select(func.count()).select_from(finalists).where(here)).scalar_one())


def finalist_key(lineage: str, selection: int, entry: Mapping[str, Any]) -> str:
    """The key of `entry` (`digest`, `horizon`, `fill`) on a selection window."""
    body = {"lineage": lineage, "selection": selection} | {name: entry[name] for name in ("digest", "horizon", "fill")}
    return content_key(body)


def _finalist(row: RowMapping) -> Finalist:
    names = ("key", "lineage", "selection", "digest", "horizon", "fill", "sign", "k")
    return Finalist(**{name: row[name] for name in names}, body=json.loads(row["body"]))
