"""No operator reads a later row, and none cares in which order the symbols stand."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.operators import operators

NAMES = sorted(name for name, operator in operators().items() if operator.expands is None)
ENGINES = ("numba", "reference", "torch")


def corrupted_after(panel, t):
    """The same past; another future in fields, universe and groups."""
    rng = np.random.default_rng(99)
    later = np.arange(panel.shape[0])[:, None] > t
    noise = {name: 1e6 * rng.normal(size=panel.shape) for name in panel.fields}
    noise["x"][-1] = np.nan
    return Panel.from_arrays(
        {name: np.where(later, noise[name], panel[name]) for name in panel.fields},
        panel.dates,
        panel.symbols,
        np.where(later, rng.random(panel.shape) < 0.5, panel.universe),
        {name: np.where(later, "tech", panel.groups[name]) for name in panel.groups},
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", NAMES)
def test_the_future_changes_nothing(name, engine, make_market, apply_operator):
    panel = make_market(7, rows=14, names=4)
    for expr in {apply_operator(name, 3), apply_operator(name, 4, 1)}:
        whole = evaluate(expr, panel, engine=engine)
        for t in (2, 5, 9):
            other = evaluate(expr, corrupted_after(panel, t), engine=engine)
            np.testing.assert_array_equal(other[: t + 1], whole[: t + 1], err_msg=str(expr))
            # and the value of the day is the one that was computed on that day
            np.testing.assert_array_equal(evaluate(expr, panel.head(t + 1), engine=engine), whole[: t + 1])


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 10, 20, 60, 120, 250, 504])
@pytest.mark.parametrize("name", NAMES)
def test_the_future_changes_nothing_in_any_window(name, d, make_market, apply_operator):
    panel = make_market(12, rows=520, names=3, missing=0.01)
    for expr in {apply_operator(name, d), apply_operator(name, d, max(1, d // 2))}:
        whole = evaluate(expr, panel)
        for t in (d - 1, d, 2 * d - 1, 509):
            if t < 519:
                other = evaluate(expr, corrupted_after(panel, t))
                np.testing.assert_array_equal(other[: t + 1], whole[: t + 1], err_msg=str(expr))


@pytest.mark.parametrize("name", NAMES)
def test_symbols_may_stand_in_any_order(name, make_market, apply_operator):
    panel = make_market(8, rows=12, names=6)
    order = np.array([3, 5, 0, 2, 1, 4])
    permuted = replace(
        panel,
        fields=MappingProxyType({field: values[:, order] for field, values in panel.fields.items()}),
        symbols=tuple(panel.symbols[n] for n in order),
        universe=panel.universe[:, order],
        groups=MappingProxyType({group: labels[:, order] for group, labels in panel.groups.items()}),
    )
    expr = apply_operator(name, 3, 2)
    got, expected = evaluate(expr, permuted), evaluate(expr, panel)[:, order]
    if name in ("cs_resid", "group_backfill"):  # their sums run in the order of the symbols
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("name", [name for name in NAMES if operators()[name].family not in ("cross", "group")])
def test_symbols_do_not_meet_in_time_operators(name, make_market, apply_operator):
    panel = make_market(9, rows=12, names=3, partial=False)
    expr = apply_operator(name, 3, 2)
    alone = replace(
        panel,
        fields=MappingProxyType({field: values[:, :1] for field, values in panel.fields.items()}),
        symbols=panel.symbols[:1],
        universe=panel.universe[:, :1],
        groups=MappingProxyType({}),
    )
    np.testing.assert_array_equal(evaluate(expr, alone)[:, 0], evaluate(expr, panel)[:, 0])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", [name for name in NAMES if operators()[name].family in ("cross", "group")])
def test_a_cross_section_sees_members_only(name, engine, make_market, apply_operator):
    panel = make_market(10, rows=10, names=6)
    rng = np.random.default_rng(1)
    outside = replace(
        panel,
        fields=MappingProxyType(
            {
                field: np.where(panel.universe, values, 1e9 * rng.normal(size=panel.shape))
                for field, values in panel.fields.items()
            }
        ),
    )
    expr = apply_operator(name, 3)
    got = evaluate(expr, outside, engine=engine)
    np.testing.assert_array_equal(got, evaluate(expr, panel, engine=engine))
    assert np.isnan(got[~panel.universe]).all()
