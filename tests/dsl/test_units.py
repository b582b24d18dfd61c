"""Units: what each rule makes of its arguments, and where mixing them warns."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import Panel
from alphaswarm.dsl import ExprWarning, check, parse, random_expr, warnings_of
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import Result, SlotKind, UnitRule
from alphaswarm.dsl.units import FIELD_UNITS, UNITS, Unit, unit_of

PRICE, SHARES, MONEY, NONE = Unit(price=1), Unit(shares=1), Unit(1, 1), Unit()


def panel(units):
    values = np.ones((2, 2))
    names = ("close", "volume", "eps", "odd")
    dates = ["2020-01-01", "2020-01-02"]
    return Panel.from_arrays(dict.fromkeys(names, values), dates, ["a", "b"], meta={"units": units})


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("close", PRICE),
        ("volume", SHARES),
        ("dollar_volume", MONEY),
        ("close * volume", MONEY),
        ("dollar_volume / volume", PRICE),
        ("returns", NONE),
        ("close / delay(close, 1) - 1", NONE),
        ("pct_change(close, 1)", NONE),
        ("(high * low) ** 0.5", PRICE),
        ("sqrt(high * low)", PRICE),
        ("ts_var(close, 5)", Unit(price=2)),
        ("ts_std(close, 5)", PRICE),
        ("ts_cov(close, volume, 5)", MONEY),
        ("ts_corr(close, volume, 5)", NONE),
        ("ts_beta(volume, close, 5)", Unit(-1, 1)),
        ("ts_moment(close, 5, 3)", Unit(price=3)),
        ("ts_product(close, 2)", Unit(price=2)),
        ("inv(dollar_volume)", Unit(-1, -1)),
        ("close ** -2", Unit(price=-2)),
        ("close ** (1 + 1)", Unit(price=2)),
        ("cs_rank(close)", NONE),
        ("group_mean(close, sector)", PRICE),
        ("decay_linear(close - open, 5)", PRICE),
        ("if_else(close > open, volume, 0)", SHARES),
        ("trade_when(close > open, volume, 0)", SHARES),
        ("max(0, close, 1)", PRICE),
        ("0 * close + 5", PRICE),
        ("ts_argmax(close, 5)", NONE),
        ("log(volume)", NONE),
        ("adv(20)", MONEY),
        ("adv_shares(20)", SHARES),
        ("pe_ratio", None),
        ("pe_ratio * close", None),
        ("pe_ratio + close", PRICE),
        ("close ** volume", None),
        ("returns ** volume", NONE),
    ],
)
def test_what_values_are_in(text, unit):
    assert unit_of(parse(text)) == unit
    assert warnings_of(parse(text)) == ()


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("close + volume", ("price", "shares")),
        ("close - volume", ("price", "shares")),
        ("close > volume", ("price", "shares")),
        ("volume == close", ("shares", "price")),
        ("close + returns", ("price", "a plain number")),
        ("cs_rank(close) - close", ("a plain number", "price")),
        ("adv(20) < volume", ("money", "shares")),
        ("max(close, open, volume)", ("price", "shares")),
        ("if_else(close > open, close, volume)", ("price", "shares")),
        ("fill(close, volume)", ("price", "shares")),
        ("ts_var(close, 5) + close", ("price ** 2", "price")),
        ("exp(close)", ("price", "a plain number")),
        ("sigmoid(volume)", ("shares", "a plain number")),
        ("1 / dollar_volume + close", ("1 / money", "price")),
        ("ts_beta(volume, close, 5) + close", ("shares / price", "price")),
        ("close ** 2 * volume + close", ("price ** 2 x shares", "price")),
        ("1 / (close ** 2 * volume) + close", ("1 / (price ** 2 x shares)", "price")),
    ],
)
def test_mixing_warns(text, units):
    (warning,) = warnings_of(check(parse(text)))
    assert warning.units == units
    assert warning.text in str(parse(text))
    assert str(warning) == f"{warning.rule}, got {units[0]} and {units[1]} in {warning.text}"


def test_each_place_warns_once_and_inner_ones_come_first():
    found = warnings_of(parse("cs_rank(close + volume) + cs_rank(close + volume) > returns + close"))
    assert [warning.text for warning in found] == ["close + volume", "returns + close"] + [
        "cs_rank(close + volume) + cs_rank(close + volume) > returns + close"
    ] * (len(found) - 2)
    assert warnings_of(parse("(close + volume) * 1"))[0] == ExprWarning(
        "+ needs one unit", "close + volume", ("price", "shares")
    )


def test_a_long_part_is_cut():
    (warning,) = warnings_of(parse(f"{' + '.join(['close'] * 30)} + volume"))
    assert len(warning.text) == 80
    assert warning.text.endswith("...")


def test_a_panel_states_the_units_of_its_own_fields():
    assert warnings_of(parse("eps + volume")) == ()
    assert warnings_of(parse("eps + volume"), panel({"eps": "price"}))[0].units == ("price", "shares")
    assert warnings_of(parse("close + volume"), panel({"close": "shares"})) == ()
    assert warnings_of(parse("eps + close"), panel({"eps": "price"})) == ()
    assert warnings_of(parse("close + volume"), panel("nonsense"))[0].units == ("price", "shares")


def test_a_unit_that_there_is_not_is_said_and_not_guessed():
    (warning,) = warnings_of(parse("eps + volume"), panel({"eps": "euro"}))
    assert warning.rule == "a panel states the unit of a field as price, shares, volume, money, return, none"
    assert warning.units == ("'euro'", "no other")
    assert warning.text == "eps"


def test_every_row_has_a_rule_that_fits_it():
    for row in OPERATORS.values():
        series = [slot for slot in row.slots if slot.kind is SlotKind.SERIES]
        if row.units in (UnitRule.PRODUCT, UnitRule.ALIKE, UnitRule.COMPARED):
            assert len(series) == 2, row.name
        if row.units is UnitRule.POWER:
            assert row.slots[-1].kind is not SlotKind.GROUP
        if row.result is Result.CONDITION:
            assert row.units in (UnitRule.PLAIN, UnitRule.COMPARED), row.name
        if row.units is UnitRule.SAME and not row.expands:
            assert series, row.name


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_every_expression_has_an_answer(seed):
    expr = random_expr(np.random.default_rng(seed), [*FIELD_UNITS, "pe_ratio"], ["sector"], max_depth=6)
    for warning in warnings_of(expr):
        assert warning.units[0] != warning.units[1]
    assert unit_of(expr) is None or isinstance(unit_of(expr), Unit)
    assert set(UNITS.values()) == {PRICE, SHARES, MONEY, NONE}
