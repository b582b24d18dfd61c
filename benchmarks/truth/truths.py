"""Planted truths: formulas drawn by the grammar, unlike anything that the search begins with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from alphaswarm.agents.proposers.known import known_formulas
from alphaswarm.core import EvidenceInvalid, Panel, make_rng
from alphaswarm.data import synthetic_market
from alphaswarm.data.synthetic import FIELDS, GROUPS
from alphaswarm.dsl import evaluate, random_expr

IC = 0.03
MAX_DEPTH = 3
# A truth that ranks few names, or puts most of them in one place, can't carry that IC.
LEAST_COVERAGE, LEAST_DISTINCT = 0.7, 30
UNLIKE = 0.5
# Correlations are means over every so-manieth row after the first year.
BEGIN, STEP = 260, 10


def planted_market(seed: int, *, days: int, names: int, ic: float = IC, dies: str | None = None) -> Panel:
    """A factor market with a truth drawn for `seed` in it; `meta["planted"]["expression"]` says which."""
    null = synthetic_market("null", seed=seed, days=days, names=names)
    known = [evaluate(formula.expression, null) for formula in known_formulas(null.fields, days)]
    rng = make_rng(seed, "truth")
    while True:
        drawn = random_expr(rng, FIELDS, GROUPS, max_depth=MAX_DEPTH)
        if drawn.warmup > BEGIN:
            continue
        values = evaluate(drawn, null)
        if not _ranks_enough(values) or likeness(values, known) >= UNLIKE:
            continue
        try:
            return synthetic_market(
                "planted", seed=seed, days=days, names=names, expression=str(drawn), ic=ic, dies=dies
            )
        except EvidenceInvalid:  # that IC can't be had with it
            continue


def likeness(values: NDArray[np.float64], others: Sequence[NDArray[np.float64]]) -> float:
    """The largest |mean daily rank correlation| of `values` [T, N] with one of `others`."""
    return max((abs(rank_correlation(values, other)) for other in others), default=0.0)


def rank_correlation(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Mean over sampled rows of the rank correlation of two factors [T, N]; 0 where it is undefined on all."""
    found = []
    for first, second in zip(one[BEGIN::STEP], other[BEGIN::STEP], strict=True):
        both = np.isfinite(first) & np.isfinite(second)
        ranks = [rankdata(np.round(row[both], 12)) for row in (first, second)]
        if both.sum() >= LEAST_DISTINCT and min(np.ptp(rank) for rank in ranks) > 0:
            found.append(np.corrcoef(*ranks)[0, 1])
    return float(np.mean(found)) if found else 0.0


def _ranks_enough(values: NDArray[np.float64]) -> bool:
    rows = values[BEGIN::STEP]
    distinct = np.mean([np.unique(row[np.isfinite(row)]).size for row in rows])
    return bool(np.isfinite(rows).mean() >= LEAST_COVERAGE and distinct >= LEAST_DISTINCT)
