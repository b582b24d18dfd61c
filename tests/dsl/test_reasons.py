"""Every refusal has a column, a caret under it, the rule, and what would be valid; every reason occurs."""

import numpy as np
import pytest

from alphaswarm.core import ExpressionError, Panel, Reason
from alphaswarm.dsl import check, parse

# text: reason, column, a part of the rule, a part of what would be valid
REFUSED = {
    "": (Reason.DSL_SYNTAX, 1, "got no text", "as in close"),
    "close +": (Reason.DSL_SYNTAX, 8, "expected a value, got the end of the text", "a field"),
    "close open": (Reason.DSL_SYNTAX, 7, "expected an operator, got 'open'", "+ - * /"),
    "(close": (Reason.DSL_SYNTAX, 7, "( of column 1 is not closed", "close it with )"),
    "close)": (Reason.DSL_SYNTAX, 6, ") closes nothing", "leave it out"),
    "close, open": (Reason.DSL_SYNTAX, 6, "only between the arguments of a call", "one formula"),
    "close.x": (Reason.DSL_SYNTAX, 6, "'.' has no place", "no attributes"),
    "close \\ 2": (Reason.DSL_SYNTAX, 7, "has no place", "names, numbers and **"),
    "Close": (Reason.DSL_SYNTAX, 1, "names are lower case", "write close"),
    "__Close": (Reason.DSL_SYNTAX, 1, "names are lower case", "a field's or an operator's name"),
    "__x": (Reason.DSL_SYNTAX, 1, "two underscores", "a field's or an operator's name"),
    "close * 007": (Reason.DSL_SYNTAX, 9, "no leading zeros", "write 7"),
    "close * 5x": (Reason.DSL_SYNTAX, 10, "can't stand in a number", "decimal digits"),
    "1 < close < 2": (Reason.DSL_SYNTAX, 11, "do not chain", "a < b and b < c"),
    "close * not open": (Reason.DSL_SYNTAX, 9, "binds looser", "in parentheses"),
    "x = 5": (Reason.DSL_SYNTAX, 3, "only in an option of a call", "option=number"),
    "ts_mean(close, 5, min_obs=x)": (Reason.DSL_SYNTAX, 27, "must be a number", "min_obs=5"),
    "ts_mean(close, 5, min_obs=2 + 1)": (Reason.DSL_SYNTAX, 29, "expected , or )", "one number"),
    "ts_mean(close, 5, min_obs=2, min_obs=3)": (Reason.DSL_SYNTAX, 30, "given twice", "once"),
    "ts_mean(close, min_obs=2, 5)": (Reason.DSL_SYNTAX, 27, "can't follow an option", "options come last"),
    "cs_scale(close, open)": (Reason.DSL_SYNTAX, 17, "one number literal", "cs_scale(x, a=1)"),
    "cl\u043ese": (Reason.DSL_NON_ASCII, 3, "U+043E", "plain letters"),
    "a" * 65: (Reason.DSL_TOO_LARGE, 1, "at most 64 characters", "name"),
    "-" * 40 + "close": (Reason.DSL_TOO_LARGE, 32, "at most 32 levels", "smaller"),
    "max(" + ", ".join(["close"] * 256) + ")": (Reason.DSL_TOO_LARGE, 1790, "at most 256 nodes", "smaller"),
    "(" * 65 + "close": (Reason.DSL_TOO_LARGE, 65, "at most 64 deep", "smaller"),
    "ts_mean(" * 6 + "close" + ", 504)" * 6: (Reason.DSL_TOO_LARGE, 1, "at most 2520 rows, got 3018", "smaller"),
    "close" * 1000: (Reason.DSL_TOO_LARGE, 4097, "at most 4096 bytes", "smaller"),
    "cs_rnk(close)": (Reason.DSL_NAME, 1, "no operator 'cs_rnk'", "did you mean 'cs_rank'"),
    "stddev(close, 5)": (Reason.DSL_NAME, 1, "no operator", "write ts_std(x, d)"),
    "qqqqqqqq(close)": (Reason.DSL_NAME, 1, "no operator", "alphaswarm alpha operators"),
    "ts_mean(close, 5, min_ob=3)": (Reason.DSL_NAME, 19, "it has min_obs", "did you mean 'min_obs'"),
    "cs_rank(close, zzz=3)": (Reason.DSL_NAME, 16, "it has none", "write cs_rank(x)"),
    "cs_rank()": (Reason.DSL_ARITY, 1, "takes 1 argument, got 0", "write cs_rank(x)"),
    "ts_mean(close)": (Reason.DSL_ARITY, 1, "takes 2 arguments, got 1", "write ts_mean(x, d, min_obs=d)"),
    "max(close)": (Reason.DSL_ARITY, 1, "at least 2 arguments", "write max(x, y, ...)"),
    "if_else(close, 1, 0)": (Reason.DSL_KIND, 9, "c of if_else must be a condition", "x > 0"),
    "group_rank(close, open + 1)": (Reason.DSL_KIND, 19, "bare name of a group", "sector"),
    "ts_quantile(close, 5, open)": (Reason.DSL_KIND, 23, "a number literal", "at least 0 and at most 1"),
    "ts_moment(close, 5, open)": (Reason.DSL_KIND, 21, "an integer literal", "at least 1 and at most 8"),
    "ts_mean(close, 0)": (Reason.DSL_WINDOW, 16, "out of range, got 0", "from 1 to 504"),
    "ts_mean(close, 505)": (Reason.DSL_WINDOW, 16, "out of range, got 505", "from 1 to 504"),
    "ts_mean(close, 2.5)": (Reason.DSL_WINDOW, 16, "integer literal, got 2.5", "from 1 to 504"),
    "ts_mean(close, 5.0)": (Reason.DSL_WINDOW, 16, "integer literal, got 5.0", "digits only"),
    "ts_mean(close, open)": (Reason.DSL_WINDOW, 16, "an integer literal", "from 1 to 504"),
    "ts_kurt(close, 3)": (Reason.DSL_WINDOW, 16, "at least 4 rows", "from 4 to 504"),
    "ts_mean(close, 5, min_obs=6)": (Reason.DSL_WINDOW, 19, "out of range", "from 1 to 5"),
    "ts_mean(close, 5, min_obs=2.0)": (Reason.DSL_WINDOW, 27, "integer literal", "digits only"),
    "1 + 2": (Reason.DSL_CONSTANT, 1, "at least one field", "as in close"),
    "close + 1 / 0": (Reason.DSL_CONSTANT, 11, "finite value", "no division by 0"),
    "close * 1e999": (Reason.DSL_CONSTANT, 9, "fit a float64", "1.8e308"),
    "ts_mean(5, 5)": (Reason.DSL_CONSTANT, 9, "must name a field", "write ts_mean"),
    "clip(close, 2, 1)": (Reason.DSL_CONSTANT, 13, "low <= high", "write clip(x, low, high)"),
    "sma_cn(close, 2, 3)": (Reason.DSL_CONSTANT, 18, "m <= n", "write sma_cn(x, n, m)"),
    "hump(close, 0)": (Reason.DSL_CONSTANT, 13, "out of range", "above 0"),
    "cs_scale(close, a=0)": (Reason.DSL_CONSTANT, 17, "out of range", "above 0"),
    "delay(close, 0)": (Reason.LOOKAHEAD, 14, "look back at least 1 row, got 0", "from 1 to 504"),
    "delta(close, -5)": (Reason.LOOKAHEAD, 14, "look back at least 1 row, got -5", "from 1 to 504"),
    "cs_rank(fwd_5)": (Reason.LOOKAHEAD, 9, "named like a label", "known on the day"),
}
# The same on a panel with the fields close and volume and the group sector.
LACKING = {
    "cs_rank(clse)": (Reason.DSL_FIELD, 9, "no field 'clse'; it offers close, volume, returns", "did you mean 'close'"),
    "pe_ratio": (Reason.DSL_FIELD, 1, "no field 'pe_ratio'", "use a field that it offers"),
    "close + sector": (Reason.DSL_FIELD, 9, "no field 'sector'", "a group slot only"),
    "cs_rank + close": (Reason.DSL_FIELD, 1, "no field 'cs_rank'", "write cs_rank(x)"),
    "group_rank(close, secto)": (Reason.DSL_FIELD, 19, "no group 'secto'; it offers sector", "did you mean 'sector'"),
    "group_rank(close, zzz)": (Reason.DSL_FIELD, 19, "no group 'zzz'", "over the whole day"),
}


def held_to(error, text, wanted):
    reason, column, rule, valid = wanted
    assert (error.reason, error.column) == (reason, column)
    assert rule in error.message
    assert valid in error.hint
    assert error.text == text
    said, shown, caret = error.pointed().split("\n")
    assert said == f"{reason} at column {column}: {error.message}; {error.hint}"
    assert caret.endswith("^")
    if column <= len(text) < 90:
        assert shown[caret.index("^")] == text[column - 1] or not text.isascii()


@pytest.mark.parametrize("text", REFUSED)
def test_each_refusal_says_all(text):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    held_to(caught.value, text, REFUSED[text])


@pytest.mark.parametrize("text", LACKING)
def test_what_a_panel_lacks(text):
    values = np.ones((2, 2))
    dates = ["2020-01-01", "2020-01-02"]
    panel = Panel.from_arrays({"close": values, "volume": values}, dates, ["a", "b"], groups={"sector": ["u", "v"]})
    with pytest.raises(ExpressionError) as caught:
        check(parse(text), panel)
    held_to(caught.value, text, LACKING[text])


def test_every_reason_of_the_language_occurs():
    occurring = {wanted[0] for wanted in (*REFUSED.values(), *LACKING.values())}
    of_text = {reason for reason in Reason if reason.startswith("DSL")} - {Reason.DSL_PROGRAM}
    assert occurring == of_text | {Reason.LOOKAHEAD}
