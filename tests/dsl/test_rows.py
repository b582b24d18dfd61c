"""Every property that a row of the table declares, tried in numbers on the reference evaluator."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl import call, evaluate, field, parse
from alphaswarm.dsl.check import call_fault
from alphaswarm.dsl.context import Context
from alphaswarm.dsl.expr import number
from alphaswarm.dsl.kernels.steps import Lowering
from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.reference import REFERENCE
from alphaswarm.dsl.scaling import power_of
from alphaswarm.dsl.signature import Family, Result, Scale, SlotKind, UnitRule
from alphaswarm.dsl.units import unit_of

ROWS = [row for row in OPERATORS.values() if not row.expands]
EVERY = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
KINDS = ("normal", "ties")
WINDOW = 4


def rows(wanted):
    return pytest.mark.parametrize("row", [row for row in ROWS if wanted(row)], ids=lambda row: row.name)


@pytest.fixture
def applied(apply_operator):
    """A row applied to fields x, y, z; exponents are numbers."""

    def apply(row):
        node = apply_operator(row.name, WINDOW, whole=3)
        if row.name in ("pow", "signed_power"):
            return call(row.name, node.args[0], 3)
        return node

    return apply


def changed(panel, change, meta=None):
    fields = {name: change(name, values) for name, values in panel.fields.items()}
    return Panel.from_arrays(fields, panel.dates, panel.symbols, panel.universe, panel.groups, meta)


def scaled(panel, factors):
    return changed(panel, lambda name, values: values * factors.get(name, 1.0))


def values_of(node, panel):
    return evaluate(node, panel, engine="reference")


def follows(before, after, factor):
    """Whether `after` is `before` times `factor`, up to rounding."""
    wanted = before * factor
    size = np.nanmax(np.abs(wanted), initial=0.0, where=~np.isnan(wanted))
    return np.allclose(after, wanted, rtol=1e-9, atol=1e-12 * size, equal_nan=True)


def series_of(node, row):
    """Place and name of the arguments that are series."""
    kinds = [row.slot(index).kind for index in range(len(node.args))]
    return [
        (index, node.args[index].name)
        for index, kind in enumerate(kinds)
        if kind is SlotKind.SERIES and node.args[index].kind == "field"
    ]


# -- scale ---------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("c", [4.0, 0.3])
def test_a_factor_does_what_the_row_says(row, kind, c, make_market, applied):
    node, panel = applied(row), make_market(3, rows=16, names=6, kind=kind)
    before, powers = values_of(node, panel), power_of(node)
    for place, name in series_of(node, row):
        if powers[place] is not None:
            assert follows(before, values_of(node, scaled(panel, {name: c})), c ** powers[place]), name
    together = {Scale.JOINT: 1, Scale.COMPARED: 0}.get(row.scale)
    if together is not None:
        assert follows(before, values_of(node, scaled(panel, dict.fromkeys("xyz", c))), c**together)


@rows(lambda row: row.scale in (Scale.NONE, Scale.JOINT, Scale.COMPARED))
def test_where_no_law_is_declared_there_is_none(row, make_market, applied):
    node, c = applied(row), 2.0
    panels = [make_market(5, rows=16, names=6, kind=kind) for kind in KINDS]
    asked = [{name: c} for _, name in series_of(node, row)]
    if row.scale is Scale.NONE:
        asked.append(dict.fromkeys("xyz", c))
    assert not any(power_of(node))
    for factors in asked:
        for power in (-1, 0, 0.5, 1, 2, 3):
            laws = [follows(values_of(node, p), values_of(node, scaled(p, factors)), c**power) for p in panels]
            assert not all(laws), (factors, power)


def test_powers_of_some():
    assert power_of(parse("x ** y")) == (None, None)
    assert power_of(parse("ts_moment(x, 20, 3)")) == (3.0, None, None)
    assert power_of(parse("ts_product(x, 20)")) == (20.0, None)
    assert power_of(parse("ts_product(x, 20, min_obs=5)")) == (None, None)
    assert power_of(parse("ts_resid(y, x, 20)")) == (1.0, 0.0, None)
    assert power_of(parse("ts_sumif(x, y > 0, 20)")) == (1.0, None, None)
    assert power_of(parse("x + y")) == (None, None)


# -- units ---------------------------------------------------------------------------------------


@rows(lambda row: not row.absolute and row.units is not UnitRule.BARE)
def test_values_follow_their_units(row, make_market, applied):
    """Prices in cents and twice the shares: the result changes as its unit does."""
    node = applied(row)
    alike = row.units in (UnitRule.ALIKE, UnitRule.COMPARED)
    stated = {"x": "price", "y": "price" if alike else "shares", "z": "price"}
    panel = changed(make_market(7, rows=16, names=6), lambda _, values: values, {"units": stated})
    unit = unit_of(node, panel)
    assert unit is not None
    factors = {name: 100.0 if what == "price" else 2.0 for name, what in stated.items()}
    wanted = 100.0**unit.price * 2.0**unit.shares
    assert follows(values_of(node, panel), values_of(node, scaled(panel, factors)), wanted)


# -- signs, order, repetition ------------------------------------------------------------------------


@rows(lambda row: row.odd or row.even)
@pytest.mark.parametrize("kind", KINDS)
def test_signs_pass_or_vanish_to_the_bit(row, kind, make_market, applied):
    node, panel = applied(row), make_market(11, rows=16, names=6, kind=kind)
    before = values_of(node, panel)
    for index in (*row.odd, *row.even):
        after = values_of(node, scaled(panel, {node.args[index].name: -1.0}))
        np.testing.assert_array_equal(after, -before if index in row.odd else before)


@rows(lambda row: row.commutative)
@pytest.mark.parametrize("kind", KINDS)
def test_arguments_change_places_to_the_bit(row, kind, make_market, applied):
    node, panel = applied(row), make_market(13, rows=16, names=6, kind=kind)
    turned = call(row.name, node.args[1], node.args[0], *node.args[2:])
    np.testing.assert_array_equal(values_of(node, panel), values_of(turned, panel))


@rows(lambda row: row.idempotent)
@pytest.mark.parametrize("kind", KINDS)
def test_twice_is_once_to_the_bit(row, kind, make_market, applied):
    node, panel = applied(row), make_market(17, rows=8, names=9, kind=kind)
    np.testing.assert_array_equal(values_of(call(row.name, node, *node.args[1:]), panel), values_of(node, panel))


@rows(lambda row: row.order_only)
@pytest.mark.parametrize("kind", KINDS)
def test_only_the_order_of_the_day_is_read(row, kind, make_market, applied):
    node, panel = applied(row), make_market(19, rows=8, names=9, kind=kind)
    ranked = call(row.name, call("cs_rank", node.args[0]), *node.args[1:])
    np.testing.assert_array_equal(values_of(ranked, panel), values_of(node, panel))


# -- windows -------------------------------------------------------------------------------------


@rows(lambda row: row.window is not None)
def test_a_window_of_one_row(row, make_market, apply_operator):
    panel = make_market(23, rows=8, names=5)
    node = apply_operator(row.name, 1)
    itself = node.args[row.window].value == 1 and series_of(node, row)
    if row.unit:
        assert itself
    if itself:
        same = np.array_equal(values_of(node, panel), values_of(field("x"), panel), equal_nan=True)
        assert same == (row.unit or row.name in ("ema", "sma_cn"))


@rows(lambda row: row.window is not None and row.minimum > 1)
def test_below_the_smallest_window_there_is_no_statistic(row, make_market, apply_operator):
    panel = make_market(29, rows=12, names=8, partial=False, missing=0)
    smallest = apply_operator(row.name, row.minimum)
    assert smallest.args[row.window].value == row.minimum
    if row.name != "ts_resid":  # a line through three points leaves rounding
        assert np.isfinite(values_of(smallest, panel)).any()
    args = [number(row.minimum - 1) if i == row.window else one for i, one in enumerate(smallest.args)]
    fault = call_fault(row, args, {})
    assert fault is not None
    assert fault.index == row.window
    below = [
        panel[one.name] if one.kind == "field" else int(one.value) if row.slot(i).kind.whole else one.value
        for i, one in enumerate(args)
    ]
    assert np.isnan(REFERENCE[row.name](Context(panel.universe), *below)).all()


# -- what is read ----------------------------------------------------------------------------------


def corrupted(panel, rows=slice(None), columns=slice(None), how=lambda x: 3 * x + 7):
    def change(_, values):
        values = values.copy()
        values[rows, columns] = how(values[rows, columns])
        return values

    return changed(panel, change)


@rows(lambda row: row.family is not Family.STATE)
def test_history_before_the_lookback_is_not_read_and_its_last_row_is(row, make_market, applied):
    node = applied(row)
    assert node.lookback is not None
    read = False
    for seed in range(6):
        panel = make_market(seed, rows=16, names=12, kind="ties", partial=False, missing=0.4)
        first = 15 - node.lookback
        last = values_of(node, panel)[-1]
        np.testing.assert_array_equal(values_of(node, corrupted(panel, slice(0, first)))[-1], last)
        for how in (lambda x: 3 * x + 7, lambda x: x * np.nan, lambda x: np.nan_to_num(x) - 2.0):
            read |= not np.array_equal(values_of(node, corrupted(panel, first, how=how))[-1], last, equal_nan=True)
    assert read


@rows(lambda row: row.family is Family.STATE)
def test_state_reaches_back_to_the_first_row(row, applied):
    node = applied(row)
    assert row.recursive
    assert node.lookback is None
    first, rest = {"x": 1.0, "y": 1.0, "z": -1.0}, {"x": 2.0, "y": -1.0, "z": -1.0}
    panel = Panel.from_arrays(
        {name: np.array([[first[name]]] + [[rest[name]]] * 4) for name in first},
        np.datetime64("2020-01-01") + np.arange(5),
        ["s"],
    )
    without = corrupted(panel, 0, how=lambda x: x * np.nan)
    assert not np.array_equal(values_of(node, panel)[-1], values_of(node, without)[-1], equal_nan=True)


@rows(lambda row: row.family not in (Family.CROSS, Family.GROUP))
def test_other_names_are_not_read(row, make_market, applied):
    node, panel = applied(row), make_market(37, rows=12, names=6)
    other = corrupted(panel, columns=slice(1, None))
    np.testing.assert_array_equal(values_of(node, other)[:, 0], values_of(node, panel)[:, 0])


@rows(lambda row: row.family in (Family.CROSS, Family.GROUP))
def test_strangers_are_not_read(row, make_market, applied):
    """Who is no member of the day or has another label changes nothing; another member does."""
    node = applied(row)
    panel = make_market(41, rows=8, names=12, missing=0.1)
    grouped = row.family is Family.GROUP
    read = False
    for column in range(panel.shape[1]):
        values, other = (
            values_of(node, panel),
            values_of(node, corrupted(panel, columns=column, how=lambda x: x * np.nan)),
        )
        labels = panel.groups["g"]
        strange = ~panel.universe[:, [column]] | (grouped & (labels != labels[:, [column]]))
        if row.window is not None:  # a label that changes within the window
            strange &= False
        strange = np.broadcast_to(strange, values.shape).copy()
        strange[:, column] = False
        np.testing.assert_array_equal(other[strange], values[strange])
        rest = ~strange
        rest[:, column] = False
        read |= not np.array_equal(other[rest], values[rest], equal_nan=True)
    assert read


# -- results and kernels -----------------------------------------------------------------------------


@EVERY
def test_a_condition_is_0_or_1_or_nothing(row, make_market, applied):
    panel = make_market(43, rows=12, names=6)
    node = applied(row)
    if row.result is Result.SAME:
        holds = call("gt", field("x"), 0)
        node = call(
            row.name, *(holds if row.slot(i).kind is SlotKind.SERIES else one for i, one in enumerate(node.args))
        )
    assert node.condition == (row.result is not Result.NUMBER)
    values = values_of(node, panel)
    if node.condition:
        assert set(values[~np.isnan(values)].tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("row", OPERATORS.values(), ids=lambda row: row.name)
def test_the_kernel_is_the_one_that_runs(row):
    name = row.expands[0] if row.expands else row.name
    node = next(node for node in parse(row.example).walk() if node.op == name)
    assert Lowering()(node).kernel == row.kernel


@rows(lambda row: row.option("min_obs") is not None)
def test_the_kernel_of_windows_with_missing_rows(row, apply_operator):
    d = max(WINDOW, row.minimum) + 1
    kernel = Lowering()(apply_operator(row.name, d, min_obs=d - 1)).kernel
    assert kernel in (row.kernel, "rolling", "pair_windows")
