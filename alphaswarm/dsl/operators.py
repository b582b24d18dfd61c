"""The one table of operators: names, slots, options, and what the rest of the language reads off them.

Meaning that holds for every row, stated once:

- Values are float64 [T, N] with NaN for "undefined"; an infinity becomes NaN at the operator that made it.
- A window of d rows includes today. With the default ``min_obs`` (= d) it needs d valid rows, so the first
  d - 1 rows are NaN and any NaN inside gives NaN. With ``min_obs=k`` the statistic uses the valid values only
  (weights renormalised) and needs k of them; rows before the panel count as missing.
- An operator that speaks about today's value (rank, zscore, scale, differences) gives NaN where today is NaN.
- A cross-section is the day's members of the universe with a finite value; everyone else gets NaN and does
  not count. Ties take the average rank. A group is a cross-section inside one label; no label gives NaN.
- Comparisons with NaN give NaN. Logic is three-valued: NaN unless the other side decides.

The rows that history reaches back are read off the slots: a window of d needs d - 1 earlier rows, a lag of d
needs d. Operators marked ``recursive`` carry state from the first valid value on, so no finite history is
exact for them; their window still counts as warm-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from alphaswarm.dsl.limits import MAX_WINDOW
from alphaswarm.dsl.rows import (
    LAG,
    MIN_OBS,
    A,
    B,
    C,
    D,
    G,
    X,
    Y,
    comparison,
    cross,
    grouped,
    infix,
    integer,
    memory,
    number,
    pair,
    rolling,
    shorthand,
    unary,
)
from alphaswarm.dsl.signature import Family, Operator, Option, Result, Slot, SlotKind, UnitRule, Work

__all__ = ["OPERATORS", "operators"]

_ELEMENT, _LAG, _WINDOW = Family.ELEMENT, Family.LAG, Family.WINDOW
_CONDITION, _SAME = Result.CONDITION, Result.SAME
_OWN, _ALIKE, _PLAIN, _BARE = UnitRule.SAME, UnitRule.ALIKE, UnitRule.PLAIN, UnitRule.BARE
_PRODUCT, _RATIO, _POWER = UnitRule.PRODUCT, UnitRule.RATIO, UnitRule.POWER

_ARITHMETIC = (
    infix("add", "+", 5, "x + y", _ALIKE, commutative=True),
    infix("sub", "-", 5, "x - y", _ALIKE),
    infix("mul", "*", 6, "x times y", _PRODUCT, commutative=True),
    infix("div", "/", 6, "x / y; NaN where y is 0", _RATIO),
    Operator("neg", (X,), "-x", "-returns", _ELEMENT, _OWN, "unary", symbol="-", precedence=7, odd=(0,)),
    infix(
        "pow", "**", 8, "x to the power y in the reals; NaN for a negative x and a fractional y", _POWER, kernel="power"
    ),
    unary("inv", "1 / x; NaN where x is 0", _RATIO),
    unary("abs", "absolute value", _OWN, idempotent=True, even=True),
    unary("sign", "-1, 0 or 1", _PLAIN, idempotent=True, odd=True),
    unary("log", "natural logarithm; NaN where x <= 0", _PLAIN, "transcendental", absolute=True),
    unary("log1p", "ln(1 + x); NaN where x <= -1", _PLAIN, "transcendental", absolute=True),
    unary("slog1p", "sign(x) ln(1 + |x|)", _PLAIN, "transcendental", absolute=True, odd=True),
    unary("exp", "e to the power x", _BARE, "transcendental"),
    unary("sqrt", "square root; NaN where x < 0", UnitRule.ROOT),
    unary("floor", "largest integer not above x", _OWN, idempotent=True, absolute=True),
    unary("ceil", "smallest integer not below x", _OWN, idempotent=True, absolute=True),
    unary("round", "nearest integer, halves to even", _OWN, idempotent=True, odd=True, absolute=True),
    Operator(
        "signed_power", (X, Y), "sign(x) |x| ** y", "signed_power(returns, 0.5)", _ELEMENT, _POWER, "power", odd=(0,)
    ),
    Operator(
        "max",
        (X, Y),
        "largest, cell by cell; any NaN gives NaN",
        "max(open, close)",
        _ELEMENT,
        _ALIKE,
        "binary",
        variadic=True,
    ),
    Operator(
        "min",
        (X, Y),
        "smallest, cell by cell; any NaN gives NaN",
        "min(open, close)",
        _ELEMENT,
        _ALIKE,
        "binary",
        variadic=True,
    ),
    Operator(
        "clip",
        (X, number("low", float("-inf")), number("high", float("-inf"))),
        "x held between the numbers low and high",
        "clip(returns, -0.1, 0.1)",
        _ELEMENT,
        _OWN,
        "ternary",
        absolute=True,
    ),
    unary("sigmoid", "1 / (1 + exp(-x))", _BARE, "transcendental"),
    unary("tanh", "hyperbolic tangent", _BARE, "transcendental"),
)

_LOGIC = (
    comparison("lt", "<"),
    comparison("le", "<="),
    comparison("gt", ">"),
    comparison("ge", ">="),
    comparison("eq", "==", commutative=True),
    comparison("ne", "!=", commutative=True),
    Operator(
        "and",
        (A, B),
        "0 where either is 0, 1 where both are 1, else NaN",
        "close > open and volume > 0",
        Family.LOGIC,
        _PLAIN,
        "binary",
        result=_CONDITION,
        symbol="and",
        precedence=2,
        commutative=True,
    ),
    Operator(
        "or",
        (A, B),
        "1 where either is 1, 0 where both are 0, else NaN",
        "close > open or volume > 0",
        Family.LOGIC,
        _PLAIN,
        "binary",
        result=_CONDITION,
        symbol="or",
        precedence=1,
        commutative=True,
    ),
    Operator(
        "not",
        (C,),
        "1 where c is 0, 0 where it is 1",
        "not close > open",
        Family.LOGIC,
        _PLAIN,
        "unary",
        result=_CONDITION,
        symbol="not",
        precedence=3,
    ),
    Operator(
        "if_else",
        (C, X, Y),
        "x where c is 1, y where it is 0; NaN where c is NaN",
        "if_else(close > open, volume, -volume)",
        _ELEMENT,
        _ALIKE,
        "ternary",
        result=_SAME,
    ),
    Operator(
        "is_nan",
        (X,),
        "1 where x is NaN, else 0",
        "is_nan(volume)",
        _ELEMENT,
        _PLAIN,
        "unary",
        result=_CONDITION,
        even=(0,),
    ),
    Operator("fill", (X, Y), "x, or y where x is NaN", "fill(returns, 0)", _ELEMENT, _ALIKE, "binary", result=_SAME),
)

_LAGS = (
    Operator("delay", (X, LAG), "x of d rows ago", "delay(close, 5)", _LAG, _OWN, "shift", result=_SAME, odd=(0,)),
    Operator("delta", (X, LAG), "x - delay(x, d)", "delta(close, 5)", _LAG, _OWN, "shift", odd=(0,)),
    Operator(
        "pct_change",
        (X, LAG),
        "x / delay(x, d) - 1; NaN where the earlier value is 0 or missing, never filled",
        "pct_change(close, 5)",
        _LAG,
        _PLAIN,
        "shift",
        even=(0,),
    ),
    Operator("log_return", (X, LAG), "ln(x / delay(x, d))", "log_return(close, 5)", _LAG, _PLAIN, "shift", even=(0,)),
    Operator(
        "ts_backfill",
        (X, D),
        "the last valid x among d rows",
        "ts_backfill(volume, 5)",
        _LAG,
        _OWN,
        "recursive",
        Work.ROWS,
        result=_SAME,
        unit=True,
        odd=(0,),
    ),
)

_WINDOWS = (
    rolling("ts_sum", "sum", _OWN, "block_sums", unit=True, odd=True),
    rolling("ts_mean", "mean", _OWN, "block_sums", unit=True, odd=True),
    rolling("ts_product", "product", _POWER, "block_product", unit=True),
    rolling(
        "ts_std",
        "standard deviation, ddof 1; 0 where constant",
        _OWN,
        "block_spread",
        Work.MOMENTS,
        minimum=2,
        even=True,
    ),
    rolling(
        "ts_var",
        "variance, ddof 1; 0 where constant",
        UnitRule.SQUARE,
        "block_spread",
        Work.MOMENTS,
        minimum=2,
        even=True,
    ),
    rolling(
        "ts_skew",
        "adjusted Fisher-Pearson skewness; NaN where constant",
        _PLAIN,
        "block_shape",
        Work.MOMENTS,
        minimum=3,
        odd=True,
    ),
    rolling(
        "ts_kurt",
        "adjusted excess kurtosis; NaN where constant",
        _PLAIN,
        "block_shape",
        Work.MOMENTS,
        minimum=4,
        even=True,
    ),
    rolling("ts_min", "smallest", _OWN, "block_extremes", unit=True),
    rolling("ts_max", "largest", _OWN, "block_extremes", unit=True),
    rolling("ts_argmax", "days since the largest value, 0 today; the most recent on ties", _PLAIN, "block_extremes"),
    rolling("ts_argmin", "days since the smallest value, 0 today; the most recent on ties", _PLAIN, "block_extremes"),
    rolling("ts_rank", "average-tie rank of today over the count of valid rows, in (0, 1]", _PLAIN, "ts_rank"),
    rolling(
        "ts_zscore",
        "(x - mean) / std, ddof 1; NaN where constant",
        _PLAIN,
        "block_spread",
        Work.MOMENTS,
        minimum=2,
        odd=True,
    ),
    rolling("ts_scale", "(x - min) / (max - min); NaN where flat", _PLAIN, "block_extremes", minimum=2),
    rolling(
        "ts_quantile",
        "quantile q, linear between neighbours",
        _OWN,
        "order_statistic",
        Work.SORTS,
        extra=(number("q", 0, 1),),
        unit=True,
        example="ts_quantile(returns, 20, 0.9)",
    ),
    rolling(
        "ts_median",
        "median; the mean of the middle two where the count is even",
        _OWN,
        "order_statistic",
        Work.SORTS,
        unit=True,
        odd=True,
    ),
    rolling("ts_mad", "mean absolute deviation from the mean", _OWN, "rolling", Work.MOMENTS, even=True),
    rolling("ts_medad", "median absolute deviation from the median", _OWN, "order_statistic", Work.SORTS, even=True),
    rolling(
        "ts_ir", "mean / std, ddof 1; NaN where constant", _PLAIN, "block_spread", Work.MOMENTS, minimum=2, odd=True
    ),
    rolling("ts_av_diff", "x - mean", _OWN, "block_spread", odd=True),
    rolling("ts_max_diff", "x - largest", _OWN, "block_extremes"),
    rolling("ts_min_diff", "x - smallest", _OWN, "block_extremes"),
    rolling("decay_linear", "mean with weights d (today) down to 1 (oldest)", _OWN, "block_decay", unit=True, odd=True),
    rolling(
        "decay_exp",
        "mean with weights f ** age",
        _OWN,
        "block_decay",
        extra=(number("f", 0, 1, open_low=True, open_high=True),),
        unit=True,
        odd=True,
        example="decay_exp(returns, 20, 0.9)",
    ),
    rolling(
        "ts_entropy",
        "entropy (nats) of ten equal bins between smallest and largest; 0 where constant",
        _PLAIN,
        "rolling",
        Work.MOMENTS,
    ),
    rolling(
        "ts_moment",
        "central moment of order k, with 1/d",
        _POWER,
        "block_shape",
        Work.MOMENTS,
        extra=(integer("k", 1, 8),),
        example="ts_moment(returns, 20, 3)",
    ),
    pair("ts_cov", "covariance, ddof 1, over rows valid in both", _PRODUCT, minimum=2, commutative=True, odd=(0, 1)),
    pair(
        "ts_corr",
        "Pearson correlation over rows valid in both, in [-1, 1]; NaN where either is constant",
        _PLAIN,
        minimum=2,
        commutative=True,
        odd=(0, 1),
    ),
    pair(
        "ts_rank_corr",
        "Pearson correlation of average ranks; NaN where constant",
        _PLAIN,
        Work.SORTS,
        "rank_correlation",
        minimum=2,
        commutative=True,
    ),
    pair(
        "ts_beta",
        "slope of y on x with intercept; NaN where x is constant",
        _RATIO,
        minimum=3,
        odd=(0, 1),
        slots=(Y, X, D),
    ),
    pair("ts_resid", "today's residual of y on x with intercept", _OWN, minimum=3, slots=(Y, X, D)),
    pair("ts_rsq", "share of the variance of y explained by x", _PLAIN, minimum=3, slots=(Y, X, D)),
    Operator(
        "ts_slope",
        (Y, D),
        "slope of y on time 0 .. d-1",
        "ts_slope(close, 20)",
        _WINDOW,
        _OWN,
        "block_pairs",
        Work.PAIRS,
        MIN_OBS,
        minimum=3,
        odd=(0,),
    ),
    Operator(
        "ts_autocorr",
        (X, D, Slot("lag", SlotKind.LAG, 1, MAX_WINDOW)),
        "ts_corr(x, delay(x, lag), d)",
        "ts_autocorr(returns, 20, 1)",
        _WINDOW,
        _PLAIN,
        "block_pairs",
        Work.PAIRS,
        MIN_OBS,
        minimum=2,
        even=(0,),
    ),
    Operator(
        "ts_count",
        (C, D),
        "rows where c is 1",
        "ts_count(returns > 0, 20)",
        _WINDOW,
        _PLAIN,
        "block_sums",
        Work.ROWS,
        MIN_OBS,
    ),
    Operator(
        "ts_sumif",
        (X, C, D),
        "sum of x over rows where c is 1; a row counts where both are valid",
        "ts_sumif(volume, returns > 0, 20)",
        _WINDOW,
        _OWN,
        "block_sums",
        Work.ROWS,
        MIN_OBS,
        odd=(0,),
    ),
)

_MEMORIES = (
    memory(
        "ema",
        (X, Slot("span", SlotKind.WINDOW, 1, MAX_WINDOW)),
        "recursive mean, alpha 2 / (span + 1), from the first valid x; NaN for span - 1 rows and where x is NaN; "
        "starts anew after more than span missing rows",
        "ema(close, 12)",
        _OWN,
        odd=True,
    ),
    memory(
        "sma_cn",
        (X, Slot("n", SlotKind.WINDOW, 1, MAX_WINDOW), integer("m", 1, MAX_WINDOW)),
        "recursive mean y = (m x + (n - m) y') / n, m at most n; starts and warms up as ema does with span n",
        "sma_cn(close, 12, 2)",
        _OWN,
        odd=True,
    ),
    memory(
        "ts_days_since", (C,), "days since c was 1, 0 today; NaN until it was", "ts_days_since(returns > 0.05)", _PLAIN
    ),
    memory("last_diff", (X,), "the latest value that differs from today's", "last_diff(close)", _OWN, odd=True),
    memory("days_from_change", (X,), "days since x last changed", "days_from_change(close)", _PLAIN, even=True),
    memory(
        "hump",
        (X, number("h", 0, open_low=True)),
        "moves from its last value toward x by at most h a day; NaN x gives NaN and keeps the state",
        "hump(cs_rank(returns), 0.05)",
        _OWN,
        odd=True,
        absolute=True,
    ),
    memory(
        "trade_when",
        (Slot("trigger", SlotKind.CONDITION), X, Slot("exit", SlotKind.CONDITION)),
        "NaN where exit is 1, else x where trigger is 1, else what it was the day before",
        "trade_when(volume > adv_shares(20), -returns, ts_count(returns > 0, 5) == 5)",
        _OWN,
        result=_SAME,
    ),
)

_CROSS_SECTIONS = (
    cross("cs_rank", "average rank / count, in (0, 1]", _PLAIN, "cs_rank", idempotent=True, order_only=True),
    cross(
        "cs_rank01", "(average rank - 1) / (count - 1), in [0, 1]", _PLAIN, "cs_rank", idempotent=True, order_only=True
    ),
    cross("cs_zscore", "(x - mean) / std, ddof 1; NaN where constant", _PLAIN, odd=True),
    cross("cs_demean", "x - mean", _OWN, odd=True),
    cross(
        "cs_scale",
        "x times a over the sum of |x|; NaN where all are 0",
        _PLAIN,
        options=(Option("a", 1, 0, float("inf"), open_low=True, positional=True),),
        example="cs_scale(returns, a=2)",
        odd=True,
    ),
    cross(
        "cs_winsorize",
        "x held within mean +- k std",
        _OWN,
        extra=(number("k", 0, open_low=True),),
        example="cs_winsorize(returns, 3)",
        odd=True,
    ),
    cross(
        "cs_mad_clip",
        "x held within median +- k * 1.4826 * median absolute deviation",
        _OWN,
        extra=(number("k", 0, open_low=True),),
        example="cs_mad_clip(returns, 3)",
        odd=True,
    ),
    cross(
        "cs_quantile_clip",
        "x held within the linear quantiles q and 1 - q",
        _OWN,
        extra=(number("q", 0, 0.5, open_high=True),),
        example="cs_quantile_clip(returns, 0.01)",
    ),
    cross(
        "cs_quantile_transform", "normal quantile of (average rank - 0.5) / count", _PLAIN, "cs_rank", order_only=True
    ),
    cross(
        "cs_bucket",
        "floor((average rank - 0.5) / count * n), 0 .. n-1",
        _PLAIN,
        "cs_rank",
        extra=(integer("n", 2, 1000),),
        example="cs_bucket(returns, 10)",
        order_only=True,
    ),
    Operator(
        "cs_resid",
        (Y, X),
        "residual of y on every x with intercept; members with a NaN are left out",
        "cs_resid(returns, log(volume))",
        Family.CROSS,
        _OWN,
        "cs_resid",
        Work.DAY,
        variadic=True,
    ),
)

_GROUPS = (
    grouped("group_neutralize", "x - group mean; a group of one gives 0", _OWN, odd=True),
    grouped("group_rank", "average rank / count within the group", _PLAIN, idempotent=True, order_only=True),
    grouped("group_zscore", "(x - group mean) / group std; NaN where constant", _PLAIN, odd=True),
    grouped("group_scale", "x over the group's sum of |x|; NaN where all are 0", _PLAIN, odd=True),
    grouped("group_mean", "mean of the group", _OWN, odd=True),
    grouped("group_sum", "sum of the group", _OWN, odd=True),
    grouped("group_std", "standard deviation of the group, ddof 1", _OWN, even=True),
    grouped("group_count", "members of the group with a valid x", _PLAIN, even=True),
    Operator(
        "group_backfill",
        (X, G, D),
        "x, or where it is NaN the mean of the group's values of d rows, winsorised at 4 std",
        "group_backfill(returns, sector, 5)",
        Family.GROUP,
        _OWN,
        "group_backfill",
        Work.MOMENTS,
        odd=(0,),
    ),
)

_SHORTHANDS = (
    shorthand("adv", "dollar_volume", "average dollar volume: ts_mean(dollar_volume, d)"),
    shorthand("adv_shares", "volume", "average share volume: ts_mean(volume, d)"),
)


def _table(*parts: Iterable[Operator]) -> Mapping[str, Operator]:
    table: dict[str, Operator] = {}
    for operator in (row for part in parts for row in part):
        if operator.name in table:
            raise ValueError(f"operator {operator.name!r} is in the table already")
        table[operator.name] = operator
    return MappingProxyType(table)


OPERATORS = _table(_ARITHMETIC, _LOGIC, _LAGS, _WINDOWS, _MEMORIES, _CROSS_SECTIONS, _GROUPS, _SHORTHANDS)


def operators() -> Mapping[str, Operator]:
    """The table: name to row, read-only, in the order of the documentation.

    A row with `expands` is a shorthand: it never appears in a tree and has no values of its own.
    """
    return OPERATORS
