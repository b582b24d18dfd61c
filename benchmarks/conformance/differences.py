"""Why another library gives another value: data, so that an unexplained difference is a fault of the script.

A rule is (library, operator, note of the case); "*" stands for any. The first that fits explains the difference, and
a rule that explains nothing is a fault too.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

__all__ = ["ABSENT", "REASONS", "RULES", "reason"]

REASONS: dict[str, str] = {
    "infinite": "Division by 0, logarithm of 0 and overflow give an infinity there; here every infinity is NaN.",
    "power of nothing": "1 ** NaN and NaN ** 0 are 1 there, as in C; here an undefined argument has no power.",
    "power by logarithm": "x ** y is exp(y log x) there: no negative base, and about 12 digits.",
    "short series": "exp and log are polynomials of about 10 digits there.",
    "nan is false": "A comparison with NaN is false there (NaN != x true); here it is NaN, and logic is three-valued.",
    "nan is skipped": "max and min of a value and NaN are the value there; here they are NaN.",
    "nan is a bound": "Clipping NaN gives a bound there.",
    "folded booleans": "add and multiply fold from a boolean there, which loses fractions and missing values.",
    "base 10": "Its s_log_1p is a logarithm of base 10.",
    "ddof 0": "Standard deviation and variance divide by n there, here by n - 1.",
    "min_periods 1": "Its windows start with one row, and missing rows are skipped; here d valid rows are needed.",
    "nan skipped in window": "The window goes on past a missing value there; here it gives NaN by default.",
    "garbage at a hole": "A missing value leaves its running sums without a meaning there.",
    "window not full": "A regression over fewer than d rows gives a value there; here NaN.",
    "flat is 0": "A flat window or an all-zero day is 0 there; here it is undefined, so NaN.",
    "flat by rounding": "A constant window is not recognised: what rounding left is divided by what rounding left.",
    "flat regressor": "A constant regressor gets the solution of smallest norm there; here the slope is undefined.",
    "rows with a hole": "A regression skips rows with a hole and goes on there; here it needs d rows by default.",
    "place of the first": "Of equal values the oldest counts there, and places go from 1 on; here days since, 0 today.",
    "place in the array": "The place is the index in the whole array there; here it is days since, 0 today.",
    "not a share": "The rank is 1 .. d there, here a share of the count.",
    "rank in -1 .. 1": "The rank is scaled to -1 .. 1 there, here to (0, 1].",
    "rank from 0": "The day's smallest has rank 0 and ties take the lowest place there; here average rank / count.",
    "lower ranks share": "Buckets are cut at quantiles of the values, so ties at a cut fall below it there.",
    "nearest": "The quantile is the nearest value there, here linear between neighbours.",
    "weights over d": "Its weights sum to 1, but their products are averaged once more: d times too small.",
    "window ema": "Each value is a weighted mean from the first row on (adjusted), here the recursion from the seed.",
    "no warm-up": "The first values are given out there; here a span must have passed.",
    "ages over a hole": "Weights keep fading across a missing row there; here it leaves the state as it was.",
    "seeded by a mean": "The recursion starts from the mean of the first span there, here from the first value.",
    "nan for good": "After one missing value everything is NaN there.",
    "masked by size": "Correlations are cut off where a standard deviation is below 2e-5 there.",
    "running sums": "What is added is taken away later, so a spike that has left leaves its rounding behind.",
    "no options": "It has no way to ask for fewer rows.",
    "zero base": "A change from 0 is 0 there, here undefined.",
    "infinite base": "A change from 0 is infinite there, here undefined.",
    "group of the missing": "A member without a value gets the group's number there; here it is NaN.",
}

RULES: dict[tuple[str, str, str], str] = {
    # cells
    ("pandas", "pow", "*"): "power of nothing",
    ("qlib", "pow", "*"): "power of nothing",
    ("polars_ta", "pow", "*"): "infinite",
    ("KunQuant", "pow", "*"): "power by logarithm",
    ("KunQuant", "exp", "*"): "short series",
    ("KunQuant", "log", "*"): "short series",
    ("KunQuant", "clip", "*"): "nan is a bound",
    ("*", "div", "*"): "infinite",
    ("polars_ta", "inv", "*"): "infinite",
    ("*", "log", "*"): "infinite",
    ("*", "exp", "*"): "infinite",
    ("polars_ta", "slog1p", "*"): "base 10",
    ("polars_ta", "add", "*"): "folded booleans",
    ("polars_ta", "mul", "*"): "folded booleans",
    ("*", "max", "*"): "nan is skipped",
    ("*", "min", "*"): "nan is skipped",
    **{("*", op, "*"): "nan is false" for op in ("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "if_else")},
    # windows
    ("qlib", "ts_arg*", "*"): "place of the first",
    ("KunQuant", "ts_arg*", "*"): "place of the first",
    ("TA-Lib", "ts_arg*", "*"): "place in the array",
    ("polars_ta", "ts_argmax", "skips a hole"): "no options",
    ("polars_ta", "ts_std", "*"): "ddof 0",
    ("polars_ta", "ts_zscore", "*"): "ddof 0",
    ("polars_ta", "ts_ir", ""): "ddof 0",
    ("polars_ta", "ts_ir", "constant"): "infinite",
    ("TA-Lib", "ts_std", "*"): "ddof 0",
    ("TA-Lib", "ts_var", "*"): "ddof 0",
    ("bottleneck", "ts_std", "a spike has left"): "running sums",
    ("TA-Lib", "ts_min", "a hole"): "nan skipped in window",
    ("TA-Lib", "ts_max", "a hole"): "nan skipped in window",
    ("TA-Lib", "ts_corr", "constant"): "flat is 0",
    ("TA-Lib", "ts_corr", "a hole"): "garbage at a hole",
    ("KunQuant", "ts_slope", "a hole"): "garbage at a hole",
    ("KunQuant", "ts_slope", "a row short"): "window not full",
    ("KunQuant", "ts_rank", "*"): "not a share",
    ("bottleneck", "ts_rank", "*"): "rank in -1 .. 1",
    ("polars_ta", "ts_scale", "*"): "flat is 0",
    ("polars_ta", "ts_quantile", "*"): "nearest",
    ("polars_ta", "ts_corr", "constant"): "flat by rounding",
    ("polars_ta", "ts_beta", "constant"): "flat regressor",
    ("polars_ta", "ts_resid", "constant"): "flat regressor",
    ("polars_ta", "ts_beta", "a hole"): "rows with a hole",
    ("polars_ta", "ts_resid", "a hole"): "rows with a hole",
    ("qlib", "decay_linear", "*"): "weights over d",
    ("qlib", "ts_corr", "tiny scale"): "masked by size",
    ("qlib", "ts_*", "a hole"): "min_periods 1",
    ("qlib", "ts_*", "a row short"): "min_periods 1",
    # memory
    ("qlib", "ema", "*"): "window ema",
    ("pandas", "ema", "a hole"): "ages over a hole",
    ("TA-Lib", "ema", ""): "seeded by a mean",
    ("TA-Lib", "ema", "a hole"): "nan for good",
    ("KunQuant", "ema", "warming up"): "no warm-up",
    ("TA-Lib", "pct_change", "after 0"): "zero base",
    ("*", "pct_change", "after 0"): "infinite base",
    # the day
    ("polars_ta", "cs_rank", "*"): "rank from 0",
    ("polars_ta", "cs_zscore", ""): "ddof 0",
    ("polars_ta", "cs_zscore", "constant"): "flat by rounding",
    ("polars_ta", "cs_winsorize", "*"): "ddof 0",
    ("polars_ta", "cs_scale", "all 0"): "flat is 0",
    ("polars_ta", "cs_bucket", "*"): "lower ranks share",
    ("pandas", "group_*", "*"): "group of the missing",
}

# Known systems with operators of these names that no package index holds, or that run as a service only.
ABSENT: dict[str, str] = {
    "WorldQuant BRAIN": "a service",
    "DolphinDB": "a server under licence",
    "AlphaGen": "no package",
    "AlphaForge": "no package",
    "AlphaAgent / QuantaAlpha": "no package",
    "Vibe-Trading": "no package",
}


def reason(peer: str, op: str, note: str) -> tuple[tuple[str, str, str], str] | None:
    """The rule that explains a difference and the name of its reason, or None."""
    for rule, name in RULES.items():
        if all(fnmatchcase(one, pattern) for one, pattern in zip((peer, op, note), rule, strict=True)):
            return rule, name
    return None
