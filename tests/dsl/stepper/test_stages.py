"""A plan cut into stages."""

from __future__ import annotations

import pytest

from alphaswarm.core import make_rng
from alphaswarm.dsl import parse, random_expr
from alphaswarm.dsl.plan import Plan
from alphaswarm.dsl.stepper.stages import Reach, reach_of, stages


def cut(*texts):
    return stages(Plan.of([parse(text) for text in texts]))


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("x + y", Reach(1, 0, False)),
        ("delay(x, 4)", Reach(1, 4, False)),
        ("ts_mean(x, 5)", Reach(5, 5, False)),
        ("ts_autocorr(x, 5, 6)", Reach(5, 15, False)),
        ("ts_backfill(x, 3)", Reach(3, 3, False)),
        ("cs_rank(x)", Reach(1, 0, True)),
        ("group_backfill(x, g, 4)", Reach(4, 4, True)),
    ],
)
def test_the_rows_that_are_read(text, reach):
    assert reach_of(parse(text)) == reach


def test_cells_of_a_level_are_one_stage():
    (stage,) = cut("log(x) * -y", "log(x)")
    assert {str(node) for node in stage.inside} == {"log(x)", "-y", "log(x) * -y"}
    assert {str(node) for node in stage.kept} == {"log(x)", "log(x) * -y"}


def test_equal_windows_of_a_level_are_one_stage():
    found = cut("ts_mean(x, 5) - ts_std(y, 5)", "ts_mean(x, 6)", "ts_mean(ts_mean(x, 5), 5)")
    assert [sorted(map(str, stage.inside)) for stage in found] == [
        ["ts_mean(x, 5)", "ts_std(y, 5)"],
        ["ts_mean(x, 6)"],
        ["ts_mean(x, 5) - ts_std(y, 5)"],
        ["ts_mean(ts_mean(x, 5), 5)"],
    ]


def test_a_memory_stands_alone():
    found = cut("ema(x, 5) + ema(y, 5)")
    assert [(len(stage.inside), stage.reach) for stage in found] == [(1, None), (1, None), (2 - 1, Reach(1, 0, False))]


def test_each_stage_finds_what_it_reads():
    rng = make_rng(3, "stages")
    plan = Plan.of([random_expr(rng, ["x", "y"], ["g"], max_depth=7) for _ in range(80)])
    ready = {node for node in plan.steps if node.kind != "call" or node.constant is not None}
    for stage in stages(plan):
        here = set()
        for node in stage.inside:
            assert set(node.args) <= ready | here
            here.add(node)
        ready |= set(stage.kept)
    assert set(plan.outputs) <= ready
