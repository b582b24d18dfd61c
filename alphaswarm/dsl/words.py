"""`in_words`: an expression as a person would say it.

Each operator has one phrase. Parentheses stand where the words alone would be ambiguous: around sums, comparisons
and the like inside a phrase, and around a phrase that ends openly (``the 5-day mean of close``) before more words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from alphaswarm.dsl.expr import Expr, number_text
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import SlotKind

__all__ = ["PHRASES", "in_words"]

PHRASES: dict[str, str] = {
    "add": "{x} plus {y}",
    "sub": "{x} minus {y}",
    "mul": "{x} times {y}",
    "div": "{x} divided by {y}",
    "neg": "minus {x}",
    "pow": "{x} to the power {y}",
    "inv": "one over {x}",
    "abs": "the absolute value of {x}",
    "sign": "the sign of {x}",
    "log": "the logarithm of {x}",
    "log1p": "the logarithm of one more than {x}",
    "slog1p": "the signed logarithm of one more than the size of {x}",
    "exp": "the exponential of {x}",
    "sqrt": "the square root of {x}",
    "floor": "{x} rounded down",
    "ceil": "{x} rounded up",
    "round": "{x} rounded",
    "signed_power": "{x} to the power {y} with its sign kept",
    "max": "the largest of {x} and {y}",
    "min": "the smallest of {x} and {y}",
    "clip": "{x} held between {low} and {high}",
    "sigmoid": "the sigmoid of {x}",
    "tanh": "the hyperbolic tangent of {x}",
    "lt": "{x} is below {y}",
    "le": "{x} is at most {y}",
    "gt": "{x} is above {y}",
    "ge": "{x} is at least {y}",
    "eq": "{x} equals {y}",
    "ne": "{x} differs from {y}",
    "and": "{a} and {b}",
    "or": "{a} or {b}",
    "not": "it is not true that {c}",
    "if_else": "{x} where {c}, else {y}",
    "is_nan": "{x} is missing",
    "fill": "{x}, or {y} where that is missing",
    "delay": "{x} {d} days ago",
    "delta": "the {d}-day change of {x}",
    "pct_change": "the {d}-day relative change of {x}",
    "log_return": "the {d}-day log return of {x}",
    "ts_backfill": "the last known value within {d} days of {x}",
    "ts_sum": "the {d}-day sum of {x}",
    "ts_mean": "the {d}-day mean of {x}",
    "ts_product": "the {d}-day product of {x}",
    "ts_std": "the {d}-day standard deviation of {x}",
    "ts_var": "the {d}-day variance of {x}",
    "ts_skew": "the {d}-day skewness of {x}",
    "ts_kurt": "the {d}-day excess kurtosis of {x}",
    "ts_min": "the {d}-day minimum of {x}",
    "ts_max": "the {d}-day maximum of {x}",
    "ts_argmax": "the days since the {d}-day maximum of {x}",
    "ts_argmin": "the days since the {d}-day minimum of {x}",
    "ts_rank": "the rank of today within {d} days of {x}",
    "ts_zscore": "the {d}-day z-score of {x}",
    "ts_scale": "the place of today in the {d}-day range of {x}",
    "ts_quantile": "the {d}-day {q} quantile of {x}",
    "ts_median": "the {d}-day median of {x}",
    "ts_mad": "the {d}-day mean absolute deviation of {x}",
    "ts_medad": "the {d}-day median absolute deviation of {x}",
    "ts_ir": "the {d}-day mean over standard deviation of {x}",
    "ts_av_diff": "{x} less its {d}-day mean",
    "ts_max_diff": "{x} less its {d}-day maximum",
    "ts_min_diff": "{x} less its {d}-day minimum",
    "decay_linear": "the {d}-day linearly weighted mean of {x}",
    "decay_exp": "the {d}-day exponentially weighted mean (factor {f}) of {x}",
    "ts_entropy": "the {d}-day entropy of {x}",
    "ts_moment": "the {d}-day central moment of order {k} of {x}",
    "ts_cov": "the {d}-day covariance of {x} with {y}",
    "ts_corr": "the {d}-day correlation of {x} with {y}",
    "ts_rank_corr": "the {d}-day rank correlation of {x} with {y}",
    "ts_beta": "the {d}-day slope of {y} on {x}",
    "ts_resid": "the {d}-day residual of {y} on {x}",
    "ts_rsq": "the {d}-day share of {y} explained by {x}",
    "ts_slope": "the {d}-day trend of {y}",
    "ts_autocorr": "the {d}-day autocorrelation at lag {lag} of {x}",
    "ts_count": "the number of the last {d} days on which {c}",
    "ts_sumif": "the {d}-day sum of {x} over days on which {c}",
    "ema": "the {span}-day exponential mean of {x}",
    "sma_cn": "the recursive mean (weight {m} of {n}) of {x}",
    "ts_days_since": "the days since {c}",
    "last_diff": "the previous different value of {x}",
    "days_from_change": "the days since the last change of {x}",
    "hump": "{x} followed by at most {h} a day",
    "trade_when": "{x} taken when {trigger}, kept since, and dropped when {exit}",
    "cs_rank": "the rank within the day of {x}",
    "cs_rank01": "the rank from 0 to 1 within the day of {x}",
    "cs_zscore": "the z-score within the day of {x}",
    "cs_demean": "{x} less the mean of the day",
    "cs_scale": "{x} scaled within the day",
    "cs_winsorize": "{x} held within {k} standard deviations of the day",
    "cs_mad_clip": "{x} held within {k} median deviations of the day",
    "cs_quantile_clip": "{x} held within the outer {q} quantiles of the day",
    "cs_quantile_transform": "the normal score within the day of {x}",
    "cs_bucket": "the bucket (one of {n}) within the day of {x}",
    "cs_resid": "the residual within the day of {y} on {x}",
    "group_neutralize": "{x} less the mean of its {g}",
    "group_rank": "the rank within the {g} of {x}",
    "group_zscore": "the z-score within the {g} of {x}",
    "group_scale": "{x} scaled within its {g}",
    "group_mean": "the {g} mean of {x}",
    "group_sum": "the {g} sum of {x}",
    "group_std": "the {g} standard deviation of {x}",
    "group_count": "the number of stocks of the {g} that have {x}",
    "group_backfill": "{x}, or where that is missing the {d}-day mean of its {g}",
}
"""Operator to phrase; a name in braces is the slot of that name. Shorthands are written out before they are said."""

_LOOSE = frozenset({"add", "sub", "mul", "div", "pow", "signed_power", "if_else", "fill", "group_backfill"})
_LOOSE |= {"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "is_nan", "trade_when"}
_PRODUCTS = ("mul", "div")
# left parts that need no parentheses: precedence says the same as the order of reading
_CHAINS = {
    "add": ("add", "sub", *_PRODUCTS),
    "sub": ("add", "sub", *_PRODUCTS),
    "mul": _PRODUCTS,
    "div": _PRODUCTS,
}
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class _Phrase:
    """Words; whether more words in front or behind would be taken for a part of them."""

    text: str
    op: str = ""
    loose: bool = False  # needs parentheses wherever it is a part
    ends_open: bool = False  # needs them before more words


def in_words(expr: Expr) -> str:
    """`expr` in plain English, without a capital and without a full stop."""
    made: dict[Expr, _Phrase] = {}
    for node in expr.walk():
        if node.kind == "number":
            made[node] = _Phrase(number_text(node.value))
        elif node.kind == "call":
            made[node] = _said(node, [made[argument] for argument in node.args])
        else:
            made[node] = _Phrase(node.name.replace("_", " "))
    return made[expr].text


def _said(node: Expr, parts: list[_Phrase]) -> _Phrase:
    """The phrase of one call of phrases."""
    phrase = PHRASES[node.op]
    slots = OPERATORS[node.op].slots
    given = {slot.name: [part] for slot, part in zip(slots, parts, strict=False)}
    given[slots[-1].name] += parts[len(slots) :]
    clauses = {slot.name for slot in slots if slot.kind is SlotKind.CONDITION}

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        last = match.end() == len(phrase)
        first = match.start() == 0
        texts = []
        for part in given[name]:
            set_apart = part.loose or (part.ends_open and not last)
            if name in clauses:  # a clause stands alone, only "or" inside "and" is set apart
                set_apart = node.op == "and" and part.op == "or"
            elif first and not part.ends_open and part.op in _CHAINS.get(node.op, ()):
                set_apart = False
            texts.append(f"({part.text})" if set_apart else part.text)
        return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"

    text = _SLOT.sub(fill, phrase)
    if len(parts) > len(slots):
        text = text.replace(" and ", ", ", 1) if node.op in ("max", "min") else text
    for name, value in node.options:
        text += f" ({name} {number_text(value)})"
    ends = phrase.endswith("}") and not node.options
    return _Phrase(text, node.op, node.op in _LOOSE, ends and (parts[-1].ends_open or not phrase.startswith("{")))
