"""From an expression's text to a kept trial: check, look up, measure, and one transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from alphaswarm.core import (
    AlphaSwarmError,
    DataInvalid,
    EvidenceInvalid,
    ExpressionError,
    FieldNotFound,
    Panel,
    Reason,
    Store,
    StoreError,
    canonical_json,
)
from alphaswarm.rag import Memory
from alphaswarm.research.cautions import cautions, too_few_names
from alphaswarm.research.daily import Daily
from alphaswarm.research.ledger import Ledger, Note
from alphaswarm.research.novelty import add_sketch, sketch
from alphaswarm.research.panels import OpenPanel, Panels
from alphaswarm.research.remembered import remember_trial
from alphaswarm.research.runs import Runs
from alphaswarm.research.trial import Trial, trial_key

if TYPE_CHECKING:
    from alphaswarm.backtest import Fill
    from alphaswarm.dsl import Expr

__all__ = ["Examiner", "Label", "checked", "factor_values", "kept_text"]

MAX_HORIZON = 252
MAX_KEPT = 4_096
OVERFLOW = "its results are beyond what a number can hold: the panel has prices that can't be, see `data check`"


@dataclass(frozen=True, slots=True)
class Label:
    """What a factor is held against: the return over `horizon` rows after the fill.

    Raises:
        AlphaSwarmError: a horizon or fill that there is not.
    """

    horizon: int
    fill: Fill

    def __post_init__(self) -> None:
        from alphaswarm.backtest.vector import FILLS

        if isinstance(self.horizon, bool) or not isinstance(self.horizon, int) or not 1 <= self.horizon <= MAX_HORIZON:
            raise AlphaSwarmError(
                f"horizon must be a whole number from 1 to {MAX_HORIZON}, got {self.horizon!r}", Reason.ARGUMENT_INVALID
            )
        if self.fill not in FILLS:
            raise AlphaSwarmError(f"fill must be one of {', '.join(FILLS)}, got {self.fill!r}", Reason.ARGUMENT_INVALID)


class Examiner:
    """Examines expressions for a workspace."""

    def __init__(
        self, store: Store, panels: Panels, ledger: Ledger, runs: Runs, memory: Memory, *, unsealed: bool
    ) -> None:
        self._store = store
        self._panels = panels
        self._ledger = ledger
        self._runs = runs
        self._memory = memory
        self._unsealed = unsealed

    def examine(self, text: str, opened: OpenPanel, label: Label, note: Note, *, dialect: str = "native") -> Trial:
        """The trial of `text`, measured or recalled. What can't be measured is kept first, then raised."""
        if note.run is not None:
            self._runs.check(note.run)
        try:
            expression = checked(text, opened.panel, dialect)
        except (ExpressionError, FieldNotFound) as error:
            self._keep_invalid(text, dialect, opened, label, note, error)
            raise
        key = _key(expression.digest, opened, label)
        with self._store.read() as connection:
            row = self._ledger.row(connection, key)
            if row is not None and note.empty:
                return _measured(self._ledger.trial(row, connection, known=True))
        if row is not None:
            return _measured(self._keep(key, None, note))
        values, daily, ranks = self._measure(key, expression, text, opened, label)
        return _measured(self._keep(key, values, note, daily, (opened, ranks)))

    def _measure(
        self, key: str, expression: Expr, text: str, opened: OpenPanel, label: Label
    ) -> tuple[dict[str, Any], Daily, NDArray[np.int8]]:
        factor = factor_values(expression, opened.seen)
        evidence, series = self._panels.evidence(opened, factor, label.horizon, label.fill)
        refusal = too_few_names(evidence.get("coverage"))
        try:
            figures = canonical_json(dict(evidence)).decode()
        except DataInvalid:
            evidence, figures, refusal = {}, None, OVERFLOW
        relatives = self._ledger.relatives(opened.name, opened.lineage)
        warnings = cautions(
            opened.seen, opened.days, evidence, unsealed=self._unsealed, relatives=relatives, expression=expression
        )
        values = {
            **_asked(key, expression.digest, text, opened, label),
            "status": "evaluated" if refusal is None else "refused",
            "expression": str(expression),
            "evidence": figures,
            "rank_ic_t": evidence.get("rank_ic_t"),
            "strength": _strength(evidence),
            "warnings": canonical_json(warnings).decode(),
            "reason": None if refusal is None else str(Reason.EVIDENCE_INVALID),
            "message": refusal,
        }
        return values, Daily.of(series), sketch(factor, opened)

    def _keep(
        self,
        key: str,
        values: Mapping[str, Any] | None,
        note: Note,
        daily: Daily | None = None,
        ranks: tuple[OpenPanel, NDArray[np.int8]] | None = None,
    ) -> Trial:
        """One transaction: the trial if it is new, its daily figures, the note, and what the memory says of them."""
        with self._store.write() as connection:
            added = values is not None and self._ledger.add(connection, {**values, "first_run": note.run})
            said = self._ledger.say(connection, key, note)
            if note.run is not None:
                self._runs.renew(connection, note.run)
            row = self._ledger.row(connection, key)
            if row is None:
                raise StoreError(f"trial {key[:12]} is not in the ledger, though it was just kept")
            if row["status"] == "evaluated" and added and daily is not None:
                self._ledger.add_daily(connection, key, daily)
            if row["status"] == "evaluated" and added and ranks is not None:
                add_sketch(connection, key, *ranks)
            if row["status"] == "evaluated" and (added or said):
                self._remember(connection, row)
            return self._ledger.trial(row, connection, known=not added, run=note.run)

    def _remember(self, connection: Connection, row: Any) -> None:
        remember_trial(self._memory, connection, self._ledger.trial(row, connection, known=True))

    def _keep_invalid(
        self,
        text: str,
        dialect: str,
        opened: OpenPanel,
        label: Label,
        note: Note,
        error: ExpressionError | FieldNotFound,
    ) -> None:
        digest, shown = _invalid(text, dialect, error)
        key = _key(digest, opened, label)
        values = {
            **_asked(key, digest, text, opened, label),
            "status": "invalid",
            "expression": shown,
            "warnings": "[]",
            "reason": str(error.reason),
            "message": error.message,
            "place": error.column if isinstance(error, ExpressionError) else None,
        }
        self._keep(key, values, note)


def checked(text: str, panel: Panel, dialect: str = "native") -> Expr:
    """`text` as an expression that `panel` can carry.

    Raises:
        ExpressionError: it is none (as `FieldNotFound` too where the panel lacks a field).
    """
    from alphaswarm.dsl import parse

    return parse(text, dialect, panel)


def factor_values(expression: Expr, panel: Panel) -> NDArray[np.float64]:
    """float64 [T, N]; expressions of one digest have the same values, however they are spelled."""
    from alphaswarm.dsl import evaluate

    return np.asarray(evaluate(expression, panel), np.float64)


def kept_text(name: str, text: str) -> str:
    """`text` as it can be kept: what is no Unicode character is escaped, nothing else is changed.

    Raises:
        AlphaSwarmError: it is too long.
    """
    if len(text) > MAX_KEPT:
        raise AlphaSwarmError(
            f"{name} must have at most {MAX_KEPT} characters, got {len(text)}", Reason.ARGUMENT_INVALID
        )
    return text.encode("utf-8", "backslashreplace").decode().replace("\x00", "\\x00")


def _key(digest: str, opened: OpenPanel, label: Label) -> str:
    return trial_key(
        digest=digest,
        panel=opened.name,
        panel_digest=opened.panel.digest,
        horizon=label.horizon,
        fill=label.fill,
    )


def _asked(key: str, digest: str, text: str, opened: OpenPanel, label: Label) -> dict[str, Any]:
    window = opened.window.to_dict()
    return {
        "id": key,
        "text": _escaped(text),
        "digest": digest,
        "panel": opened.name,
        "panel_digest": opened.panel.digest,
        "horizon": label.horizon,
        "fill": label.fill,
        **window,
        "as_of": opened.as_of,
    }


def _invalid(text: str, dialect: str, error: ExpressionError | FieldNotFound) -> tuple[str, str]:
    """Digest and text of what can't be measured; what only this panel lacks keeps its canonical digest."""
    from alphaswarm.dsl import parse

    if isinstance(error, FieldNotFound):
        expression = parse(text, dialect)
        return expression.digest, str(expression)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), _escaped(text)


def _strength(evidence: Mapping[str, Any]) -> float | None:
    """|z| of the residual evidence, or |t| of the RankIC where a panel is too short for that."""
    found = evidence.get("evidence_z")
    if found is None:
        found = evidence.get("rank_ic_t")
    return None if found is None else abs(found)


def _escaped(text: str) -> str:
    return text[:MAX_KEPT].encode("unicode_escape").decode("ascii")[:MAX_KEPT]


def _measured(trial: Trial) -> Trial:
    if trial.status == "refused":
        raise EvidenceInvalid(trial.message or "the factor was refused")
    return trial
