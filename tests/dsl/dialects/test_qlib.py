"""Qlib's words by hand, and against pandas where the meaning is the same."""

import numpy as np
import pandas as pd
import pytest

from alphaswarm.core import ExpressionError, Panel, Reason
from alphaswarm.dsl import evaluate, parse, translate
from alphaswarm.dsl.dialects import QLIB

BY_HAND = {
    "Abs($x)": "abs(x)",
    "Sign($x)": "sign(x)",
    "Log($x)": "log(x)",
    "Power($x, 2)": "x ** 2",
    "Add($x, $y)": "x + y",
    "Sub($x, $y)": "x - y",
    "Mul($x, $y)": "x * y",
    "Div($x, $y)": "x / y",
    "Greater($x, $y)": "max(x, y)",
    "Less($x, $y)": "min(x, y)",
    "Gt($x, $y)": "x > y",
    "Ge($x, $y)": "x >= y",
    "Lt($x, $y)": "x < y",
    "Le($x, $y)": "x <= y",
    "Eq($x, $y)": "x == y",
    "Ne($x, $y)": "x != y",
    "And($x > 0, $y > 0)": "x > 0 and y > 0",
    "Or($x > 0, $y > 0)": "x > 0 or y > 0",
    "Not($x > 0)": "not x > 0",
    "If($x > 0, $x, $y)": "if_else(x > 0, x, y)",
    "Ref($x, 5)": "delay(x, 5)",
    "Delta($x, 5)": "delta(x, 5)",
    "Mean($x, 5)": "ts_mean(x, 5)",
    "Sum($x, 5)": "ts_sum(x, 5)",
    "Std($x, 5)": "ts_std(x, 5)",
    "Var($x, 5)": "ts_var(x, 5)",
    "Skew($x, 5)": "ts_skew(x, 5)",
    "Kurt($x, 5)": "ts_kurt(x, 5)",
    "Max($x, 5)": "ts_max(x, 5)",
    "Min($x, 5)": "ts_min(x, 5)",
    "IdxMax($x, 5)": "5 - ts_argmax(x, 5)",
    "IdxMin($x, 5)": "5 - ts_argmin(x, 5)",
    "Quantile($x, 5, 0.8)": "ts_quantile(x, 5, 0.8)",
    "Med($x, 5)": "ts_median(x, 5)",
    "Mad($x, 5)": "ts_mad(x, 5)",
    "Rank($x, 5)": "ts_rank(x, 5)",
    "Count($x, 5)": "ts_count(not is_nan(x), 5)",
    "Slope($x, 5)": "ts_slope(x, 5)",
    "Rsquare($x, 5)": "ts_slope(x, 5) ** 2 * 2.5 / ts_var(x, 5)",
    "Resi($x, 5)": "x - ts_mean(x, 5) - ts_slope(x, 5) * 2",
    "WMA($x, 5)": "decay_linear(x, 5)",
    "EMA($x, 3)": "ema(x, 3)",
    "Corr($x, $y, 5)": "ts_corr(x, y, 5)",
    "Cov($x, $y, 5)": "ts_cov(x, y, 5)",
}
SIGNS = {
    "$x + $y * 2": "x + y * 2",
    "-$x ** 2": "-x ** 2",
    "($x > $y) & ($x < 5)": "x > y and x < 5",
    "($x > $y) | ($x < 5) & ($y == 1)": "x > y or x < 5 and y == 1",
    "Ref($x, 1)/$x - 1": "delay(x, 1) / x - 1",
    "Mean($x>Ref($x, 1), 5)": "ts_mean(x > delay(x, 1), 5)",
    "IdxMax($high, 20)/20": "(20 - ts_argmax(high, 20)) / 20",
    "Mean(Mean($x, 2), 3)": "ts_mean(ts_mean(x, 2), 3)",
}


@pytest.mark.parametrize(("text", "native"), {**BY_HAND, **SIGNS}.items())
def test_by_hand(text, native):
    expr = parse(text, "qlib")
    assert str(expr) == native
    assert parse(native) is expr


def test_every_word_is_checked():
    assert {text.partition("(")[0] for text in BY_HAND} == set(QLIB.words)


def line(window, what):
    time = np.arange(len(window))
    slope, start = np.polyfit(time, window, 1)
    fitted = start + slope * time
    return {
        "slope": slope,
        "resi": window[-1] - fitted[-1],
        "rsquare": 1 - np.sum((window - fitted) ** 2) / np.sum((window - window.mean()) ** 2),
    }[what]


# What Qlib computes, with its own min_periods: compared where the window is full.
IN_PANDAS = {
    "Abs($x)": lambda x, y: x.abs(),
    "Sign($x)": lambda x, y: np.sign(x),
    "Log($x)": lambda x, y: np.log(x.where(x > 0)),
    "Power($x, 2)": lambda x, y: x**2,
    "Add($x, $y)": lambda x, y: x + y,
    "Sub($x, $y)": lambda x, y: x - y,
    "Mul($x, $y)": lambda x, y: x * y,
    "Div($x, $y)": lambda x, y: x / y,
    "Greater($x, $y)": np.maximum,
    "Less($x, $y)": np.minimum,
    "Gt($x, $y)": lambda x, y: x > y,
    "Ge($x, $y)": lambda x, y: x >= y,
    "Lt($x, $y)": lambda x, y: x < y,
    "Le($x, $y)": lambda x, y: x <= y,
    "Eq($x, $y)": lambda x, y: x == y,
    "Ne($x, $y)": lambda x, y: x != y,
    "And($x > 0, $y > 0)": lambda x, y: (x > 0) & (y > 0),
    "Or($x > 0, $y > 0)": lambda x, y: (x > 0) | (y > 0),
    "Not($x > 0)": lambda x, y: ~(x > 0),
    "If($x > 0, $x, $y)": lambda x, y: x.where(x > 0, y),
    "Ref($x, 5)": lambda x, y: x.shift(5),
    "Delta($x, 5)": lambda x, y: x - x.shift(5),
    "Mean($x, 5)": lambda x, y: x.rolling(5, min_periods=1).mean(),
    "Sum($x, 5)": lambda x, y: x.rolling(5, min_periods=1).sum(),
    "Std($x, 5)": lambda x, y: x.rolling(5, min_periods=1).std(),
    "Var($x, 5)": lambda x, y: x.rolling(5, min_periods=1).var(),
    "Skew($x, 5)": lambda x, y: x.rolling(5, min_periods=1).skew(),
    "Kurt($x, 5)": lambda x, y: x.rolling(5, min_periods=1).kurt(),
    "Max($x, 5)": lambda x, y: x.rolling(5, min_periods=1).max(),
    "Min($x, 5)": lambda x, y: x.rolling(5, min_periods=1).min(),
    "IdxMax($x, 5)": lambda x, y: x.rolling(5, min_periods=1).apply(lambda v: v.argmax() + 1, raw=True),
    "IdxMin($x, 5)": lambda x, y: x.rolling(5, min_periods=1).apply(lambda v: v.argmin() + 1, raw=True),
    "Quantile($x, 5, 0.8)": lambda x, y: x.rolling(5, min_periods=1).quantile(0.8),
    "Med($x, 5)": lambda x, y: x.rolling(5, min_periods=1).median(),
    "Mad($x, 5)": lambda x, y: x.rolling(5, min_periods=1).apply(lambda v: np.abs(v - v.mean()).mean(), raw=True),
    "Rank($x, 5)": lambda x, y: x.rolling(5, min_periods=1).rank(pct=True),
    "Count($x, 5)": lambda x, y: x.rolling(5, min_periods=1).count(),
    "Slope($x, 5)": lambda x, y: x.rolling(5).apply(line, raw=True, args=("slope",)),
    "Rsquare($x, 5)": lambda x, y: x.rolling(5).apply(line, raw=True, args=("rsquare",)),
    "Resi($x, 5)": lambda x, y: x.rolling(5).apply(line, raw=True, args=("resi",)),
    # theirs divides by the number of rows once more
    "WMA($x, 5)": lambda x, y: x.rolling(5).apply(lambda v: np.mean(v * np.arange(1, 6) / 15), raw=True) * 5,
    "EMA($x, 3)": lambda x, y: x.ewm(span=3, min_periods=1).mean(),
    "Corr($x, $y, 5)": lambda x, y: pd.DataFrame({name: x[name].rolling(5).corr(y[name]) for name in x}),
    "Cov($x, $y, 5)": lambda x, y: pd.DataFrame({name: x[name].rolling(5).cov(y[name]) for name in x}),
}


@pytest.mark.parametrize("text", IN_PANDAS)
def test_the_values_are_qlibs_once_the_window_is_full(text):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 60, 3))
    panel = Panel.from_arrays({"x": x, "y": y}, np.datetime64("2020-01-01") + np.arange(60), ["a", "b", "c"])
    found = evaluate(parse(text, "qlib"), panel, engine="reference")
    wanted = np.asarray(IN_PANDAS[text](pd.DataFrame(x), pd.DataFrame(y)), float)
    start = 50 if text.startswith("EMA") else 5  # the weights of the first value are gone by then
    np.testing.assert_allclose(found[start:], wanted[start:], rtol=1e-9, atol=1e-12)


def test_every_value_is_compared():
    assert set(IN_PANDAS) == set(BY_HAND)


def test_a_weighted_mean_stays_within_its_window():
    panel = Panel.from_arrays({"x": [[1.0], [2.0], [3.0]]}, ["2020-01-01", "2020-01-02", "2020-01-03"], ["a"])
    assert evaluate(parse("WMA($x, 3)", "qlib"), panel, engine="reference")[2, 0] == pytest.approx(14 / 6)
    assert "divides by the number of rows once more" in translate("WMA($x, 3)", "qlib").notes[0]


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("close", Reason.DSL_SYNTAX, 1),
        ("Mean(close, 5)", Reason.DSL_SYNTAX, 6),
        ("$Close", Reason.DSL_SYNTAX, 1),
        ("$not", Reason.DSL_SYNTAX, 1),
        ("$$roe", Reason.DSL_SYNTAX, 1),
        ("Ref($close, -2)", Reason.LOOKAHEAD, 13),
        ("Ref($close, -2)/Ref($close, -1) - 1", Reason.LOOKAHEAD, 13),
        ("$close/Ref($close, 0)", Reason.LOOKAHEAD, 20),
        ("Delta($close, -1)", Reason.LOOKAHEAD, 15),
        ("$label", Reason.LOOKAHEAD, 1),
        ("Mean($close, 0)", Reason.DSL_WINDOW, 14),
        ("Mean($close, 0.3)", Reason.DSL_WINDOW, 14),
        ("Mean($close, $open)", Reason.DSL_WINDOW, 14),
        ("Mean($close, 5, 5)", Reason.DSL_ARITY, 1),
        ("1 + Mean()", Reason.DSL_ARITY, 5),
        ("mean($close, 5)", Reason.DSL_NAME, 1),
        ("cs_rank($close)", Reason.DSL_NAME, 1),
        ("$close > $open & $volume > 0", Reason.DSL_KIND, 10),
        ("$a < $b < $c", Reason.DSL_SYNTAX, 9),
        ("$a and $b", Reason.DSL_SYNTAX, 4),
        ("~($a > 0)", Reason.DSL_SYNTAX, 1),
        ("not $a > 0", Reason.DSL_SYNTAX, 1),
        ("$a.b", Reason.DSL_SYNTAX, 3),
        ("Mean($close, 5, min_obs=1)", Reason.DSL_ARITY, 1),
        ("If($close, 1, 0)", Reason.DSL_KIND, 4),
        ("ChangeInstrument('SH000300', $close)", Reason.DSL_SYNTAX, 18),
        ("", Reason.DSL_SYNTAX, 1),
    ],
)
def test_refusals_point_into_the_text_that_was_given(text, reason, column):
    with pytest.raises(ExpressionError) as caught:
        parse(text, "qlib")
    assert (caught.value.reason, caught.value.column) == (reason, column)
    assert caught.value.text == text
    assert caught.value.hint


def test_what_differs_is_noted():
    assert translate("$close * 2", "qlib").notes == ()
    assert "min_periods=1" in " ".join(translate("Mean($close, 5)", "qlib").notes)
    assert "false in Qlib" in " ".join(translate("$close > $open", "qlib").notes)
    assert "infinite in Qlib" in " ".join(translate("$close / $open", "qlib").notes)
    assert "oldest row" in translate("IdxMax($close, 5)", "qlib").notes[0]
    twice = translate("IdxMax($close, 5) + IdxMax($open, 5)", "qlib").notes
    assert len(twice) == len(set(twice))


def test_what_grows_in_translation_keeps_the_caps():
    # each Resi repeats its argument three times
    assert parse("Resi(" * 3 + "$x" + ", 3)" * 3, "qlib").nodes < 256
    with pytest.raises(ExpressionError) as caught:
        parse("Resi(" * 12 + "$x" + ", 3)" * 12, "qlib")
    assert caught.value.reason is Reason.DSL_TOO_LARGE
    assert "nodes" in caught.value.message
