"""Synthetic markets: common factors, fat tails, volatility in clusters, and no alpha unless it is planted.

The null market is a fair game in simple returns: every name's expected return is the same small
drift at all times, so no expression has an expected IC other than 0. What makes it hard is what makes
real markets hard: a market, seven style and many sector and industry factors move the names together,
so that the daily IC of a signal made of returns has a standard deviation of 0.12 to 0.16 (0.155 on
ten years of US stocks), three times that of independent names.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel, UnknownName
from alphaswarm.data.market import draw_market

__all__ = ["FIELDS", "GROUPS", "Kind", "synthetic_dates", "synthetic_market", "synthetic_meta"]

Kind = Literal["null", "planted", "regimes"]

FIELDS = ("close", "dollar_volume", "high", "low", "open", "returns", "volume")
GROUPS = ("industry", "sector")
DAYS, NAMES, SEED = 1500, 500, 1
START = "2010-01-04"
EXPRESSION = "cs_rank(-ts_sum(returns, 5))"
IC = 0.03


def synthetic_market(
    kind: Kind = "null",
    *,
    seed: int = SEED,
    days: int = DAYS,
    names: int = NAMES,
    start: str = START,
    expression: str = EXPRESSION,
    ic: float = IC,
    dies: str | None = None,
) -> Panel:
    """A seeded market: OHLCV, `returns`, `dollar_volume`, `sector`, `industry`; equal arguments, equal bytes.

    Kinds:
        null: nothing predicts anything.
        planted: null, plus an alpha. At the close of each day t the names are ranked by `expression`,
            evaluated on the very panel that is returned and on nothing later than t; the return from the
            close of t+1 to the close of t+2 (what a decision at t earns when it is filled one close later)
            gets a part that is linear in that rank. Its size makes the mean daily rank IC of that one-day
            return `ic` more than it would be without, exactly on this sample; what would be there without
            is noise of about 0.14 / sqrt(days). Decisions from the date `dies` on earn nothing.
        regimes: the market drifts and its volatility changes as a hidden state rises, stays flat or falls;
            `meta["regimes"]` holds the true states as [first date, name], for tests only.

    Args:
        kind: null, planted or regimes.
        seed: what the market is drawn from.
        days: T, business days from `start` on; at least 60.
        names: N, at least 30.
        start: first date.
        expression: planted alpha, in the expression language.
        ic: planted mean daily rank IC, within -0.3..0.3 and not 0.
        dies: first decision date on which the planted alpha is dead; never when absent.

    Raises:
        UnknownName: no such kind.
        DataInvalid: an argument outside its range.
        ExpressionError: `expression` is not valid.
        EvidenceInvalid: `expression` has no values to rank on this market, or the IC can't be reached.
    """
    if kind not in get_args(Kind):
        raise UnknownName.of("kind of synthetic market", kind, get_args(Kind))
    if days < 60 or names < 30:
        raise DataInvalid(f"a synthetic market needs at least 60 days and 30 names, got {days} and {names}")
    # its symbols are those of this market only: the same names and days of another one are other data
    meta = synthetic_meta(kind) | {"name": f"synthetic-{kind}", "seed": seed, "market": f"{kind} {seed}"}
    market = draw_market(synthetic_dates(days, start), names, seed=seed, regimes=kind == "regimes", meta=meta)
    if kind != "planted":
        return market.panel()
    from alphaswarm.data.planted import plant  # the language, with its compiled kernels, only when it is needed

    return plant(market, expression=expression, ic=ic, dies=dies)


def synthetic_dates(days: int = DAYS, start: str = START) -> NDArray[np.datetime64]:
    """`days` business days from `start` on (no holidays)."""
    return np.busday_offset(np.datetime64(start, "D"), np.arange(days), roll="forward").astype("datetime64[ns]")


def synthetic_meta(kind: Kind) -> dict[str, Any]:
    """The `meta` that every market of this kind carries."""
    caveats = [
        "synthetic: no result on it says anything about a real market",
        "no name ever leaves or joins; business days without holidays",
    ]
    if kind == "null":
        caveats.append("nothing predicts anything here: whatever is accepted on it is a false discovery")
    if kind == "planted":
        caveats.append("one alpha is planted; meta says which")
    if kind == "regimes":
        caveats.append("drift and volatility of the market follow a hidden state; no name-level alpha is planted")
    return {
        "source": f"synthetic market, kind {kind}",
        "licence": "Apache-2.0",
        "caveats": caveats,
        "adjusted": True,
        "survivorship_biased": False,
        "periods_per_year": 252,
    }
