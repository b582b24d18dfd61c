"""A thousand formulas, and questions that a person might ask to find each: 25 measures, 8 treatments, 5 spans.

The documents hold the formula and no word of anybody; the questions were written from what the formulas mean, not from
how they are said. So what is measured is whether a plain question finds a formula that nobody described.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from alphaswarm.core import ExpressionError, make_rng
from alphaswarm.dsl import canonical, parse
from alphaswarm.dsl.expr import Expr, call
from alphaswarm.rag import Document

__all__ = ["Case", "cases", "commuted", "document", "documents", "nearly", "renamed"]

# formula with the span {d}; two ways to ask for it, with the span {s}
MEASURES = (
    ("ts_sum(returns, {d})", "how much a stock has gained over {s}", "winners of the past {s} keep winning"),
    ("-ts_sum(returns, {d})", "losers of {s} bounce back: minus the sum of returns",
     "buy what fell over {s}, reversal"),
    ("ts_std(returns, {d})", "how volatile a stock was in {s}", "risk as the standard deviation of returns in {s}"),
    ("ts_skew(returns, {d})", "lottery-like stocks with lopsided returns in {s}", "asymmetry of returns over {s}"),
    ("ts_kurt(returns, {d})", "fat tails of the returns of {s}", "how extreme the tails were during {s}, kurtosis"),
    ("ts_max(returns, {d})", "the biggest one-day jump within {s}", "highest daily return seen in {s}"),
    ("ts_min(returns, {d})", "the worst single day in {s}", "lowest daily return during {s}"),
    ("ts_mean(volume, {d})", "how actively the shares were traded over {s}", "average number of shares traded in {s}"),
    ("volume / ts_mean(volume, {d})", "trading today that is unusually heavy against the average of {s}",
     "a burst of volume relative to the mean of {s}"),
    ("ts_std(volume, {d})", "how erratic trading activity was in {s}", "volatility of the volume over {s}"),
    ("ts_corr(returns, volume, {d})", "do returns go together with volume in {s}",
     "correlation of daily returns and trading activity over {s}"),
    ("close / ts_max(high, {d})", "how near the price is to the highest high of {s}",
     "price as a share of its top within {s}"),
    ("close / ts_min(low, {d})", "how far the price stands above the lowest low of {s}",
     "price relative to its bottom within {s}"),
    ("close / ts_mean(close, {d})", "price stretched away from its moving average of {s}",
     "how far the close is above its mean of {s}"),
    ("ts_zscore(close, {d})", "how unusual the price is by the standards of {s}",
     "today's close standardised against its own {s}"),
    ("ts_mean((high - low) / close, {d})", "the typical daily range from low to high over {s}",
     "average spread between the day's high and low in {s}"),
    ("ts_mean((close - open) / open, {d})", "average drift from the open to the close in {s}",
     "what is gained during the session, averaged over {s}"),
    ("ts_mean(open / delay(close, 1), {d})", "average overnight gap from yesterday's close to the open in {s}",
     "what happens between close and next open, mean of {s}"),
    ("ts_argmax(close, {d})", "how many days ago the price peaked within {s}", "time since the highest close of {s}"),
    ("ts_argmin(close, {d})", "how many days ago the price hit its bottom within {s}",
     "time since the lowest close of {s}"),
    ("ts_slope(close, {d})", "how steep the price trend line of {s} is", "slope of a line through the closes of {s}"),
    ("ts_mean(abs(returns) / volume, {d})", "illiquidity: how much the price moves for each share traded, over {s}",
     "size of the return divided by volume, averaged over {s}"),
    ("ts_mean(close * volume, {d})", "the money traded in a stock on average over {s}",
     "liquidity: price times volume, mean of {s}"),
    ("ts_count(returns > 0, {d})", "on how many days of {s} the stock went up",
     "number of days in {s} with a positive return"),
    ("ts_corr(high, low, {d})", "do the day's high and low move together in {s}",
     "correlation of highs with lows over {s}"),
)  # fmt: skip
TREATMENTS = (
    ("{x}", "{q}", "{q}"),
    ("cs_rank({x})", "stocks of a day ranked by {q}", "the cross-sectional rank of {q}"),
    ("cs_zscore({x})", "z-score across the stocks of a day of {q}", "standardised over the cross section: {q}"),
    ("group_neutralize({x}, sector)", "compared with its own sector: {q}", "relative to industry peers, {q}"),
    ("delta({x}, 10)", "the change within two weeks of {q}", "difference to a fortnight ago in {q}"),
    ("delay({x}, 2)", "as it was a few days earlier: {q}", "lagged by two days: {q}"),
    ("decay_linear({x}, 10)", "smoothed with more weight on recent days: {q}", "linearly decayed: {q}"),
    ("sign({x})", "only the direction, up or down, of {q}", "the sign of {q}"),
)
SPANS = ((5, "a week"), (21, "a month"), (63, "a quarter"), (126, "half a year"), (252, "a year"))
# operators under the names of WorldQuant
RENAMED = {
    "cs_rank": "rank",
    "cs_zscore": "zscore",
    "decay_linear": "ts_decay_linear",
    "delay": "ts_delay",
    "delta": "ts_delta",
    "ts_argmax": "ts_arg_max",
    "ts_argmin": "ts_arg_min",
    "ts_kurt": "ts_kurtosis",
    "ts_skew": "ts_skewness",
    "ts_std": "ts_std_dev",
}


@dataclass(frozen=True)
class Case:
    """A formula of the set and a question for it."""

    expression: str
    question: str


def cases() -> Iterator[Case]:
    """All of them, the same at each call; each question takes one of the two wordings of its parts."""
    rng = make_rng(7, "questions")
    for measure, *asked in MEASURES:
        for treatment, *said in TREATMENTS:
            for days, span in SPANS:
                formula = treatment.format(x=measure.format(d=days))
                words = asked[int(rng.integers(2))].format(s=span)
                yield Case(formula, said[int(rng.integers(2))].format(q=words))


def documents() -> Iterator[Document]:
    """The set as documents, without any text."""
    for number, case in enumerate(cases()):
        yield document(f"{number:04d}", case.expression)


def document(identifier: str, text: str) -> Document:
    """A formula that nobody said anything about."""
    tree = canonical(parse(text))
    summary = {"panel": "bench", "universe": "bench", "horizon": 5, "window": "search"}
    return Document("alpha_factors", identifier, str(tree), tree.digest, as_of="2012-12-31", summary=summary)


def commuted(tree: Expr) -> str:
    """The same formula with the arguments of each sum and product turned round."""
    return str(_turned(tree))


def renamed(text: str) -> str | None:
    """The same formula in the words of WorldQuant; None where it can't be said or nothing is called otherwise."""
    changed = text
    for ours, theirs in RENAMED.items():
        changed = re.sub(rf"(?<![a-z_]){ours}\(", f"{theirs}(", changed)
    try:
        parse(changed, "worldquant")
    except ExpressionError:
        return None
    return None if changed == text else changed


def nearly(text: str) -> str:
    """The formula with each of its windows one day longer."""
    return re.sub(r", (\d+)\)", lambda found: f", {int(found[1]) + 1})", text)


def _turned(tree: Expr) -> Expr:
    if tree.kind != "call":
        return tree
    args = [_turned(arg) for arg in tree.args]
    if tree.op in {"add", "mul"}:
        args.reverse()
    return call(tree.op, *args, **dict(tree.options))
