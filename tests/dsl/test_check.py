"""The checker: kinds, windows, causality, constants, and a panel's names."""

import numpy as np
import pytest

from alphaswarm.core import ExpressionError, FieldNotFound, Panel, Reason, UnknownField
from alphaswarm.dsl import bind, call, check, field, group, number, parse, translate
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import SlotKind

close, volume = field("close"), field("volume")


def panel_of(*names, groups=("sector",)):
    values = np.arange(6.0).reshape(3, 2)
    dates = np.arange("2020-01-01", "2020-01-04", dtype="datetime64[D]")
    labels = {name: ["u", "v"] for name in groups}
    return Panel.from_arrays(dict.fromkeys(names, values), dates, ("a", "b"), groups=labels)


def refused(expr, panel=None):
    with pytest.raises(ExpressionError) as caught:
        check(expr, panel)
    assert caught.value.text == str(expr)
    return caught.value.reason, caught.value.column


def text_refused(text):
    with pytest.raises(ExpressionError) as caught:
        parse(text)
    return caught.value.reason, caught.value.column


def test_a_sound_expression_comes_back():
    expr = parse("cs_rank(-ts_sum(returns, 5))")
    assert check(expr) is expr
    assert check(expr, panel_of("returns")) is expr


@pytest.mark.parametrize(
    ("text", "reason", "column"),
    [
        ("delay(close, 0)", Reason.LOOKAHEAD, 14),
        ("delay(close, -1)", Reason.LOOKAHEAD, 14),
        ("delay(close, -1.5)", Reason.LOOKAHEAD, 14),
        ("delta(close, -5)", Reason.LOOKAHEAD, 14),
        ("pct_change(close, 0)", Reason.LOOKAHEAD, 19),
        ("log_return(close, -1)", Reason.LOOKAHEAD, 19),
        ("ts_autocorr(close, 20, -1)", Reason.LOOKAHEAD, 24),
        ("fwd_ret", Reason.LOOKAHEAD, 1),
        ("ts_mean(future_close, 5)", Reason.LOOKAHEAD, 9),
        ("close + label", Reason.LOOKAHEAD, 9),
        ("close + target_5d", Reason.LOOKAHEAD, 9),
        ("group_rank(close, label_group)", Reason.LOOKAHEAD, 19),
        ("delay(close, 505)", Reason.DSL_WINDOW, 14),
        ("delay(close, 1.5)", Reason.DSL_WINDOW, 14),
        ("ts_mean(close, 0)", Reason.DSL_WINDOW, 16),
        ("ts_mean(close, -5)", Reason.DSL_WINDOW, 16),
        ("ts_mean(close, 505)", Reason.DSL_WINDOW, 16),
        ("ts_mean(close, 2.5)", Reason.DSL_WINDOW, 16),
        ("ts_mean(close, 1e3)", Reason.DSL_WINDOW, 16),
        ("ts_std(close, 1)", Reason.DSL_WINDOW, 15),
        ("ts_skew(close, 2)", Reason.DSL_WINDOW, 16),
        ("ts_kurt(close, 3)", Reason.DSL_WINDOW, 16),
        ("ts_slope(close, 2)", Reason.DSL_WINDOW, 17),
        ("ts_resid(close, open, 2)", Reason.DSL_WINDOW, 23),
        ("ema(close, 0)", Reason.DSL_WINDOW, 12),
        ("sma_cn(close, 5, 0)", Reason.DSL_CONSTANT, 18),
        ("sma_cn(close, 5, 6)", Reason.DSL_CONSTANT, 18),
        ("ts_mean(close, 5, min_obs=0)", Reason.DSL_WINDOW, 19),
        ("ts_mean(close, 5, min_obs=6)", Reason.DSL_WINDOW, 19),
        ("ts_mean(close, 5, min_obs=-1)", Reason.DSL_WINDOW, 19),
        ("delay(close, 5, min_obs=3)", Reason.DSL_NAME, 17),
        ("ema(close, 5, min_obs=3)", Reason.DSL_NAME, 15),
        ("ts_quantile(close, 5, 1.1)", Reason.DSL_CONSTANT, 23),
        ("decay_exp(close, 5, 1)", Reason.DSL_CONSTANT, 21),
        ("decay_exp(close, 5, 0)", Reason.DSL_CONSTANT, 21),
        ("hump(close, 0)", Reason.DSL_CONSTANT, 13),
        ("cs_quantile_clip(close, 0.5)", Reason.DSL_CONSTANT, 25),
        ("cs_bucket(close, 1)", Reason.DSL_CONSTANT, 18),
        ("cs_scale(close, a=0)", Reason.DSL_CONSTANT, 17),
        ("clip(close, 2, 1)", Reason.DSL_CONSTANT, 13),
        ("clip(close, open, 1)", Reason.DSL_KIND, 13),
        ("ts_moment(close, 5, 9)", Reason.DSL_CONSTANT, 21),
        ("if_else(close, 1, 2)", Reason.DSL_KIND, 9),
        ("if_else(2, close, 1)", Reason.DSL_KIND, 9),
        ("close and open > 1", Reason.DSL_KIND, 1),
        ("open > 1 or close", Reason.DSL_KIND, 13),
        ("not close", Reason.DSL_KIND, 5),
        ("ts_count(close, 5)", Reason.DSL_KIND, 10),
        ("group_rank(close, 5)", Reason.DSL_KIND, 19),
        ("group_rank(close, -sector)", Reason.DSL_KIND, 19),
        ("5", Reason.DSL_CONSTANT, 1),
        ("1 + 2 * 3", Reason.DSL_CONSTANT, 1),
        ("1 < 2", Reason.DSL_CONSTANT, 1),
        ("close * (1 / 0)", Reason.DSL_CONSTANT, 12),
        ("close + log(0)", Reason.DSL_CONSTANT, 9),
        ("close ** 9 ** 9 ** 9", Reason.DSL_CONSTANT, 12),
        ("close * (1e308 + 1e308)", Reason.DSL_CONSTANT, 16),
        ("ts_mean(5, 5)", Reason.DSL_CONSTANT, 9),
        ("cs_rank(1 + 1)", Reason.DSL_CONSTANT, 9),
        ("group_mean(1, sector) + close", Reason.DSL_CONSTANT, 12),
        ("ts_count(1, 5) + close", Reason.DSL_CONSTANT, 10),
    ],
)
def test_what_breaks_a_rule(text, reason, column):
    assert text_refused(text) == (reason, column)


@pytest.mark.parametrize(
    "text",
    [
        "close > open",
        "ts_sum(close > open, 10)",
        "(close > open) * -1",
        "cs_rank(close > open and volume > 0)",
        "if_else(1, close, open)",
        "trade_when(close > open, 1, 0)",
        "delay(close > open, 1) and close > open",
        "close / 0",
        "log(-close)",
        "delay(close, 504)",
        "ts_std(close, 2)",
        "ts_std(close, 2, min_obs=1)",
        "ts_corr(close, volume, 2)",
        "clip(close, -1, 1)",
        "hump(close, 1e-9)",
        "sma_cn(close, 5, 5)",
        "ts_mean(close, 5) + 0 * 1",
        "max(close, 5)",
    ],
)
def test_what_breaks_none(text):
    assert check(parse(text)) is parse(text)


@pytest.mark.parametrize(
    ("expr", "reason", "column"),
    [
        (call("ts_mean", close, -5), Reason.DSL_WINDOW, 16),
        (call("add", volume, call("delay", close, 0)), Reason.LOOKAHEAD, 23),
        (call("mul", call("add", close, 1), call("ts_mean", close, volume)), Reason.DSL_WINDOW, 30),
        (call("ts_mean", group("sector"), 5), Reason.DSL_KIND, 9),
        (call("group_mean", close, close), Reason.DSL_KIND, 19),
        (call("add", close, field("fwd_x")), Reason.LOOKAHEAD, 9),
        (call("cs_scale", close, a=-1), Reason.DSL_CONSTANT, 1),
        (call("ts_mean", close, 5, min_obs=2.5), Reason.DSL_WINDOW, 1),
        (group("sector"), Reason.DSL_KIND, 1),
        (number(1), Reason.DSL_CONSTANT, 1),
    ],
)
def test_built_trees_are_held_to_the_same_rules(expr, reason, column):
    assert refused(expr) == (reason, column)


def test_no_lag_slot_escapes_the_causality_rule():
    for row in OPERATORS.values():
        for index, slot in enumerate(row.slots):
            if slot.kind is SlotKind.LAG:
                args = [close if one.kind is SlotKind.SERIES else number(5) for one in row.slots]
                for rows in (0, -1, -504):
                    args[index] = number(rows)
                    assert refused(call(row.name, *args))[0] is Reason.LOOKAHEAD


def test_caps_of_built_trees():
    far = close
    for _ in range(6):
        far = call("delay", far, 504)
    with pytest.raises(ExpressionError, match="2520 rows of lookback, got 3024"):
        check(far)
    long = call("max", *[field("z" * 64)] * 70)
    with pytest.raises(ExpressionError, match="4096 bytes"):
        check(long)


def test_fields_that_the_panel_lacks_are_named():
    with pytest.raises(UnknownField) as caught:
        check(parse("close + volum * vwap"), panel_of("close", "volume"))
    error = caught.value
    assert (error.reason, error.column) == (Reason.DSL_FIELD, 9)
    assert "no field 'volum'" in error.message
    assert "close, volume, returns" in error.message
    assert error.hint == "did you mean 'volume'?"
    assert isinstance(error, ExpressionError)
    assert isinstance(error, FieldNotFound)
    assert refused(parse("vwap"), panel_of("close")) == (Reason.DSL_FIELD, 1)


def test_groups_that_the_panel_lacks_are_named():
    assert refused(parse("group_rank(close, industry)"), panel_of("close")) == (Reason.DSL_FIELD, 19)
    with pytest.raises(UnknownField, match="offers none"):
        check(parse("group_rank(close, sector)"), panel_of("close", groups=()))
    with pytest.raises(UnknownField, match="group slot only"):
        check(parse("close + sector"), panel_of("close"))


def test_an_operator_without_its_brackets_is_named():
    with pytest.raises(UnknownField, match=r"write cs_rank\(x\)"):
        check(parse("cs_rank + close"), panel_of("close"))


def test_a_long_list_of_fields_is_cut():
    with pytest.raises(UnknownField, match="and 61 more"):
        check(parse("vwap"), panel_of("close", *[f"f{index}" for index in range(99)]))


def test_returns_come_from_close_where_the_panel_has_none():
    expr = parse("cs_rank(-ts_sum(returns, 5)) + returns")
    derived = bind(check(expr, panel_of("close")), panel_of("close"))
    assert str(derived) == "cs_rank(-ts_sum(pct_change(close, 1), 5)) + pct_change(close, 1)"
    assert derived.lookback == expr.lookback + 1
    assert bind(expr, panel_of("close", "returns")) is expr
    assert bind(close, panel_of("close")) is close
    with pytest.raises(UnknownField):
        check(expr, panel_of("volume"))


# What only a panel can refuse is found in the text that was written, whatever it is written in.
@pytest.mark.parametrize(
    ("dialect", "text", "at"),
    [
        ("native", "cs_rank(  clse )", "clse"),
        ("native", "cs_rank(\tclose)\n + clse", "clse"),
        ("native", "clse + open + clse", "clse"),
        ("native", "open + clse", "open"),
        ("native", "group_mean(close, volum) + volum", "volum"),
        ("native", "group_mean( close,volume )", "volume"),
        ("native", "close +  adv( 20 )", "adv"),
        ("qlib", "Ref($close, 1) +  Mean( $vwap , 5 )", "$vwap"),
        ("qlib", "Mean($vwap, 5) + Ref($clse, 1)", "$vwap"),
        ("qlib", "Rsquare($clos, 5)", "$clos"),
        ("worldquant", "  rank( adv20 ) + vwap", "adv20"),
        ("worldquant", "rank(close) + IndNeutralize(close, IndClass.industry)", "IndClass"),
        ("worldquant", "Close > 0 ? Open : 1", "Open"),
    ],
)
def test_what_a_panel_lacks_is_shown_in_the_text(dialect, text, at):
    for read in (parse, translate):
        with pytest.raises(UnknownField) as caught:
            read(text, dialect, panel_of("close", "volume"))
        error = caught.value
        assert error.text == text
        assert error.column == text.index(at) + 1


def test_a_name_of_a_group_that_stands_as_a_field_is_shown_as_one():
    with pytest.raises(UnknownField, match="it is a group") as caught:
        parse("group_mean(close, sector) + sector", panel=panel_of("close"))
    assert caught.value.column == 29


def test_what_costs_too_much_is_told_with_the_text():
    text = " + ".join(f"Corr($close, $volume, {d})" for d in range(490, 505))
    wide = Panel.from_arrays(
        {name: np.ones((300, 1000)) for name in ("close", "volume")},
        np.datetime64("2020-01-01") + np.arange(300),
        [f"s{n}" for n in range(1000)],
    )
    with pytest.raises(ExpressionError, match="cells x window") as caught:
        parse(text, "qlib", wide)
    assert (caught.value.text, caught.value.column) == (text, 1)
    assert parse("$close", "qlib", wide) is parse("close")
