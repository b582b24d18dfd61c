"""WorldQuant's words by hand, and against pandas where the meaning is the same."""

import numpy as np
import pandas as pd
import pytest

from alphaswarm.core import ExpressionError, Panel, Reason
from alphaswarm.dsl import evaluate, parse, translate
from alphaswarm.dsl.dialects import WORLDQUANT

BY_HAND = {
    "abs(x)": "abs(x)",
    "add(x, y)": "x + y",
    "add(x, y, z)": "x + y + z",
    "subtract(x, y)": "x - y",
    "multiply(x, y)": "x * y",
    "multiply(x, y, z)": "x * y * z",
    "divide(x, y)": "x / y",
    "inverse(x)": "1 / x",
    "reverse(x)": "-x",
    "sign(x)": "sign(x)",
    "log(x)": "log(x)",
    "s_log_1p(x)": "slog1p(x)",
    "log_diff(x)": "log_return(x, 1)",
    "exp(x)": "exp(x)",
    "sqrt(x)": "sqrt(x)",
    "power(x, y)": "x ** y",
    "SignedPower(x, 2.)": "signed_power(x, 2)",
    "signed_power(x, y)": "signed_power(x, y)",
    "floor(x)": "floor(x)",
    "ceiling(x)": "ceil(x)",
    "round(x)": "round(x)",
    "round_down(x)": "floor(x / 1) * 1",
    "round_down(x, 2)": "floor(x / 2) * 2",
    "fraction(x)": "sign(x) * (abs(x) - floor(abs(x)))",
    "sigmoid(x)": "sigmoid(x)",
    "tanh(x)": "tanh(x)",
    "max(x, 5)": "ts_max(x, 5)",
    "max(x, y)": "max(x, y)",
    "max(x, 0)": "max(x, 0)",
    "max(x, 2.5)": "max(x, 2.5)",
    "max(x, y, z)": "max(x, y, z)",
    "max(x, y, z, w)": "max(x, y, z, w)",
    "min(x, 5)": "ts_min(x, 5)",
    "min(x, y)": "min(x, y)",
    "min(x, -1)": "min(x, -1)",
    "min(x, y, z)": "min(x, y, z)",
    "min(x, y, z, w)": "min(x, y, z, w)",
    "and(x > 0, y > 0)": "x > 0 and y > 0",
    "or(x > 0, y > 0)": "x > 0 or y > 0",
    "not(x > 0)": "not x > 0",
    "equal(x, y)": "x == y",
    "not_equal(x, y)": "x != y",
    "greater(x, y)": "x > y",
    "greater_equal(x, y)": "x >= y",
    "less(x, y)": "x < y",
    "less_equal(x, y)": "x <= y",
    "if_else(x > 0, x, y)": "if_else(x > 0, x, y)",
    "is_nan(x)": "is_nan(x)",
    "is_not_nan(x)": "not is_nan(x)",
    "trade_when(x, y, z)": "trade_when(x > 0, y, z > 0)",
    "trade_when(x > y, y, -1)": "trade_when(x > y, y, 0)",
    "hump(x)": "hump(x, 0.01)",
    "hump(x, hump=0.1)": "hump(x, 0.1)",
    "clamp(x, -1, 1)": "clip(x, -1, 1)",
    "clamp(x, lower=-1, upper=1)": "clip(x, -1, 1)",
    "delay(x, 5)": "delay(x, 5)",
    "ts_delay(x, 5)": "delay(x, 5)",
    "delta(x, 5)": "delta(x, 5)",
    "ts_delta(x, 5)": "delta(x, 5)",
    "ts_returns(x, 5)": "pct_change(x, 5)",
    "ts_returns(x, 5, mode=1)": "pct_change(x, 5)",
    "ts_returns(x, 5, mode=2)": "delta(x, 5) / ((x + delay(x, 5)) / 2)",
    "sum(x, 5)": "ts_sum(x, 5)",
    "ts_sum(x, 5)": "ts_sum(x, 5)",
    "ts_mean(x, 5)": "ts_mean(x, 5)",
    "product(x, 5)": "ts_product(x, 5)",
    "ts_product(x, 5)": "ts_product(x, 5)",
    "stddev(x, 5)": "ts_std(x, 5)",
    "ts_std_dev(x, 5)": "ts_std(x, 5)",
    "ts_skewness(x, 5)": "ts_skew(x, 5)",
    "ts_kurtosis(x, 5)": "ts_kurt(x, 5)",
    "ts_moment(x, 5, k=3)": "ts_moment(x, 5, 3)",
    "ts_entropy(x, 5)": "ts_entropy(x, 5)",
    "ts_min(x, 5)": "ts_min(x, 5)",
    "ts_max(x, 5)": "ts_max(x, 5)",
    "Ts_ArgMax(x, 5)": "ts_argmax(x, 5)",
    "Ts_ArgMin(x, 5)": "ts_argmin(x, 5)",
    "ts_arg_max(x, 5)": "ts_argmax(x, 5)",
    "ts_arg_min(x, 5)": "ts_argmin(x, 5)",
    "Ts_Rank(x, 5)": "ts_rank(x, 5)",
    "ts_rank(x, 5, constant=1)": "ts_rank(x, 5) + 1",
    "ts_zscore(x, 5)": "ts_zscore(x, 5)",
    "ts_scale(x, 5)": "ts_scale(x, 5)",
    "ts_scale(x, 5, constant=1)": "ts_scale(x, 5) + 1",
    "ts_median(x, 5)": "ts_median(x, 5)",
    "ts_percentage(x, 5)": "ts_quantile(x, 5, 0.5)",
    "ts_percentage(x, 5, percentage=0.3)": "ts_quantile(x, 5, 0.3)",
    "ts_ir(x, 5)": "ts_ir(x, 5)",
    "ts_av_diff(x, 5)": "ts_av_diff(x, 5)",
    "ts_max_diff(x, 5)": "ts_max_diff(x, 5)",
    "ts_min_diff(x, 5)": "ts_min_diff(x, 5)",
    "ts_min_max_cps(x, 5)": "ts_min(x, 5) + ts_max(x, 5) - 2 * x",
    "ts_min_max_diff(x, 5)": "x - 0.5 * (ts_min(x, 5) + ts_max(x, 5))",
    "decay_linear(x, 5)": "decay_linear(x, 5)",
    "ts_decay_linear(x, 5)": "decay_linear(x, 5)",
    "ts_decay_exp_window(x, 5, factor=0.5)": "decay_exp(x, 5, 0.5)",
    "correlation(x, y, 5)": "ts_corr(x, y, 5)",
    "ts_corr(x, y, 5)": "ts_corr(x, y, 5)",
    "covariance(x, y, 5)": "ts_cov(x, y, 5)",
    "ts_covariance(y, x, 5)": "ts_cov(y, x, 5)",
    "ts_regression(y, x, 5)": "ts_resid(y, x, 5)",
    "ts_regression(y, x, 5, rettype=2)": "ts_beta(y, x, 5)",
    "ts_regression(y, x, 5, rettype=3)": "y - ts_resid(y, x, 5)",
    "ts_regression(y, x, 5, rettype=6)": "ts_rsq(y, x, 5)",
    "ts_backfill(x, 5)": "ts_backfill(x, 5)",
    "ts_count_nans(x, 5)": "ts_count(is_nan(x), 5)",
    "last_diff_value(x, 5)": "last_diff(x)",
    "days_from_last_change(x)": "days_from_change(x)",
    "rank(x)": "cs_rank(x)",
    "rank(x, rate=2)": "cs_rank(x)",
    "zscore(x)": "cs_zscore(x)",
    "normalize(x)": "cs_demean(x)",
    "scale(x)": "cs_scale(x)",
    "scale(x, scale=2)": "cs_scale(x, a=2)",
    "winsorize(x)": "cs_winsorize(x, 4)",
    "winsorize(x, std=3)": "cs_winsorize(x, 3)",
    "quantile(x)": "cs_quantile_transform(x)",
    "regression_neut(y, x)": "cs_resid(y, x)",
    "IndNeutralize(x, IndClass.subindustry)": "group_neutralize(x, subindustry)",
    "indneutralize(x, sector)": "group_neutralize(x, sector)",
    "group_neutralize(x, market)": "cs_demean(x)",
    "group_neutralize(x, sector)": "group_neutralize(x, sector)",
    "group_rank(x, market)": "cs_rank(x)",
    "group_rank(x, sector)": "group_rank(x, sector)",
    "group_zscore(x, market)": "cs_zscore(x)",
    "group_zscore(x, sector)": "group_zscore(x, sector)",
    "group_scale(x, sector)": "group_scale(x, sector)",
    "group_normalize(x, sector)": "group_scale(x, sector)",
    "group_mean(x, 1, sector)": "group_mean(x, sector)",
    "group_sum(x, sector)": "group_sum(x, sector)",
    "group_std_dev(x, sector)": "group_std(x, sector)",
    "group_count(x, sector)": "group_count(x, sector)",
    "group_backfill(x, sector, 5)": "group_backfill(x, sector, 5)",
    "group_backfill(x, sector, 5, std=4)": "group_backfill(x, sector, 5)",
}
SIGNS = {
    "x > 0 ? y : z": "if_else(x > 0, y, z)",
    "x > 0 ? y : y > 0 ? z : w": "if_else(x > 0, y, if_else(y > 0, z, w))",
    "x > 0 ? y > 0 ? z : w : x": "if_else(x > 0, if_else(y > 0, z, w), x)",
    "(x < y ? 1 : -1) * z": "if_else(x < y, 1, -1) * z",
    "max(x > 0 ? y : z, w)": "max(if_else(x > 0, y, z), w)",
    "x > 0 || y > 0 && z > 0 ? y : z + 1": "if_else(x > 0 or y > 0 and z > 0, y, z + 1)",
    "!(x > 0) && y > 0": "not x > 0 and y > 0",
    "x ^ 2 ^ y": "x ** 2 ** y",
    "-x ^ 2": "-x ** 2",
    "-1 * x": "-1 * x",
    "(-1 * 1) * x": "-1 * 1 * x",
    "adv20": "ts_mean(dollar_volume, 20)",
    "ADV20 / Volume": "ts_mean(dollar_volume, 20) / volume",
    "rank((x)^rank(y))": "cs_rank(x ** cs_rank(y))",
    "high - low + .001": "high - low + 0.001",
}


@pytest.mark.parametrize(("text", "native"), {**BY_HAND, **SIGNS}.items())
def test_by_hand(text, native):
    expr = parse(text, "worldquant")
    assert str(expr) == native
    assert parse(native) is expr


def test_every_row_is_checked():
    checked = [text.partition("(")[0].lower() for text in BY_HAND]
    for name, rows in WORLDQUANT.words.items():
        assert checked.count(name) >= len(rows), name


SECTORS = np.array([0, 0, 1, 1])


def frame(x):
    return pd.DataFrame(x)


def weighted(window):
    weights = np.arange(1, len(window) + 1)
    return window @ weights / weights.sum()


# The paper's definitions of functions, in pandas; the columns are stocks a, b | c, d by sector.
IN_PANDAS = {
    "rank(x)": lambda x, y: x.rank(axis=1, pct=True),
    "scale(x, 2)": lambda x, y: 2 * x.div(x.abs().sum(axis=1), axis=0),
    "zscore(x)": lambda x, y: x.sub(x.mean(axis=1), axis=0).div(x.std(axis=1), axis=0),
    "normalize(x)": lambda x, y: x.sub(x.mean(axis=1), axis=0),
    "indneutralize(x, sector)": lambda x, y: x - x.T.groupby(SECTORS).transform("mean").T,
    "group_rank(x, sector)": lambda x, y: x.T.groupby(SECTORS).rank(pct=True).T,
    "delay(x, 5)": lambda x, y: x.shift(5),
    "delta(x, 5)": lambda x, y: x.diff(5),
    "sum(x, 5)": lambda x, y: x.rolling(5).sum(),
    "ts_mean(x, 5)": lambda x, y: x.rolling(5).mean(),
    "product(x, 5)": lambda x, y: x.rolling(5).apply(np.prod, raw=True),
    "stddev(x, 5)": lambda x, y: x.rolling(5).std(),
    "ts_min(x, 5)": lambda x, y: x.rolling(5).min(),
    "max(x, 5)": lambda x, y: x.rolling(5).max(),
    "max(x, y)": np.maximum,
    "ts_rank(x, 5)": lambda x, y: x.rolling(5).rank(pct=True),
    "ts_argmax(x, 5)": lambda x, y: x.rolling(5).apply(lambda v: 4 - v.argmax(), raw=True),
    "ts_argmin(x, 5)": lambda x, y: x.rolling(5).apply(lambda v: 4 - v.argmin(), raw=True),
    "decay_linear(x, 5)": lambda x, y: x.rolling(5).apply(weighted, raw=True),
    "correlation(x, y, 5)": lambda x, y: frame({name: x[name].rolling(5).corr(y[name]) for name in x}),
    "covariance(x, y, 5)": lambda x, y: frame({name: x[name].rolling(5).cov(y[name]) for name in x}),
    "signedpower(x, 2)": lambda x, y: np.sign(x) * x.abs() ** 2,
    "x > y ? x : -1": lambda x, y: x.where(x > y, -1),
    "ts_zscore(x, 5)": lambda x, y: (x - x.rolling(5).mean()) / x.rolling(5).std(),
    "ts_skewness(x, 5)": lambda x, y: x.rolling(5).skew(),
    "ts_kurtosis(x, 5)": lambda x, y: x.rolling(5).kurt(),
    "ts_median(x, 5)": lambda x, y: x.rolling(5).median(),
    "ts_percentage(x, 5, 0.3)": lambda x, y: x.rolling(5).quantile(0.3),
    "fraction(x)": lambda x, y: np.sign(x) * np.modf(np.abs(x))[0],
}


@pytest.mark.parametrize("text", IN_PANDAS)
def test_the_values_are_those_of_the_paper(text):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 30, 4))
    dates = np.datetime64("2020-01-01") + np.arange(30)
    panel = Panel.from_arrays({"x": x, "y": y}, dates, list("abcd"), groups={"sector": ["u", "u", "v", "v"]})
    found = evaluate(parse(text, "worldquant"), panel, engine="reference")
    wanted = np.asarray(IN_PANDAS[text](frame(x), frame(y)), float)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


def test_the_documented_example_of_linear_decay():
    values = np.array([6.0, 5, 4, 5, 30])[:, None]
    panel = Panel.from_arrays({"x": values}, np.datetime64("2020-01-01") + np.arange(5), ["a"])
    assert evaluate(parse("ts_decay_linear(x, 5)", "worldquant"), panel, engine="reference")[4, 0] == pytest.approx(
        13.2
    )


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("rank(", Reason.DSL_SYNTAX, 6),
        ("rank()", Reason.DSL_ARITY, 1),
        ("rank(x, 1, 2)", Reason.DSL_ARITY, 1),
        ("scale(x, longscale=2)", Reason.DSL_ARITY, 1),
        ("scale(x, 2, scale=2)", Reason.DSL_ARITY, 1),
        ("ts_regression(y, x, 5, rettype=1)", Reason.DSL_CONSTANT, 1),
        ("group_mean(x, volume, sector)", Reason.DSL_CONSTANT, 1),
        ("cs_rank(x)", Reason.DSL_NAME, 1),
        ("delay(x, -1)", Reason.LOOKAHEAD, 10),
        ("delay(x, -1.5)", Reason.LOOKAHEAD, 10),
        ("sum(x, y)", Reason.DSL_WINDOW, 8),
        ("sum(x, 0)", Reason.DSL_WINDOW, 8),
        ("sum(x, 1000)", Reason.DSL_WINDOW, 8),
        ("stddev(x, 1.9)", Reason.DSL_WINDOW, 11),
        ("adv0", Reason.DSL_WINDOW, 1),
        ("adv600", Reason.DSL_WINDOW, 1),
        ("x ? 1 : 2", Reason.DSL_KIND, 1),
        ("!x > 0", Reason.DSL_KIND, 2),
        ("x > 0 ? 1", Reason.DSL_SYNTAX, 7),
        ("(x > 0 ? 1) : 2", Reason.DSL_SYNTAX, 8),
        ("x : 1", Reason.DSL_SYNTAX, 3),
        ("x > 0 ? 1 : 2 : 3", Reason.DSL_SYNTAX, 15),
        ("max(x > 0 ? 1, 2)", Reason.DSL_SYNTAX, 11),
        ("IndClass.sector * 2", Reason.DSL_KIND, 1),
        ("indneutralize(x, IndClass.)", Reason.DSL_SYNTAX, 26),
        ("indneutralize(x, y + 1)", Reason.DSL_KIND, 18),
        ("IndClass.or", Reason.DSL_SYNTAX, 1),
        ("x.shift", Reason.DSL_SYNTAX, 2),
        ("x & y", Reason.DSL_SYNTAX, 3),
        ("x and y", Reason.DSL_SYNTAX, 3),
        ("close; open", Reason.DSL_SYNTAX, 6),
        ("future_x", Reason.LOOKAHEAD, 1),
        ("bucket(rank(x), range='0, 1, 0.1')", Reason.DSL_SYNTAX, 23),
        ("2 ^ !(x > 0)", Reason.DSL_SYNTAX, 5),
        ("1 < 2 < x", Reason.DSL_SYNTAX, 7),
    ],
)
def test_refusals_point_into_the_text_that_was_given(text, reason, column):
    with pytest.raises(ExpressionError) as caught:
        parse(text, "worldquant")
    assert (caught.value.reason, caught.value.column) == (reason, column)
    assert caught.value.text == text
    assert caught.value.hint


def test_a_refusal_says_how_the_word_is_read():
    with pytest.raises(ExpressionError, match=r"stddev\(x, d\) is read as ts_std\(x, d\)"):
        parse("stddev(x, 1)", "worldquant")
    with pytest.raises(ExpressionError, match=r"or ts_regression\(y, x, d, 2\)"):
        parse("ts_regression(y, x, 5, 9)", "worldquant")


def test_choices_are_noted():
    notes = " ".join(translate("rank(Ts_ArgMax(adv20, 5.7)) > max(x, 5) ? x : y", "worldquant").notes)
    for choice in (
        "(0, 1]; BRAIN ranks from 0 to 1",
        "count from the oldest row",
        "in money, as the paper defines it",
        "column 23: 5.7 rows are read as 5",
        "is a window",
        "NaN is NaN",
    ):
        assert choice in notes
    assert translate("close * 2", "worldquant").notes == ()


def test_a_whole_number_written_with_a_point_is_no_choice():
    assert str(parse("sum(x, 5.)", "worldquant")) == "ts_sum(x, 5)"
    assert translate("sum(x, 5.0)", "worldquant").notes == ()
