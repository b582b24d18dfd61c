"""What the memory is told: a trial, or a backtest, as a document."""

from __future__ import annotations

from alphaswarm.rag import Document
from alphaswarm.research.backtests import BacktestRecord
from alphaswarm.research.trial import Trial

__all__ = ["backtest_document", "factor_document"]

VERDICT = "search evidence only, not judged"
MAX_TEXT = 8_000
_FIGURES = {"ic", "rank_ic", "rank_ic_t", "turnover", "coverage", "breakeven_bp", "sharpe", "n_days"}


def factor_document(trial: Trial) -> Document:
    """A measured trial, found by what was said about it and by the shape of its expression."""
    said = " ".join(part for part in (trial.rationale, trial.critique, trial.source) if part)
    where = {"panel": trial.panel, "horizon": trial.horizon, "fill": trial.fill, "window": trial.window.role}
    figures = trial.model_dump(mode="json", include=_FIGURES)
    notes = {"source": trial.source, "rationale": trial.rationale, "critique": trial.critique}
    return Document(
        "alpha_factors",
        trial.id,
        expression=trial.expression,
        digest=trial.digest,
        text=said[:MAX_TEXT],
        verdict=VERDICT,
        as_of=trial.as_of,
        summary={**where, **figures, **{name: text for name, text in notes.items() if text}},
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
        verdict=VERDICT,
        as_of=record.as_of,
        summary=summary,
    )
