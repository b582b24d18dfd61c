"""Inputs small enough for a sheet of paper, and the values that each operator then has, worked out by hand.

A case over time is one symbol, and its value is that of the last row. A case over cells or across the day is one
row of symbols. Nothing here is computed by the engine: it is held to this page by a test.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log, log1p, nan, sqrt, tanh
from statistics import NormalDist

__all__ = ["CASES", "Case"]


@dataclass(frozen=True)
class Case:
    """One operator on one input.

    Attributes:
        op: name of the operator.
        note: what is special about the input, "" for plain.
        text: the expression.
        over: "time", "cells" or "day".
        value: of the last row, or of each symbol.
        fields: name to numbers.
        labels: group of each symbol.
    """

    op: str
    note: str
    text: str
    over: str
    value: tuple[float, ...]
    fields: dict[str, list[float]] = field(default_factory=dict)
    labels: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Name of the case."""
        return f"{self.op}/{self.note}"


# mean 10, deviations -4 -5 -6 -5 20; their squares sum to 502, cubes to 7470, fourth powers to 162802
X = [6.0, 5.0, 4.0, 5.0, 30.0]
# mean 3, deviations -2 0 -1 2 1; squares sum to 10, products with those of X to 24
Y = [1.0, 3.0, 2.0, 5.0, 4.0]
HOLE = [6.0, nan, 4.0, 5.0, 30.0]
FLAT = [0.1] * 5
SHORT = [5.0, 4.0, 5.0, 30.0]
STD = sqrt(502 / 4)


def _time(op: str, text: str, value: float, note: str = "", **fields: list[float]) -> Case:
    return Case(op, note, text, "time", (value,), fields or {"x": X, "y": Y})


def _windows() -> list[Case]:
    skew = sqrt(5 * 4) / 3 * (7470 / 5) / (502 / 5) ** 1.5
    kurt = 4 / (3 * 2) * (6 * (5 * 162802 / 502**2 - 3) + 6)
    plain: dict[str, tuple[str, float, float]] = {
        # text, value on X (and Y), value on a constant
        "ts_sum": ("ts_sum(x, 5)", 50, 0.5),
        "ts_mean": ("ts_mean(x, 5)", 10, 0.1),
        "ts_product": ("ts_product(x, 5)", 18000, 1e-5),
        "ts_std": ("ts_std(x, 5)", STD, 0),
        "ts_var": ("ts_var(x, 5)", 125.5, 0),
        "ts_skew": ("ts_skew(x, 5)", skew, nan),
        "ts_kurt": ("ts_kurt(x, 5)", kurt, nan),
        "ts_min": ("ts_min(x, 5)", 4, 0.1),
        "ts_max": ("ts_max(x, 5)", 30, 0.1),
        "ts_argmax": ("ts_argmax(x, 5)", 0, 0),
        "ts_argmin": ("ts_argmin(x, 5)", 2, 0),
        "ts_rank": ("ts_rank(x, 5)", 1, 0.6),
        "ts_zscore": ("ts_zscore(x, 5)", 20 / STD, nan),
        "ts_scale": ("ts_scale(x, 5)", 1, nan),
        "ts_quantile": ("ts_quantile(x, 5, 0.9)", 20.4, 0.1),
        "ts_median": ("ts_median(x, 5)", 5, 0.1),
        "ts_mad": ("ts_mad(x, 5)", 8, 0),
        "ts_medad": ("ts_medad(x, 5)", 1, 0),
        "ts_ir": ("ts_ir(x, 5)", 10 / STD, nan),
        "ts_av_diff": ("ts_av_diff(x, 5)", 20, 0),
        "ts_max_diff": ("ts_max_diff(x, 5)", 0, 0),
        "ts_min_diff": ("ts_min_diff(x, 5)", 26, 0),
        "decay_linear": ("decay_linear(x, 5)", 13.2, 0.1),
        "decay_exp": ("decay_exp(x, 5, 0.5)", 34.5 / 1.9375, 0.1),
        "ts_entropy": ("ts_entropy(x, 5)", -(0.8 * log(0.8) + 0.2 * log(0.2)), 0),
        "ts_moment": ("ts_moment(x, 5, 3)", 1494, 0),
        "ts_slope": ("ts_slope(x, 5)", 4.8, 0),
        "ts_cov": ("ts_cov(x, y, 5)", 6, 0),
        "ts_corr": ("ts_corr(x, y, 5)", 24 / sqrt(5020), nan),
        "ts_rank_corr": ("ts_rank_corr(x, y, 5)", 1 / sqrt(95), nan),
        "ts_beta": ("ts_beta(y, x, 5)", 24 / 502, nan),
        "ts_resid": ("ts_resid(y, x, 5)", 1 - 24 / 502 * 20, nan),
        "ts_rsq": ("ts_rsq(y, x, 5)", 576 / 5020, nan),
    }
    cases = []
    for op, (text, value, flat) in plain.items():
        cases += [
            _time(op, text, value),
            _time(op, text, flat, "constant", x=FLAT, y=Y),
            _time(op, text, nan, "a hole", x=HOLE, y=Y),
            _time(op, text, nan, "a row short", x=SHORT, y=Y[1:]),
        ]
    return cases


OVER_TIME = [
    *_windows(),
    _time("ts_rank", "ts_rank(x, 5)", 0.8, "ties", x=[3.0, 1, 3, 2, 3]),
    _time("ts_argmax", "ts_argmax(x, 5)", 2, "ties", x=[3.0, 1, 3, 2, 2]),
    _time("ts_argmin", "ts_argmin(x, 5)", 3, "ties", x=[1.0, 1, 3, 2, 2]),
    _time("ts_argmax", "ts_argmax(x, 3, min_obs=1)", 1, "skips a hole", x=[nan, 3.0, 2]),
    _time(
        "ts_corr",
        "ts_corr(x, y, 5)",
        1,
        "tiny scale",
        x=[1e-6, 3e-6, 2e-6, 5e-6, 4e-6],
        y=[2e-6, 6e-6, 4e-6, 1e-5, 8e-6],
    ),
    _time("ts_std", "ts_std(x, 2)", sqrt(0.5), "a spike has left", x=[1e12, 1.0, 2.0]),
    _time("ts_count", "ts_count(x > 5, 5)", 2),
    _time("ts_sumif", "ts_sumif(x, x > 5, 5)", 36),
    _time("ts_autocorr", "ts_autocorr(x, 3, 1)", 8 / sqrt(434 * 2 / 3)),
    _time("delay", "delay(x, 2)", 4),
    _time("delta", "delta(x, 2)", 26),
    _time("pct_change", "pct_change(x, 2)", 6.5),
    _time("pct_change", "pct_change(x, 1)", nan, "after a hole", x=[10.0, nan, 12]),
    _time("pct_change", "pct_change(x, 1)", nan, "after 0", x=[0.0, 12]),
    _time("log_return", "log_return(x, 2)", log(7.5)),
    _time("ts_backfill", "ts_backfill(x, 3)", 5, "", x=[6.0, 5, nan, nan]),
    _time("ts_backfill", "ts_backfill(x, 2)", nan, "too old", x=[6.0, 5, nan, nan]),
    _time("ema", "ema(x, 3)", 17.4375),
    _time("ema", "ema(x, 3)", 5.5, "a hole", x=[2.0, 4, nan, 8]),
    _time("ema", "ema(x, 3)", nan, "warming up", x=[2.0, 4]),
    _time("sma_cn", "sma_cn(x, 3, 1)", 1084 / 81),
    _time("hump", "hump(x, 2)", 7),
    _time("trade_when", "trade_when(x > 5, y, x < 5)", 4),
    _time("trade_when", "trade_when(x > 5, y, x < 5)", nan, "exited", x=X[:4], y=Y[:4]),
    _time("ts_days_since", "ts_days_since(x == 5)", 1),
    _time("last_diff", "last_diff(x)", 5),
    _time("days_from_change", "days_from_change(x)", 2, "", x=[6.0, 5, 5, 5]),
]


def _cells(op: str, text: str, value: list[float], note: str = "", **fields: list[float]) -> Case:
    return Case(op, note, text, "cells", tuple(value), fields)


A, B = [7.0, -2.5, 0.0, nan], [2.0, 0.0, 0.0, 1.0]
OVER_CELLS = [
    _cells("add", "x + y", [9, -2.5, 0, nan], x=A, y=B),
    _cells("sub", "x - y", [5, -2.5, 0, nan], x=A, y=B),
    _cells("mul", "x * y", [14, 0, 0, nan], x=A, y=B),
    _cells("div", "x / y", [3.5, nan, nan, nan], x=A, y=B),
    _cells("neg", "-x", [-7, 2.5, 0, nan], x=A),
    _cells("pow", "x ** y", [8, nan, 0.25, nan, nan], x=[2.0, -8, -2, 0, nan], y=[3.0, 0.5, -2, -1, 0]),
    _cells("inv", "inv(x)", [1 / 7, -0.4, nan, nan], x=A),
    _cells("abs", "abs(x)", [7, 2.5, 0, nan], x=A),
    _cells("sign", "sign(x)", [1, -1, 0, nan], x=A),
    _cells("log", "log(x)", [log(7), nan, nan, nan], x=A),
    _cells("log1p", "log1p(x)", [log(8), nan, 0, nan], x=A),
    _cells("slog1p", "slog1p(x)", [log(8), -log1p(2.5), 0, nan], x=A),
    _cells("exp", "exp(x)", [exp(7), exp(-2.5), 1, nan, nan], x=[*A, 1000.0]),
    _cells("sqrt", "sqrt(x)", [sqrt(7), nan, 0, nan], x=A),
    _cells("floor", "floor(x)", [7, -3, 0, nan], x=A),
    _cells("ceil", "ceil(x)", [7, -2, 0, nan], x=A),
    _cells("round", "round(x)", [0, 2, -2, nan], x=[0.5, 1.5, -2.5, nan]),
    _cells("signed_power", "signed_power(x, 2)", [49, -6.25, 0, nan], x=A),
    _cells("max", "max(x, y)", [7, 0, 0, nan], x=A, y=B),
    _cells("min", "min(x, y)", [2, -2.5, 0, nan], x=A, y=B),
    _cells("clip", "clip(x, -1, 1)", [1, -1, 0, nan], x=A),
    _cells("sigmoid", "sigmoid(x)", [1 / (1 + exp(-7)), 1 / (1 + exp(2.5)), 0.5, nan], x=A),
    _cells("tanh", "tanh(x)", [tanh(7), tanh(-2.5), 0, nan], x=A),
    _cells("lt", "x < y", [0, 1, 0, nan], x=A, y=B),
    _cells("le", "x <= y", [0, 1, 1, nan], x=A, y=B),
    _cells("gt", "x > y", [1, 0, 0, nan], x=A, y=B),
    _cells("ge", "x >= y", [1, 0, 1, nan], x=A, y=B),
    _cells("eq", "x == y", [0, 0, 1, nan], x=A, y=B),
    _cells("ne", "x != y", [1, 1, 0, nan], x=A, y=B),
    _cells("and", "x > 0 and y > 0", [1, 0, nan, 0], x=[1.0, 1, nan, nan], y=[1.0, 0, 1, 0]),
    _cells("or", "x > 0 or y > 0", [1, 1, 1, nan], x=[1.0, 1, nan, nan], y=[1.0, 0, 1, 0]),
    _cells("not", "not x > 0", [0, 1, 1, nan], x=A),
    _cells("if_else", "if_else(x > 0, x, y)", [7, 0, 0, nan], x=A, y=B),
    _cells("is_nan", "is_nan(x)", [0, 0, 0, 1], x=A),
    _cells("fill", "fill(x, y)", [7, -2.5, 0, 1], x=A, y=B),
]


def _day(op: str, text: str, value: list[float], note: str = "", **fields: list[float]) -> Case:
    return Case(op, note, text, "day", tuple(value), fields)


P = [10.0, 20.0, 20.0, 40.0, nan]
NORMAL = NormalDist().inv_cdf
OVER_THE_DAY = [
    _day("cs_rank", "cs_rank(x)", [0.25, 0.625, 0.625, 1, nan], x=P),
    _day("cs_rank01", "cs_rank01(x)", [0, 0.5, 0.5, 1, nan], x=P),
    # mean 22.5, deviations -12.5 -2.5 -2.5 17.5, squares sum to 475
    _day("cs_zscore", "cs_zscore(x)", [d / sqrt(475 / 3) for d in (-12.5, -2.5, -2.5, 17.5)] + [nan], x=P),
    _day("cs_zscore", "cs_zscore(x)", [nan] * 3, "constant", x=[0.1] * 3),
    _day("cs_demean", "cs_demean(x)", [-12.5, -2.5, -2.5, 17.5, nan], x=P),
    _day("cs_scale", "cs_scale(x)", [0.25, -0.75, 0, nan], x=[1.0, -3, 0, nan]),
    _day("cs_scale", "cs_scale(x)", [nan] * 3, "all 0", x=[0.0] * 3),
    _day(
        "cs_winsorize",
        "cs_winsorize(x, 0.5)",
        [22.5 - sqrt(475 / 3) / 2, 20, 20, 22.5 + sqrt(475 / 3) / 2, nan],
        x=P,
    ),
    _day("cs_mad_clip", "cs_mad_clip(x, 1)", [0.0174, 1, 2, 2.9826], x=[0.0, 1, 2, 99]),
    _day("cs_quantile_clip", "cs_quantile_clip(x, 0.25)", [1, 1, 2, 3, 3], x=[0.0, 1, 2, 3, 40]),
    _day("cs_quantile_transform", "cs_quantile_transform(x)", [NORMAL(p / 8) for p in (1, 4, 4, 7)] + [nan], x=P),
    _day("cs_bucket", "cs_bucket(x, 2)", [0, 1, 1, 1, nan], x=P),
    _day("cs_resid", "cs_resid(y, x)", [1 / 6, -1 / 3, 1 / 6, nan], y=[1.0, 2, 4, 9], x=[0.0, 1, 2, nan]),
]

LABELS = ("a", "a", "b", "b", "b", "")
Q = [1.0, 4.0, 10.0, nan, 30.0, 5.0]


def _group(op: str, value: list[float]) -> Case:
    return Case(op, "", f"{op}(x, g)", "day", tuple(value), {"x": Q}, LABELS)


OVER_GROUPS = [
    _group("group_neutralize", [-1.5, 1.5, -10, nan, 10, nan]),
    _group("group_rank", [0.5, 1, 0.5, nan, 1, nan]),
    _group("group_zscore", [-sqrt(0.5), sqrt(0.5), -sqrt(0.5), nan, sqrt(0.5), nan]),
    _group("group_scale", [0.2, 0.8, 0.25, nan, 0.75, nan]),
    _group("group_mean", [2.5, 2.5, 20, nan, 20, nan]),
    _group("group_sum", [5, 5, 40, nan, 40, nan]),
    _group("group_std", [sqrt(4.5), sqrt(4.5), sqrt(200), nan, sqrt(200), nan]),
    _group("group_count", [2, 2, 2, nan, 2, nan]),
    Case("group_backfill", "", "group_backfill(x, g, 1)", "day", (1, 4, 10, 20, 30, nan), {"x": Q}, LABELS),
]

CASES: list[Case] = [*OVER_CELLS, *OVER_TIME, *OVER_THE_DAY, *OVER_GROUPS]
