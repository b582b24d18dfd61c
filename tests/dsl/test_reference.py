"""The engines follow the reference through expressions drawn at random: 20,000 in the slow version.

Each operator is held to the reference on the reference's own inputs. Whole expressions are held by the share of
cells that differ, since rounding before a rank, a comparison or an extreme may turn single cells.
"""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel, make_rng
from alphaswarm.dsl import call, check, field, number, parse, random_expr
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.kernels.single import KERNELS
from alphaswarm.dsl.operators import operators
from alphaswarm.dsl.reference import REFERENCE
from alphaswarm.dsl.signature import Family, SlotKind

FEW_ROWS = 11
SHARE_OF_CELLS = 1e-4
ENGINES = ("numba", "torch")
# A few now, and all of them in blocks that take a minute or so each.
FEW, ALL = (0, 100), (0, 20_000)
BLOCKS = [pytest.param((start, start + 500), marks=pytest.mark.slow) for start in range(*ALL, 500)]
# Their sums run in the order of the symbols.
IN_ORDER = {"cs_resid", "group_backfill"}


def with_short_windows(expr):
    """The same tree with windows and lags of a few rows, so that a small panel fills them."""
    made = {}
    for node in expr.walk():
        if node.kind != "call":
            made[node] = node
            continue
        operator = operators()[node.op]
        args = []
        for index, argument in enumerate(node.args):
            slot = operator.slot(index)
            rows = slot.kind in (SlotKind.WINDOW, SlotKind.LAG)
            short = number(max(argument.value % FEW_ROWS, operator.minimum)) if rows else made[argument]
            args.append(short)
        if node.op == "sma_cn":
            args[2] = number(min(args[2].value, args[1].value))
        options = dict(node.options)
        if "min_obs" in options:
            options["min_obs"] = min(options["min_obs"], int(args[operator.window].value))
        made[node] = call(node.op, *args, **options)
    return check(made[expr])


def drawn(seeds):
    return [with_short_windows(random_expr(make_rng(seed), ["x", "y", "z"], ["g"], max_depth=6)) for seed in seeds]


@pytest.fixture(scope="module")
def market(make_market):
    """x of every size, y with ties, z positive and large; a changing universe and labels."""
    panel, ties = (make_market(11, rows=22, names=6, kind=kind, missing=0.02) for kind in ("normal", "ties"))
    fields = {"x": panel["x"], "y": ties["y"], "z": np.exp(3 * panel["z"] + 10)}
    return Panel.from_arrays(fields, panel.dates, panel.symbols, panel.universe, panel.groups)


class Alone:
    """One call of an expression on the values of its arguments."""

    def __init__(self, node, values, market):
        self.node, self.operator = node, operators()[node.op]
        self.series = {f"x{index}": values[argument] for index, argument in enumerate(node.args) if argument in values}
        self.market = market

    def expr(self, dtype):
        args = []
        for index, argument in enumerate(self.node.args):
            kind = self.operator.slot(index).kind
            if f"x{index}" in self.series:
                # a condition is 0, 1 or NaN already, but in its slot it must look like one
                args.append(call("ne", field(f"x{index}"), 0) if kind is SlotKind.CONDITION else field(f"x{index}"))
            elif self.operator.elementwise and kind is not SlotKind.CONDITION:
                # among cells a literal is as wide as the values
                args.append(number(float(np.dtype(dtype).type(argument.constant))))
            else:
                args.append(argument)
        return call(self.node.op, *args, **dict(self.node.options))

    def panel(self, dtype):
        # membership counts across symbols only: a panel masks its results by it
        across = self.operator.family in (Family.CROSS, Family.GROUP)
        universe = self.market.universe if across else None
        with np.errstate(over="ignore"):
            narrow = {name: one.astype(dtype).astype(float) for name, one in self.series.items()}
        fields = {name: np.where(np.isinf(x), np.nan, x) for name, x in narrow.items()}
        return Panel.from_arrays(fields, self.market.dates, self.market.symbols, universe, self.market.groups)


def literals(node):
    return [int(argument.value) for argument in node.args if argument.kind == "number"]


@pytest.mark.parametrize("seeds", [FEW, *BLOCKS], ids=lambda seeds: f"{seeds[0]}-{seeds[1]}")
def test_every_node_on_the_inputs_of_the_reference(seeds, market, assert_agree):
    values = {field(name): market[name] for name in market.fields}
    seen = set()
    for expr in drawn(range(*seeds)):
        for node in expr.walk():
            if node.kind != "call" or node.constant is not None or node in values:
                continue
            alone = Alone(node, values, market)
            for dtype in ("float64", "float32"):
                panel, one = alone.panel(dtype), alone.expr(dtype)
                true = evaluate(one, panel, engine="reference", dtype=dtype)
                if dtype == "float64":
                    values[node] = true
                for engine in ENGINES:
                    got = evaluate(one, panel, engine=engine, dtype=dtype)
                    series = [panel[name] for name in alone.series]
                    assert_agree(node.op, got, true, series, literals(node), f"{engine} {node}")
            seen.add(node.op)
    assert len(seen) > 80


@pytest.mark.parametrize("seeds", [FEW, pytest.param(ALL, marks=pytest.mark.slow)], ids=lambda seeds: str(seeds[1]))
def test_whole_expressions(seeds, market):
    cells = 0
    differing = dict.fromkeys(ENGINES, 0)
    for expr in drawn(range(*seeds)):
        true = evaluate(expr, market, engine="reference")
        cells += true.size
        for engine in ENGINES:
            same = np.isclose(evaluate(expr, market, engine=engine), true, rtol=1e-9, atol=1e-12, equal_nan=True)
            differing[engine] += same.size - same.sum()
    assert max(differing.values()) <= SHARE_OF_CELLS * cells, differing


def corrupted_after(panel, t):
    """The same past; another future in fields, universe and groups."""
    rng = np.random.default_rng(t)
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


@pytest.mark.parametrize("seeds", [FEW, *BLOCKS], ids=lambda seeds: f"{seeds[0]}-{seeds[1]}")
def test_text_order_of_symbols_and_the_future(seeds, market):
    order = np.array([3, 5, 0, 2, 1, 4])
    permuted = Panel.from_arrays(
        {name: values[:, order] for name, values in market.fields.items()},
        market.dates,
        [market.symbols[n] for n in order],
        market.universe[:, order],
        {name: labels[:, order] for name, labels in market.groups.items()},
    )
    futures = {t: corrupted_after(market, t) for t in (3, 9, 15)}
    cells = differing = 0
    for seed, expr in enumerate(drawn(range(*seeds))):
        assert parse(str(expr)) is expr
        whole = evaluate(expr, market)
        turned = evaluate(expr, permuted)
        if IN_ORDER & {node.op for node in expr.walk()}:
            same = np.isclose(turned, whole[:, order], rtol=1e-9, atol=1e-12, equal_nan=True)
            cells += same.size
            differing += same.size - same.sum()
        else:
            np.testing.assert_array_equal(turned, whole[:, order], err_msg=str(expr))
        t = (3, 9, 15)[seed % 3]
        np.testing.assert_array_equal(evaluate(expr, futures[t])[: t + 1], whole[: t + 1], err_msg=str(expr))
    assert differing <= SHARE_OF_CELLS * cells


def test_tables_say_the_same_names():
    names = {name for name, operator in operators().items() if operator.expands is None}
    assert names == set(REFERENCE) == set(KERNELS)
