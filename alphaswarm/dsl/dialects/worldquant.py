"""WorldQuant's formulas: the names of "101 Formulaic Alphas" (Kakushadze 2016) and of the BRAIN platform.

Names may be in any case. Signs bind as in C: ``? :`` loosest, then ``||``, ``&&``, comparisons, ``+ -``, ``* /``, and
``^`` (a power) tightest. Where the paper and the platform differ the note of a word says which is meant.
"""

from __future__ import annotations

import re

from alphaswarm.dsl.dialects.dialect import Dialect, Infix, Leaf, native_infix
from alphaswarm.dsl.dialects.word import Word, table_of
from alphaswarm.dsl.lexer import WHY, Lexicon
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Family

__all__ = ["WORLDQUANT"]

_RANK = "the average rank over the count, in (0, 1]; BRAIN ranks from 0 to 1, which is cs_rank01"
_TS_RANK = "the average rank of today over d, in (0, 1]; the platform and some ports rank from 0 or return 1 to d"
_SINCE = "days since, 0 for today, as on BRAIN; ports of the 101 formulas count from the oldest row, 1 to d: "
_WINDOW = "a whole number in the second place is a window; natively {0}(x, 5) is cell by cell"
_DECAY = "weight d for today down to 1; a NaN in the window gives NaN, BRAIN takes it as 0"
_NEUTRAL = "x less the mean of its group; without a label NaN, alone in a group 0"
_SCALE = "times a over the sum of |x|; all zero gives NaN"
_TRADED = "in money, as the paper defines it; BRAIN and most ports average shares"
_HUMP = "moves by at most h; BRAIN's limit is relative to the sum of |x|"

_ARITHMETIC = (
    Word("abs(x)", "abs(x)"),
    Word("add(x, y)", "x + y"),
    Word("add(x, y, z)", "x + y + z"),
    Word("subtract(x, y)", "x - y"),
    Word("multiply(x, y)", "x * y"),
    Word("multiply(x, y, z)", "x * y * z"),
    Word("divide(x, y)", "x / y"),
    Word("inverse(x)", "1 / x"),
    Word("reverse(x)", "-x"),
    Word("sign(x)", "sign(x)"),
    Word("log(x)", "log(x)"),
    Word("s_log_1p(x)", "slog1p(x)"),
    Word("log_diff(x)", "log_return(x, 1)"),
    Word("exp(x)", "exp(x)"),
    Word("sqrt(x)", "sqrt(x)"),
    Word("power(x, y)", "x ** y"),
    Word("signedpower(x, y)", "signed_power(x, y)", "sign(x) |x| ** y, as its name says; the paper's text says x ** y"),
    Word("signed_power(x, y)", "signed_power(x, y)"),
    Word("floor(x)", "floor(x)"),
    Word("ceiling(x)", "ceil(x)"),
    Word("round(x)", "round(x)"),
    Word("round_down(x, f=1)", "floor(x / f) * f"),
    Word("fraction(x)", "sign(x) * (abs(x) - floor(abs(x)))"),
    Word("sigmoid(x)", "sigmoid(x)"),
    Word("tanh(x)", "tanh(x)"),
    Word("max(x, d)", "ts_max(x, d)", _WINDOW.format("max")),
    Word("max(x, y)", "max(x, y)"),
    Word("max(x, y, z)", "max(x, y, z)"),
    Word("max(x, y, z, w)", "max(x, y, z, w)"),
    Word("min(x, d)", "ts_min(x, d)", _WINDOW.format("min")),
    Word("min(x, y)", "min(x, y)"),
    Word("min(x, y, z)", "min(x, y, z)"),
    Word("min(x, y, z, w)", "min(x, y, z, w)"),
)

_LOGIC = (
    Word("and(a, b)", "a and b"),
    Word("or(a, b)", "a or b"),
    Word("not(c)", "not c"),
    Word("equal(x, y)", "x == y"),
    Word("not_equal(x, y)", "x != y"),
    Word("greater(x, y)", "x > y"),
    Word("greater_equal(x, y)", "x >= y"),
    Word("less(x, y)", "x < y"),
    Word("less_equal(x, y)", "x <= y"),
    Word("if_else(c, x, y)", "if_else(c, x, y)"),
    Word("is_nan(x)", "is_nan(x)"),
    Word("is_not_nan(x)", "not is_nan(x)"),
    Word("trade_when(x, y, z)", "trade_when(x > 0, y, z > 0)", "a number triggers where it is above 0"),
    Word("hump(x, hump=0.01)", "hump(x, hump)", _HUMP),
    Word("clamp(x, lower, upper)", "clip(x, lower, upper)"),
)

_SERIES = (
    Word("delay(x, d)", "delay(x, d)"),
    Word("ts_delay(x, d)", "delay(x, d)"),
    Word("delta(x, d)", "delta(x, d)"),
    Word("ts_delta(x, d)", "delta(x, d)"),
    Word("ts_returns(x, d)", "pct_change(x, d)"),
    Word("ts_returns(x, d, mode)", "pct_change(x, d)", only={"mode": 1}),
    Word("ts_returns(x, d, mode)", "delta(x, d) / ((x + delay(x, d)) / 2)", only={"mode": 2}),
    Word("sum(x, d)", "ts_sum(x, d)"),
    Word("ts_sum(x, d)", "ts_sum(x, d)"),
    Word("ts_mean(x, d)", "ts_mean(x, d)"),
    Word("product(x, d)", "ts_product(x, d)"),
    Word("ts_product(x, d)", "ts_product(x, d)"),
    Word("stddev(x, d)", "ts_std(x, d)", "with d - 1 in the denominator; some ports take d"),
    Word("ts_std_dev(x, d)", "ts_std(x, d)", "with d - 1 in the denominator; some ports take d"),
    Word("ts_skewness(x, d)", "ts_skew(x, d)"),
    Word("ts_kurtosis(x, d)", "ts_kurt(x, d)"),
    Word("ts_moment(x, d, k)", "ts_moment(x, d, k)"),
    Word("ts_entropy(x, d)", "ts_entropy(x, d)", "of ten equal bins, in nats"),
    Word("ts_min(x, d)", "ts_min(x, d)"),
    Word("ts_max(x, d)", "ts_max(x, d)"),
    Word("ts_argmax(x, d)", "ts_argmax(x, d)", _SINCE + "d - ts_argmax(x, d)"),
    Word("ts_argmin(x, d)", "ts_argmin(x, d)", _SINCE + "d - ts_argmin(x, d)"),
    Word("ts_arg_max(x, d)", "ts_argmax(x, d)"),
    Word("ts_arg_min(x, d)", "ts_argmin(x, d)"),
    Word("ts_rank(x, d)", "ts_rank(x, d)", _TS_RANK),
    Word("ts_rank(x, d, constant)", "ts_rank(x, d) + constant", _TS_RANK),
    Word("ts_zscore(x, d)", "ts_zscore(x, d)"),
    Word("ts_scale(x, d)", "ts_scale(x, d)"),
    Word("ts_scale(x, d, constant)", "ts_scale(x, d) + constant"),
    Word("ts_median(x, d)", "ts_median(x, d)"),
    Word("ts_percentage(x, d, percentage=0.5)", "ts_quantile(x, d, percentage)", "linear between neighbours"),
    Word("ts_ir(x, d)", "ts_ir(x, d)"),
    Word("ts_av_diff(x, d)", "ts_av_diff(x, d)"),
    Word("ts_max_diff(x, d)", "ts_max_diff(x, d)"),
    Word("ts_min_diff(x, d)", "ts_min_diff(x, d)"),
    Word("ts_min_max_cps(x, d, f=2)", "ts_min(x, d) + ts_max(x, d) - f * x"),
    Word("ts_min_max_diff(x, d, f=0.5)", "x - f * (ts_min(x, d) + ts_max(x, d))"),
    Word("decay_linear(x, d)", "decay_linear(x, d)", _DECAY),
    Word("ts_decay_linear(x, d)", "decay_linear(x, d)", _DECAY),
    Word("ts_decay_exp_window(x, d, factor)", "decay_exp(x, d, factor)"),
    Word("correlation(x, y, d)", "ts_corr(x, y, d)"),
    Word("ts_corr(x, y, d)", "ts_corr(x, y, d)"),
    Word("covariance(x, y, d)", "ts_cov(x, y, d)"),
    Word("ts_covariance(y, x, d)", "ts_cov(y, x, d)"),
    Word("ts_regression(y, x, d, rettype=0)", "ts_resid(y, x, d)", only={"rettype": 0}),
    Word("ts_regression(y, x, d, rettype)", "ts_beta(y, x, d)", only={"rettype": 2}),
    Word("ts_regression(y, x, d, rettype)", "y - ts_resid(y, x, d)", only={"rettype": 3}),
    Word("ts_regression(y, x, d, rettype)", "ts_rsq(y, x, d)", only={"rettype": 6}),
    Word("ts_backfill(x, d)", "ts_backfill(x, d)"),
    Word("ts_count_nans(x, d)", "ts_count(is_nan(x), d)"),
    Word("last_diff_value(x, d)", "last_diff(x)", "reaches back without bound: d is left out"),
    Word("days_from_last_change(x)", "days_from_change(x)"),
)

_DAY = (
    Word("rank(x)", "cs_rank(x)", _RANK),
    Word("rank(x, rate)", "cs_rank(x)", _RANK + "; rate is how exactly it sorts, here always exactly"),
    Word("zscore(x)", "cs_zscore(x)"),
    Word("normalize(x)", "cs_demean(x)"),
    Word("scale(x, scale=1)", "cs_scale(x, scale)", _SCALE),
    Word("winsorize(x, std=4)", "cs_winsorize(x, std)"),
    Word("quantile(x)", "cs_quantile_transform(x)", "of (rank - 0.5) / count; BRAIN shifts the ranks by 1 / count"),
    Word("regression_neut(y, x)", "cs_resid(y, x)"),
)

_GROUPS = (
    Word("indneutralize(x, g)", "group_neutralize(x, g)", _NEUTRAL),
    Word("group_neutralize(x, g)", "cs_demean(x)", "the market is one group", only={"g": "market"}),
    Word("group_neutralize(x, g)", "group_neutralize(x, g)", _NEUTRAL),
    Word("group_rank(x, g)", "cs_rank(x)", "the market is one group", only={"g": "market"}),
    Word("group_rank(x, g)", "group_rank(x, g)"),
    Word("group_zscore(x, g)", "cs_zscore(x)", "the market is one group", only={"g": "market"}),
    Word("group_zscore(x, g)", "group_zscore(x, g)"),
    Word("group_scale(x, g)", "group_scale(x, g)", "over the sum of |x|; BRAIN maps the group to 0 .. 1"),
    Word("group_normalize(x, g)", "group_scale(x, g)"),
    Word("group_mean(x, weight, g)", "group_mean(x, g)", only={"weight": 1}),
    Word("group_sum(x, g)", "group_sum(x, g)"),
    Word("group_std_dev(x, g)", "group_std(x, g)"),
    Word("group_count(x, g)", "group_count(x, g)"),
    Word("group_backfill(x, g, d)", "group_backfill(x, g, d)"),
    Word("group_backfill(x, g, d, std)", "group_backfill(x, g, d)", only={"std": 4}),
)

_AVERAGE_VOLUME = re.compile(r"adv([0-9]+)")
_COMPARED = frozenset(row.name for row in OPERATORS.values() if row.family is Family.COMPARISON)


def _leaf(name: str) -> Leaf:
    average = _AVERAGE_VOLUME.fullmatch(name)
    if average:
        days = int(average[1])
        return Leaf("formula", f"adv({days})", f"{_TRADED}; in shares it is adv_shares({days})")
    if name.startswith("indclass."):
        return Leaf("group", name.removeprefix("indclass."))
    return Leaf("field", name)


WORLDQUANT = Dialect(
    "worldquant",
    infix={
        **native_infix("and", "or"),
        "^": Infix(OPERATORS["pow"], OPERATORS["pow"].precedence, right=True),
        "&&": Infix(OPERATORS["and"], OPERATORS["and"].precedence),
        "||": Infix(OPERATORS["or"], OPERATORS["or"].precedence),
    },
    prefix={sign: (OPERATORS[name], OPERATORS["neg"].precedence) for sign, name in (("-", "neg"), ("!", "not"))},
    lexicon=Lexicon(
        symbols=("**", "<=", ">=", "==", "!=", "&&", "||", *"+-*/<>=(),?:^!"),
        name=r"(?:[Ii]nd[Cc]lass\.)?[A-Za-z_][A-Za-z0-9_]*",
        cased=True,
        folded=True,
        why={**WHY, "&": "logic is spelled &&", "|": "logic is spelled ||", "~": "logic is spelled !"},
    ),
    words=table_of((*_ARITHMETIC, *_LOGIC, *_SERIES, *_DAY, *_GROUPS)),
    leaf=_leaf,
    bare="as in close, adv20 or IndClass.sector",
    floors=True,
    choice=True,
    remarks=((_COMPARED, "a comparison with NaN is NaN, and so is what is chosen by it"),),
)
"""The 101 formulas and BRAIN. Fractional windows are floored, ``adv20`` is in dollars, each with a note."""
