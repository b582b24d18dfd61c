"""What a run amounts to, as a `Summary` that is the same wherever the same search was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from alphaswarm.core import Summary
from alphaswarm.research.runs import Run
from alphaswarm.research.trial import Trial
from alphaswarm.trading import DEFAULT_COST_BP

if TYPE_CHECKING:
    from alphaswarm.evaluation.verdict import Verdict

__all__ = ["JUDGED", "summarise", "worth_judging"]

# Outcomes of runs that ended by themselves; what was cut short is not judged.
JUDGED = ("complete", "exhausted")
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
    "evidence",
    "evidence_t",
    "evidence_z",
    "residual_rank_ic",
    "residual_rank_ic_t",
    "turnover",
    "coverage",
    "breakeven_bp",
    "sharpe",
    "ann_return",
    "net_sharpe",
    "n_days",
)


def worth_judging(measured: Sequence[Trial], n_trials: int) -> list[Trial]:
    """Those over the hurdle, and the near misses, which are told what they lack; the strongest first."""
    ranked, beat = _ranked(measured, n_trials)
    return ranked[: len(beat) + NEAR_MISSES]


def summarise(run: Run, candidates: Sequence[Trial], *, trials_total: int, verdicts: Sequence[Verdict] = ()) -> Summary:
    """The run's summary. Run ids, times and paths stay outside; trial ids are content keys.

    No figure in it was computed after the search window: of what came later it holds pass or fail.

    Args:
        run: what was asked.
        candidates: in order of proposal, valid or not, with what this run said about them.
        trials_total: N of the panel when the run ended.
        verdicts: on its finalists and near misses, once it was judged.
    """
    from alphaswarm.evaluation import hurdle

    least = hurdle(max(1, trials_total))
    measured = [trial for trial in candidates if trial.status == "evaluated"]
    ranked, finalists = _ranked(measured, trials_total)
    judged = {verdict.digest: verdict for verdict in verdicts}

    def shown(trial: Trial) -> dict[str, Any]:
        return {**_shown(trial), **_decided(judged.get(trial.digest))}

    bets = [trial for trial in ranked if trial.digest in judged and judged[trial.digest].k is not None]
    accepted = [trial for trial in bets if judged[trial.digest].status == "confirmed"]
    counts = _counts(run, candidates, finalists)
    counts |= {
        "bets": len(bets),
        "confirmed": len(accepted),
        "accepted": len(accepted),
        "tradable": sum(judged[trial.digest].tradable for trial in accepted),
    }
    memory = _memory(run, measured, verdicts)
    warnings = list(dict.fromkeys(text for trial in finalists or ranked[:1] for text in trial.warnings))
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
        "statistic": _statistic(measured),
        "counts": counts,
        "candidates": [{**_shown(trial), "recalled": trial.first_run != run.id} for trial in candidates],
        "ranked": [trial.id for trial in ranked],
        "finalists": [shown(trial) for trial in finalists],
        "near_misses": [shown(trial) for trial in ranked[len(finalists) :][:NEAR_MISSES]],
        "bets": [trial.id for trial in bets],
        "accepted": [shown(trial) for trial in accepted],
        "verdicts": [verdict.model_dump(mode="json") for verdict in verdicts],
        "memory_guard": memory,
        "warnings": [*([memory["flag"]] if memory and memory["flag"] else []), *warnings],
        "verdict": _top_line(run, candidates, counts, least, trials_total, verdicts),
    }
    return Summary("run", body)


def _ranked(measured: Sequence[Trial], n_trials: int) -> tuple[list[Trial], list[Trial]]:
    """All by strength, and those over the hurdle, which stand first."""
    from alphaswarm.evaluation import hurdle

    ranked = sorted(measured, key=lambda trial: (-_strength(trial), trial.digest, trial.id))
    return ranked, [trial for trial in ranked if _strength(trial) >= hurdle(max(1, n_trials))]


def _strength(trial: Trial) -> float:
    """|z| of the evidence on residual returns; |t| of the RankIC where the data are too short for that."""
    z = trial.rank_ic_t if trial.evidence_z is None else trial.evidence_z
    return -1.0 if z is None else abs(z)


def _statistic(measured: Sequence[Trial]) -> str:
    """What `_strength` is for these trials."""
    lacking = bool(measured) and all(trial.evidence_z is None for trial in measured)
    return "rank_ic_t" if lacking else "evidence_z"


def _shown(trial: Trial) -> Mapping[str, Any]:
    return trial.model_dump(mode="json", include=set(_SHOWN))


def _decided(verdict: Verdict | None) -> dict[str, Any]:
    """What a table shows of a verdict; nothing of a candidate that was not judged."""
    if verdict is None:
        return {}
    known = verdict.reported.get("known") or {}
    return {
        "verdict": verdict.status,
        "tradable": verdict.tradable,
        "words": verdict.words,
        "sign": verdict.sign,
        "k": verdict.k,
        "known": known.get("label"),
        "failed": [gate.name for gate in verdict.gates if not gate.passed],
    }


def _memory(run: Run, measured: Sequence[Trial], verdicts: Sequence[Verdict]) -> dict[str, Any] | None:
    """Whether a language model may have read about the dates that its candidates are measured on."""
    if not any(trial.source.startswith("llm") for trial in measured):
        return None
    model, cutoff = run.config.get("model"), run.config.get("cutoff")
    start = min(trial.window.start for trial in measured)
    after = [figures for verdict in verdicts if (figures := verdict.reported.get("after_cutoff"))]
    flag = ""
    if cutoff is None or cutoff >= start:
        known = f"it knows them up to {cutoff}" if cutoff else "its cutoff is not known"
        flag = f"the model {model or 'asked'} may have read about these dates: {known}"
        if after:
            flag += f"; figures of {after[0]['window']['start']} and later stand beside them"
    return {"model": model, "cutoff": cutoff, "flag": flag, "after_cutoff": bool(after)}


def _counts(run: Run, candidates: Sequence[Trial], finalists: Sequence[Trial]) -> dict[str, int]:
    status = Counter(trial.status for trial in candidates)
    return {
        "proposed": len(candidates),
        "recalled": sum(trial.first_run != run.id for trial in candidates),
        "invalid": status["invalid"],
        "refused": status["refused"],
        "evaluated": status["evaluated"],
        "beat": len(finalists),
        "finalists": len(finalists),
    }


def _top_line(
    run: Run,
    candidates: Sequence[Trial],
    counts: Mapping[str, int],
    least: float,
    trials_total: int,
    verdicts: Sequence[Verdict],
) -> str:
    """The run in one line: tried, beat, bets, confirmed, tradable."""
    tried = f"{len(candidates)} tried, {counts['beat']} beat the hurdle"
    ended = run.outcome in JUDGED and not counts["evaluated"]  # there was nothing to judge
    if not verdicts and not ended:
        return f"search evidence only, not judged: {tried} {least:.2f} (N = {trials_total})"
    stopped = next((verdict for verdict in verdicts if verdict.status in ("too short", "in-sample")), None)
    if stopped is not None and all(verdict.status == stopped.status for verdict in verdicts):
        return f"{tried} {least:.2f}; {stopped.words}"
    cost = verdicts[0].thresholds.cost_bp if verdicts else DEFAULT_COST_BP
    line = f"{tried}, {counts['bets']} bets, {counts['confirmed']} confirmed, {counts['tradable']} tradable"
    if any(verdict.tradable and "biased panel" in verdict.words for verdict in verdicts):
        line += " on a biased panel"
    confirmed = [verdict for verdict in verdicts if verdict.status == "confirmed"]
    breakeven = [bp for verdict in confirmed if (bp := verdict.reported["book"]["breakeven_bp"]) is not None]
    best = f" (best break-even {max(breakeven):.1f} bp in search)" if breakeven else ""
    return f"{line} at {cost:g} bp{best}"
