"""What a run amounts to, as a `Summary` that is the same wherever the same search was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from alphaswarm.core import Summary
from alphaswarm.research.runs import Run
from alphaswarm.research.trial import Trial

__all__ = ["summarise"]

NEAR_MISSES = 5
_SHOWN = (
    "trial",
    "expression",
    "digest",
    "status",
    "reason",
    "source",
    "parents",
    "rationale",
    "critique",
    "ic",
    "ic_t",
    "rank_ic",
    "rank_ic_t",
    "icir",
    "turnover",
    "coverage",
    "breakeven_bp",
    "sharpe",
    "net_sharpe",
    "n_days",
)


def summarise(run: Run, candidates: Sequence[Trial], *, trials_total: int) -> Summary:
    """The run's summary. Run ids, times and paths stay outside; trial ids are content keys.

    Args:
        run: what was asked.
        candidates: in order of proposal, valid or not, with what this run said about them.
        trials_total: N of the panel when the run ended.
    """
    from alphaswarm.evaluation import hurdle

    least = hurdle(max(1, trials_total))
    measured = [trial for trial in candidates if trial.status == "evaluated"]
    ranked = sorted(measured, key=lambda trial: (-_strength(trial), trial.digest, trial.id))
    finalists = [trial for trial in ranked if trial.rank_ic_t is not None and _strength(trial) >= least]
    missed = [trial for trial in ranked if trial not in finalists][:NEAR_MISSES]
    body = {
        "panel": run.panel,
        "panel_digest": run.panel_digest,
        "window": candidates[0].window.model_dump() if candidates else None,
        "horizon": run.horizon,
        "fill": run.fill,
        "proposer": run.proposer,
        "seed": run.seed,
        "budget": run.budget,
        "intent": run.intent,
        "trials": sum(trial.first_run == run.id for trial in candidates),
        "trials_total": trials_total,
        "hurdle": least,
        "counts": _counts(run, candidates, finalists),
        "candidates": [{**_shown(trial), "recalled": trial.first_run != run.id} for trial in candidates],
        "ranked": [trial.id for trial in ranked],
        "finalists": [_shown(trial) for trial in finalists],
        "near_misses": [_shown(trial) for trial in missed],
        "accepted": [],
        "warnings": list(dict.fromkeys(text for trial in finalists or ranked[:1] for text in trial.warnings)),
        "verdict": _verdict(candidates, finalists, least, trials_total),
    }
    return Summary("run", body)


def _strength(trial: Trial) -> float:
    return -1.0 if trial.rank_ic_t is None else abs(trial.rank_ic_t)


def _shown(trial: Trial) -> Mapping[str, Any]:
    return trial.model_dump(mode="json", include=set(_SHOWN))


def _counts(run: Run, candidates: Sequence[Trial], finalists: Sequence[Trial]) -> dict[str, int]:
    status = Counter(trial.status for trial in candidates)
    return {
        "proposed": len(candidates),
        "recalled": sum(trial.first_run != run.id for trial in candidates),
        "invalid": status["invalid"],
        "refused": status["refused"],
        "evaluated": status["evaluated"],
        "finalists": len(finalists),
        "accepted": 0,
    }


def _verdict(candidates: Sequence[Trial], finalists: Sequence[Trial], least: float, trials_total: int) -> str:
    tried = f"{len(candidates)} proposed, {len(finalists)} with |RankIC t| >= {least:.2f} (N = {trials_total})"
    return f"search evidence only, not judged: {tried}"
