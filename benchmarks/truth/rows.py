"""The rows of the truth table: what is run on which seeds, and what is demanded of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from typing import Any

import numpy as np

from alphaswarm.core import Panel, make_rng
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.data.nulls import dates_permuted, sign_flipped
from alphaswarm.data.synthetic import synthetic_dates
from alphaswarm.dsl import evaluate, library, parse
from alphaswarm.evaluation import Evaluator, default_windows, hurdle
from alphaswarm.evaluation.overfitting import pbo
from alphaswarm.evaluation.residual import Exposures
from benchmarks.truth.counts import interval, upper_bound
from benchmarks.truth.markets import white_noise
from benchmarks.truth.research import HORIZON, PANEL, one_search, project, searched
from benchmarks.truth.truths import IC, planted_market, rank_correlation

__all__ = ["KNOWN", "ROWS", "Row", "Scale"]

Record = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How large a row's markets and searches are; the table is made at the default."""

    days: int = 1500
    names: int = 500
    budget: int = 60
    wide: int = 300
    ic: float = IC


@dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
        market: what it says in the table.
        demand: what is asked of it, in words.
        seeds: how many.
        one: what one seed gives, as plain JSON.
        verdict: the measured text, and whether the demand is met (None where there is none).
    """

    market: str
    demand: str
    seeds: int
    one: Callable[[int, Scale], Record]
    verdict: Callable[[Sequence[Record]], tuple[str, bool | None]]


# Fifteen published ideas that need no more than closes and traded value.
KNOWN = {
    "reversal_1": "-returns",
    "idiosyncratic_60": "-ts_std(cs_demean(returns), 60)",
    "cord_20": "ts_corr(close / delay(close, 1), log(dollar_volume / delay(dollar_volume, 1) + 1), 20)",
    **{
        name: str(library()[name].expr)
        for name in (
            "reversal_5",
            "reversal_20",
            "decay_reversal_10",
            "wq009",
            "wq019",
            "wq034",
            "momentum_12_1",
            "low_volatility_20",
            "max_20",
            "size_20",
            "amihud_20",
            "high_52w",
        )
    },
}
VOLUME_ALPHA = "-ts_corr(close, volume, 10)"
COST_MULTIPLE = 2.0
WITH_KNOWN = 11  # itself and the ten published formulas: nothing is bred from it that would stand in its place
LIKE = 0.5
# Formulas whose results move together this much are one bet, and the strongest of them stands for all.
SAME_BET = 0.7
HURDLE_TRIALS = 60
MATRIX = (1000, 100)
TRUE_SHARPE = 3.0
MOST_BEYOND, PBO_TOLERANCE, LARGEST_PBO = 0.005, 0.08, 0.15


def real_panel() -> Panel:
    """us431, from the catalog's cache; it has to be fetched before."""
    return _real()


@lru_cache(maxsize=1)
def _real() -> Panel:
    return Catalog().open("us431")


# What one seed gives


def _noise(seed: int, scale: Scale) -> Record:
    return one_search(white_noise(seed, days=scale.days, names=scale.names), seed=seed, budget=scale.budget)


def _flipped(seed: int, scale: Scale) -> Record:
    return one_search(sign_flipped(real_panel(), seed), seed=seed, budget=scale.budget)


def _permuted(seed: int, scale: Scale) -> Record:
    return one_search(dates_permuted(real_panel(), seed), seed=seed, budget=scale.budget)


def _known_on(make: Callable[[Panel, int], Panel]) -> Callable[[int, Scale], Record]:
    def one(seed: int, scale: Scale) -> Record:  # noqa: ARG001 - the panel is what it is
        return {"z": residual_evidence(make(real_panel(), seed))}

    return one


def residual_evidence(panel: Panel) -> dict[str, float | None]:
    """z of the residual evidence of each known formula on the panel's search window."""
    window = default_windows("null market", panel).search
    seen = panel.head(window.rows(panel.dates).stop)
    evaluator = Evaluator(seen, window, horizon=HORIZON, exposures=Exposures.of(seen))
    return {name: evaluator.evidence(evaluate(text, seen)).evidence_z for name, text in KNOWN.items()}


def _planted(budget: Callable[[Scale], int], *, inject: bool, dies: bool = False) -> Callable[[int, Scale], Record]:
    def one(seed: int, scale: Scale) -> Record:
        death = str(synthetic_dates(scale.days)[scale.days // 2].astype("datetime64[D]")) if dies else None
        panel = planted_market(seed, days=scale.days, names=scale.names, ic=scale.ic, dies=death)
        truth = panel.meta["planted"]["expression"]
        values = evaluate(truth, panel)

        def note(expression: str) -> dict[str, Any]:
            return {"likeness": rank_correlation(evaluate(expression, panel), values)}

        found = one_search(panel, seed=seed, budget=budget(scale), inject=(truth,) if inject else (), note=note)
        return {"truth": truth, **found}

    return one


def _costly(seed: int, scale: Scale) -> Record:
    """A planted volume alpha, measured first, then judged at twice what it pays for."""
    from alphaswarm.research import write_report

    size = {"days": scale.days, "names": scale.names}
    panel = synthetic_market("planted", seed=seed, expression=VOLUME_ALPHA, ic=scale.ic, **size)
    with project(panel) as workspace:
        breakeven = workspace.evaluate(VOLUME_ALPHA, panel=PANEL, horizon=HORIZON).breakeven_bp
    cost = COST_MULTIPLE * abs(breakeven or 0.0)
    with project(panel, gates=f"cost_bp: {cost:.3f}\n") as workspace:
        body = searched(workspace, seed=seed, budget=WITH_KNOWN, inject=(VOLUME_ALPHA,))
        report = write_report(workspace, body["run_id"]).read_text("utf-8")
    verdict = next((one for one in body["verdicts"] if one["expression"] == str(parse(VOLUME_ALPHA))), None)
    words = "" if verdict is None else verdict["words"]
    return {
        "breakeven_bp": breakeven,
        "cost_bp": cost,
        "status": None if verdict is None else verdict["status"],
        "tradable": None if verdict is None else verdict["tradable"],
        "words": words,
        "reported": bool(words) and escape(words) in report,
        "top_line": body["verdict"],
    }


def _pbo_noise(seed: int, scale: Scale) -> Record:  # noqa: ARG001 - matrices are as large as demanded
    return {"pbo": float(pbo(make_rng(seed, "pbo").standard_normal(MATRIX)))}


def _pbo_true(seed: int, scale: Scale) -> Record:  # noqa: ARG001
    returns = make_rng(seed, "pbo").standard_normal(MATRIX)
    returns[:, 0] += TRUE_SHARPE / np.sqrt(252)
    return {"pbo": float(pbo(returns))}


# What the seeds amount to


def _accepted_in_at_most(most: int) -> Callable[[Sequence[Record]], tuple[str, bool]]:
    def verdict(records: Sequence[Record]) -> tuple[str, bool]:
        hits = sum(bool(one["accepted"]) for one in records)
        sent = sum(one["bets"] > 0 for one in records)
        bound = upper_bound(hits, len(records))
        return f"{hits} of {len(records)} (95 % bound {100 * bound:.1f} %); {sent} sent bets", hits <= most

    return verdict


def _share_beyond(records: Sequence[Record]) -> tuple[str, bool]:
    least = hurdle(HURDLE_TRIALS)
    values = [z for one in records for z in one["z"].values() if z is not None]
    hits = sum(abs(z) >= least for z in values)
    low, high = interval(hits, len(values))
    text = f"{hits} of {len(values)} beyond {least:.2f}: {100 * hits / len(values):.2f} % "
    return f"{text} ({100 * low:.2f} to {100 * high:.2f} %)", hits / len(values) <= MOST_BEYOND


def _found_in_at_least(least: int, alike: float) -> Callable[[Sequence[Record]], tuple[str, bool]]:
    def verdict(records: Sequence[Record]) -> tuple[str, bool]:
        likeness = [max((abs(one["likeness"]) for one in record["accepted"]), default=0.0) for record in records]
        hits = sum(value >= alike for value in likeness)
        text = f"{hits} of {len(records)} with |corr| >= {alike:g}; any accepted in "
        return f"{text}{sum(bool(record['accepted']) for record in records)}", hits >= least

    return verdict


def _curve(records: Sequence[Record]) -> tuple[str, None]:
    return _found_in_at_least(0, LIKE)(records)[0], None


def _not_tradable(records: Sequence[Record]) -> tuple[str, bool]:
    real = sum(one["status"] == "confirmed" for one in records)
    right = sum(one["status"] == "confirmed" and not one["tradable"] and one["reported"] for one in records)
    return f"{real} of {len(records)} real; {right} of them not tradable, and the report says so", right == len(records)


def _mean_pbo(records: Sequence[Record]) -> tuple[str, bool]:
    values = [one["pbo"] for one in records]
    text = f"mean {np.mean(values):.3f}, sd {np.std(values, ddof=1):.3f}"
    return text, bool(abs(np.mean(values) - 0.5) <= PBO_TOLERANCE)


def _low_pbo(records: Sequence[Record]) -> tuple[str, bool]:
    values = [one["pbo"] for one in records]
    return f"mean {np.mean(values):.3f}, largest {max(values):.3f}", bool(np.mean(values) < LARGEST_PBO)


ROWS: dict[str, Row] = {
    "noise": Row(
        "white noise, 500 names x 1500 days", "any acceptance in at most 2", 100, _noise, _accepted_in_at_most(2)
    ),
    "flipped": Row("us431, daily signs flipped", "at most 1", 50, _flipped, _accepted_in_at_most(1)),
    "permuted": Row("us431, dates permuted", "at most 1", 50, _permuted, _accepted_in_at_most(1)),
    "known-flipped": Row(
        "us431, daily signs flipped: 15 known factors",
        "at most 0.5 % beyond c(60)",
        100,
        _known_on(sign_flipped),
        _share_beyond,
    ),
    "known-permuted": Row(
        "us431, dates permuted: 15 known factors",
        "at most 0.5 % beyond c(60)",
        100,
        _known_on(dates_permuted),
        _share_beyond,
    ),
    "injected": Row(
        "planted IC 0.03, truth among the candidates",
        "accepted in at least 18",
        20,
        _planted(lambda scale: scale.budget, inject=True),
        _found_in_at_least(18, SAME_BET),
    ),
    "unaided": Row(
        "planted IC 0.03, budget 300",
        "|corr| >= 0.5 accepted in at least 18",
        20,
        _planted(lambda scale: scale.wide, inject=False),
        _found_in_at_least(18, LIKE),
    ),
    "unaided-half": Row(
        "the same, half the budget",
        "for the curve",
        20,
        _planted(lambda scale: scale.wide // 2, inject=False),
        _curve,
    ),
    "unaided-fifth": Row(
        "the same, a fifth of the budget",
        "for the curve",
        20,
        _planted(lambda scale: scale.wide // 5, inject=False),
        _curve,
    ),
    "dies": Row(
        "planted IC 0.03 that dies before selection",
        "accepted in at most 2",
        20,
        _planted(lambda scale: scale.budget, inject=True, dies=True),
        _accepted_in_at_most(2),
    ),
    "costly": Row("planted volume alpha, cost twice its break-even", "real, not tradable", 5, _costly, _not_tradable),
    "pbo-noise": Row("PBO of 100 x 1000 noise", "mean 0.5 +- 0.08", 40, _pbo_noise, _mean_pbo),
    "pbo-true": Row("PBO with one true Sharpe of 3", "below 0.15", 40, _pbo_true, _low_pbo),
}
