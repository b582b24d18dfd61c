"""Published formulas: where a search without knowledge of its own begins.

They are proposed, evaluated and counted like any other candidate, and labelled as known. Formulas
named wq come from Z. Kakushadze, "101 Formulaic Alphas", Wilmott 2016 (their numbers are the paper's).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from alphaswarm.core.errors import ExpressionError
from alphaswarm.dsl import parse

__all__ = ["KnownFormula", "known_formulas"]

# A formula that looks back over more than this part of the panel would have no evidence.
LOOKBACK_SHARE = 4


@dataclass(frozen=True)
class KnownFormula:
    """A formula from the literature.

    Attributes:
        name: short and stable; the proposal's source is ``known:<name>``.
        expression: in the sign in which the source expects high values to earn more.
        idea: what it measures.
        citation: where it was published.
    """

    name: str
    expression: str
    idea: str
    citation: str

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields that a panel must offer."""
        return tuple(sorted(parse(self.expression).fields))


_KAKUSHADZE = "Kakushadze 2016, 101 Formulaic Alphas, Wilmott"

# In the order in which they are offered: the most different ideas first.
FORMULAS = (
    KnownFormula(
        "reversal_5",
        "-ts_sum(returns, 5)",
        "last week's losers rebound",
        "Lehmann 1990, Fads, Martingales, and Market Efficiency, Quarterly Journal of Economics",
    ),
    KnownFormula(
        "wq009",
        "if_else(ts_min(delta(close, 1), 5) > 0, delta(close, 1), "
        "if_else(ts_max(delta(close, 1), 5) < 0, delta(close, 1), -delta(close, 1)))",
        "follow a move that lasted all week, else fade the last day",
        _KAKUSHADZE,
    ),
    KnownFormula(
        "wq101",
        "(close - open) / (high - low + 0.001)",
        "where the day ended inside its range",
        _KAKUSHADZE,
    ),
    KnownFormula(
        "wq012",
        "sign(delta(volume, 1)) * -delta(close, 1)",
        "fade a move that came on rising volume",
        _KAKUSHADZE,
    ),
    KnownFormula(
        "wq034",
        "cs_rank(1 - cs_rank(ts_std(returns, 2) / ts_std(returns, 5)) + 1 - cs_rank(delta(close, 1)))",
        "fade the last day where it was calm",
        _KAKUSHADZE,
    ),
    KnownFormula(
        "wq019",
        "-sign(close - delay(close, 7) + delta(close, 7)) * (1 + cs_rank(1 + ts_sum(returns, 250)))",
        "fade the week, more so for last year's winners",
        _KAKUSHADZE,
    ),
    KnownFormula(
        "max_20",
        "-ts_max(returns, 20)",
        "lottery-like stocks are overpaid",
        "Bali, Cakici and Whitelaw 2011, Maxing Out, Journal of Financial Economics",
    ),
    KnownFormula(
        "momentum_12_1",
        "delay(ts_sum(returns, 231), 21)",
        "last year's winners go on, the last month left out",
        "Jegadeesh and Titman 1993, Returns to Buying Winners and Selling Losers, Journal of Finance",
    ),
    KnownFormula(
        "amihud_20",
        "ts_mean(abs(returns) / dollar_volume, 20)",
        "illiquid stocks pay for being so",
        "Amihud 2002, Illiquidity and Stock Returns, Journal of Financial Markets",
    ),
    KnownFormula(
        "low_volatility_20",
        "-ts_std(returns, 20)",
        "volatile stocks earn less than their risk promises",
        "Ang, Hodrick, Xing and Zhang 2006, The Cross-Section of Volatility and Expected Returns, Journal of Finance",
    ),
    KnownFormula(
        "reversal_20",
        "-ts_sum(returns, 20)",
        "last month's losers rebound",
        "Jegadeesh 1990, Evidence of Predictable Behavior of Security Returns, Journal of Finance",
    ),
    KnownFormula(
        "decay_reversal_10",
        "-decay_linear(returns, 10)",
        "recent losers rebound, the latest days count most",
        f"the weighting of {_KAKUSHADZE}, on Lehmann's reversal",
    ),
    KnownFormula(
        "size_20",
        "-ts_mean(dollar_volume, 20)",
        "little-traded, small stocks earn more",
        "Brennan, Chordia and Subrahmanyam 1998, Alternative Factor Specifications, Journal of Financial Economics",
    ),
    KnownFormula(
        "high_52w",
        "close / ts_max(close, 252)",
        "stocks near their yearly high are underbought",
        "George and Hwang 2004, The 52-Week High and Momentum Investing, Journal of Finance",
    ),
)


def known_formulas(fields: Collection[str], rows: int, limit: int = 10) -> list[KnownFormula]:
    """The first `limit` formulas that a panel with these fields and rows can carry.

    `returns` is at hand wherever `close` is; traded value is taken as close times volume where the
    panel has both and no field of its own.
    """
    offered = set(fields) | ({"returns"} if "close" in fields else set())
    traded = "dollar_volume" in offered or not {"close", "volume"} <= offered
    fitting = []
    for formula in FORMULAS:
        text = formula.expression if traded else re.sub(r"\bdollar_volume\b", "(close * volume)", formula.expression)
        adapted = KnownFormula(formula.name, text, formula.idea, formula.citation)
        try:
            expression = parse(text)
        except ExpressionError:  # the language has no such operator here
            continue
        if set(adapted.fields) <= offered and expression.warmup <= rows // LOOKBACK_SHARE:
            fitting.append(adapted)
    return fitting[:limit]
