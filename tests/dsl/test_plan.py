"""The order of a batch, what it shares and what it holds at once."""

from __future__ import annotations

from collections import Counter

from alphaswarm.dsl import parse
from alphaswarm.dsl.plan import SCRATCH, Plan


def test_shared_parts_are_one_step():
    a, b = parse("cs_rank(ts_mean(close, 5))"), parse("-ts_mean(close, 5)")
    plan = Plan.of([a, b, a])
    calls = [str(node) for node in plan.steps if node.kind == "call"]
    assert calls == ["ts_mean(close, 5)", "cs_rank(ts_mean(close, 5))", "-ts_mean(close, 5)"]
    assert plan.uses[parse("ts_mean(close, 5)")] == 2
    assert plan.outputs == {a: (0, 2), b: (1,)}


def test_arguments_stand_before_their_calls():
    plan = Plan.of([parse("(close + open) / (close - open) * close")])
    place = {node: index for index, node in enumerate(plan.steps)}
    assert all(place[argument] < place[node] for node in plan.steps for argument in node.args)


def test_values_are_released_at_their_last_use():
    root = parse("(close + open) * (close + open + 1)")
    plan = Plan.of([root])
    left = Counter(plan.uses)
    alive = set()
    for node in plan.steps:
        alive.add(node)
        alive.difference_update(plan.release(node, left))
    assert alive == set()
    assert not any(left.values())


def test_a_chain_needs_no_more_than_its_link():
    text = "close"
    for _ in range(12):
        text = f"abs({text} + 1)"
    short, long = Plan.of([parse("abs(abs(close + 1) + 1)")]), Plan.of([parse(text)])
    assert long.peak() == short.peak() == 2 + SCRATCH  # one link, its successor and their scratch


def test_every_output_is_counted():
    texts = [f"ts_mean(close, {d})" for d in range(2, 12)]
    assert Plan.of([parse(text) for text in texts]).peak() == 9 + 1 + SCRATCH
