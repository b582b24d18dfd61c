"""What the memory is told: a trial with its verdict, or a backtest, as a document."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, select

from alphaswarm.rag import NOT_JUDGED, Document, Memory
from alphaswarm.research.backtests import BacktestRecord
from alphaswarm.research.lineage import lineage_of
from alphaswarm.research.tables import selections, verdicts
from alphaswarm.research.trial import Trial

__all__ = ["backtest_document", "factor_document", "judged_trials", "remember_trial"]

MAX_TEXT = 8_000
MAX_NOTE = 1_000
"""Letters of a note in the summary; all of it is in the ledger."""
_FIGURES = {
    "breakeven_bp",
    "coverage",
    "evidence_t",
    "evidence_z",
    "ic",
    "n_days",
    "rank_ic",
    "rank_ic_t",
    "residual_rank_ic_t",
    "sharpe",
    "turnover",
}
# Verdicts that the selection window had a part in are known from its last row on; all others from the search window's.
_OF_SELECTION = frozenset({"confirmed", "unconfirmed"})


def remember_trial(memory: Memory, connection: Connection, trial: Trial) -> bool:
    """Keep a measured trial with the latest verdict on it, in the caller's transaction; False if nothing changed."""
    universe = lineage_of(connection, trial.panel)
    judged = _latest_verdict(connection, trial, universe)
    return memory.remember(factor_document(trial, universe=universe, judged=judged), connection)


def judged_trials(connection: Connection) -> list[str]:
    """Ids of all trials that a verdict was ever given on."""
    return list(connection.execute(select(verdicts.c.trial).distinct().order_by(verdicts.c.trial)).scalars())


def factor_document(trial: Trial, *, universe: str = "", judged: tuple[str, str] | None = None) -> Document:
    """A measured trial, found by what was said about it and by the shape of its expression.

    Args:
        trial: evaluated.
        universe: the lineage of its panel; by default the panel itself.
        judged: its verdict (status, colon, words), and the last market date behind it.
    """
    said = " ".join(part for part in (trial.rationale, trial.critique, trial.source) if part)
    where = {
        "panel": trial.panel,
        "universe": universe or trial.panel,
        "horizon": trial.horizon,
        "fill": trial.fill,
        "window": trial.window.role,
    }
    figures = trial.model_dump(mode="json", include=_FIGURES)
    notes = {"source": trial.source, "rationale": trial.rationale, "critique": trial.critique}
    summary = {**where, **figures, **{name: text[:MAX_NOTE] for name, text in notes.items() if text}}
    verdict, known_from = judged or (NOT_JUDGED, None)
    if known_from is not None:
        summary["judged_as_of"] = known_from
    return Document(
        "alpha_factors",
        trial.id,
        expression=trial.expression,
        digest=trial.digest,
        text=said[:MAX_TEXT],
        verdict=verdict,
        as_of=trial.as_of,
        summary=summary,
    )


def backtest_document(record: BacktestRecord) -> Document:
    """A stored backtest, found by the shape of its expression, or by what it held."""
    summary = {
        "panel": record.panel,
        "horizon": record.horizon,
        "fill": record.fill,
        "window": record.window.role,
        "kind": record.kind,
        "name": record.title,
        "engine": record.engine,
        "cost_bp": record.cost_bp,
        "trial": record.trial,
        **record.metrics,
    }
    return Document(
        "backtest_summaries",
        record.id,
        expression=record.expression,
        digest=record.digest if record.expression else "",
        text=f"{record.engine} backtest of {record.title}: {record.words}"[:MAX_TEXT],
        verdict=NOT_JUDGED,
        as_of=record.as_of,
        summary=summary,
    )


def _latest_verdict(connection: Connection, trial: Trial, lineage: str) -> tuple[str, str] | None:
    query = select(verdicts.c.body).where(verdicts.c.trial == trial.id).order_by(verdicts.c.seq.desc()).limit(1)
    text = connection.execute(query).scalar_one_or_none()
    if text is None:
        return None
    body: dict[str, Any] = json.loads(text)
    status = body["status"]
    known_from: str | None = trial.as_of
    if status in _OF_SELECTION:
        end = select(selections.c.end).where(
            selections.c.lineage == body.get("lineage", lineage), selections.c.number == body.get("selection", 1)
        )
        known_from = connection.execute(end).scalar_one_or_none()
    if known_from is None:  # no window known: then nobody can say from when on it may be told
        return None
    return f"{status}: {body['words']}"[:MAX_TEXT], known_from
