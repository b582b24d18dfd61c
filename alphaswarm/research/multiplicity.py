"""What all trials on the same data say together: none of it decides, all of it is shown beside a verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from alphaswarm.research.daily import Daily
from alphaswarm.research.lineage import names_of
from alphaswarm.research.tables import series, trials

__all__ = ["Multiplicity"]

# The correlations between so many trials take 32 MB; of more, the latest are looked at.
MOST_TRIALS = 2_000
FALSE_DISCOVERIES = 0.05
BLOCKS = 16

Key = tuple[str, int, str]  # digest, horizon, fill


@dataclass(frozen=True, eq=False)
class Multiplicity:
    """The evaluated trials of a lineage on its search window.

    Attributes:
        keys: digest, horizon and fill of each, in order of proposal: S trials.
        evidence_z: [S], NaN where there is none.
        gross: daily results before costs of those that were kept and share their days, [D, S'].
    """

    keys: tuple[Key, ...]
    evidence_z: NDArray[np.float64]
    gross: NDArray[np.float64]

    @classmethod
    def of(cls, connection: Connection, lineage: str, days: int) -> Multiplicity:
        """The trials of a lineage, each once, on a search window of `days` rows."""
        here = trials.c.panel.in_(names_of(connection, lineage)) & (trials.c.status == "evaluated")
        asked = (trials.c.digest, trials.c.horizon, trials.c.fill, trials.c.evidence, *series.c)
        query = select(*asked).join(series, series.c.trial == trials.c.id, isouter=True)
        found: dict[Key, float] = {}
        columns: list[NDArray[np.float64]] = []
        for row in connection.execute(query.where(here).order_by(trials.c.seq.desc())).mappings():
            key = (row["digest"], row["horizon"], row["fill"])
            if key in found or len(found) >= MOST_TRIALS:
                continue
            z = json.loads(row["evidence"]).get("evidence_z") if row["evidence"] else None
            found[key] = np.nan if z is None else z
            if row["gross"] is not None:
                columns.append(Daily.parse(row).gross)
        alike = [column for column in reversed(columns) if column.size == days and np.nanstd(column) > 0.0]
        matrix = np.stack(alike, axis=1) if alike else np.empty((days, 0))
        keys = tuple(reversed(found))
        return cls(keys, np.array([found[key] for key in keys], np.float64), matrix)

    @cached_property
    def report(self) -> Mapping[str, Any]:
        """Effective number of trials, probability of overfitting and false discoveries, as plain JSON."""
        from alphaswarm.evaluation.multiple import effective_trials
        from alphaswarm.evaluation.overfitting import pbo

        days, count = self.gross.shape
        overfitting = pbo(self.gross, BLOCKS) if count > 1 and days >= 4 * BLOCKS else None
        return {
            "trials": len(self.keys),
            "effective_trials": effective_trials(self.gross) if count else None,
            "pbo": None
            if overfitting is None
            else {
                "probability": overfitting.probability,
                "slope": overfitting.slope,
                "loss_probability": overfitting.loss_probability,
            },
            "bh": {"q": FALSE_DISCOVERIES, "discoveries": int(self._discoveries().sum())},
        }

    def is_discovery(self, key: Key) -> bool:
        """Whether the trial is among the discoveries of which 5 % are false (Benjamini and Hochberg)."""
        return key in self.keys and bool(self._discoveries()[self.keys.index(key)])

    def sharpe_variance(self) -> float | None:
        """Variance over the trials of their daily Sharpe ratios before costs; None of fewer than two."""
        if self.gross.shape[1] < 2:
            return None
        ratios = np.nanmean(self.gross, axis=0) / np.nanstd(self.gross, axis=0, ddof=1)
        return float(ratios.var(ddof=1))

    def _discoveries(self) -> NDArray[np.bool_]:
        from scipy.special import ndtr

        from alphaswarm.evaluation.multiple import bh_fdr

        # what has no evidence was tried all the same: it counts as a test that showed nothing
        size = np.where(np.isfinite(self.evidence_z), np.abs(self.evidence_z), 0.0)
        return bh_fdr(2.0 * ndtr(-size), FALSE_DISCOVERIES)
