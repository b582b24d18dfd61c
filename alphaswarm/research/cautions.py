"""What a reader must know before believing a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from alphaswarm.core import Panel

if TYPE_CHECKING:
    from alphaswarm.dsl import Expr

__all__ = ["MIN_COVERAGE", "SHORT_WINDOW", "cautions", "too_few_names"]

# Under one name in five, the five quantile buckets hold too few names each to mean anything.
MIN_COVERAGE = 0.2
THIN_COVERAGE = 0.5
# A RankIC of 0.02 that varies by 0.14 a day, as on real stocks, reaches t = 3.3 after 530 days.
SHORT_WINDOW = 504
# The best published daily signals on large stocks reach 0.03 to 0.05.
LEAK_IC = 0.08


def cautions(
    panel: Panel,
    days: int,
    evidence: Mapping[str, Any],
    *,
    unsealed: bool,
    relatives: Sequence[str] = (),
    expression: Expr | None = None,
) -> list[str]:
    """Warnings for a trial of `expression` on `days` rows of `panel`, the gravest first.

    `relatives` are other panels with mostly the same data, under which something was tried.
    """
    from alphaswarm.dsl import warnings_of

    found = []
    strongest = max((abs(evidence.get(name) or 0.0) for name in ("ic", "rank_ic")), default=0.0)
    if strongest > LEAK_IC:
        found.append(
            f"a mean daily IC of {strongest:.3f} is more than any known signal reaches (alarm at {LEAK_IC:g}): "
            "look for a leak of the future in the data"
        )
    if unsealed:
        found.append("in-sample: this workspace was made unsealed, so nothing can be confirmed here")
    if relatives:
        found.append(f"counted together with panel {', '.join(relatives)}: they hold mostly the same data")
    if panel.meta.get("survivorship_biased"):
        found.append("the panel holds survivors only: size, illiquidity and reversal look better than they were")
    if panel.meta.get("adjusted") is False:
        found.append("prices are not adjusted for splits and dividends")
    if days < SHORT_WINDOW:
        found.append(f"too short for a verdict: {days} days in the window, {SHORT_WINDOW} are needed; evidence only")
    rank_ic, sharpe = evidence.get("rank_ic"), evidence.get("sharpe")
    if rank_ic and sharpe and rank_ic * sharpe < 0:
        found.append("ranks and money disagree: RankIC and profit before costs have opposite signs")
    coverage = evidence.get("coverage")
    if coverage is not None and coverage < THIN_COVERAGE:
        found.append(f"only {coverage:.0%} of the priced names have a value")
    if expression is not None:
        found += [str(warning) for warning in warnings_of(expression, panel)]
    return found


def too_few_names(coverage: float | None) -> str | None:
    """Why a factor of this coverage is not measured, or None when it is."""
    share = 0.0 if coverage is None else coverage
    if share >= MIN_COVERAGE:
        return None
    return f"a factor must cover at least {MIN_COVERAGE:.0%} of the priced names, this one covers {share:.1%}"
