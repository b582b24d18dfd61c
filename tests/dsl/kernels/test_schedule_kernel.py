"""Stages, buffers and slots of a batch."""

from __future__ import annotations

import pytest

from alphaswarm.core import make_rng
from alphaswarm.dsl import parse, random_expr
from alphaswarm.dsl.kernels.schedule import Schedule
from alphaswarm.dsl.kernels.steps import Lowering


def of(*texts):
    lowering = Lowering()
    return Schedule.of([lowering(parse(text)) for text in texts])


def test_a_chain_in_a_block_needs_no_buffer():
    schedule = of("ts_mean(abs(x + y), 5) * 2")
    assert [event.across for event in schedule.events] == [False]
    assert (schedule.buffer_count, schedule.slot_count) == (0, 2)


def test_a_rank_ends_a_stage():
    schedule = of("ts_mean(cs_rank(x + y), 5)")
    assert [event.across for event in schedule.events] == [False, True, False]
    assert schedule.buffer_count == 2


def test_buffers_return_to_the_pool():
    text = "x"
    for _ in range(10):
        text = f"cs_rank({text} + 1)"
    assert of(text).buffer_count == 2


def test_a_rank_of_a_field_that_is_asked_for_needs_no_buffer():
    assert of("cs_rank(x)").buffer_count == 0


@pytest.mark.parametrize("seed", range(40))
def test_no_value_is_overwritten_while_it_is_needed(seed):
    rng = make_rng(seed)
    lowering = Lowering()
    roots = [lowering(random_expr(rng, ["x", "y"], ["g"], max_depth=6)) for _ in range(3)]
    schedule = Schedule.of(roots)
    buffers, slots = {}, {}
    for event in schedule.events:
        slots.clear()
        for step in event.steps:
            for argument in step.args:
                if not argument.leaf:
                    held = buffers if argument in schedule.buffers else slots
                    place = (schedule.buffers if held is buffers else schedule.slots)[argument]
                    assert held[place] is argument
            if step in schedule.buffers:
                buffers[schedule.buffers[step]] = step
            elif not event.across:
                slots[schedule.slots[step]] = step
