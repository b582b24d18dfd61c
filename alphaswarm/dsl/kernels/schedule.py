"""`Schedule`: in which order a batch of steps is done, where each value lies, and how much memory that takes.

Steps that stay within a block of stocks are done stage by stage, all of a stage on one block before the next
block, in slots that never leave the cache. A stage ends where a step needs all stocks of a day. Only what such
a step or a later stage reads owns a buffer of the size of the panel; buffers return to a pool after their last
use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from alphaswarm.dsl.kernels.steps import Step

__all__ = ["Event", "Schedule"]


@dataclass(eq=False, slots=True)
class Event:
    """Either one stage on all blocks, or one step across the stocks.

    Attributes:
        steps: in order; one only, where it goes across.
        exports: the steps among them, or leaves, that are asked for.
        across: whether it is a step across the stocks.
    """

    steps: list[Step]
    exports: list[Step] = field(default_factory=list)
    across: bool = False


@dataclass(eq=False, slots=True)
class Schedule:
    """The plan of a batch.

    Attributes:
        events: what to do, in order.
        buffers: number of the panel-sized buffer of each step that owns one.
        slots: number of the block-sized slot of each other step within its stage.
        buffer_count: how many buffers exist.
        slot_count: how many slots a thread needs.
        leaves: fields and groups that are read.
    """

    events: list[Event]
    buffers: dict[Step, int]
    slots: dict[Step, int]
    buffer_count: int
    slot_count: int
    leaves: list[Step]

    @classmethod
    def of(cls, roots: Sequence[Step]) -> Schedule:
        """The schedule that gives the values of `roots`."""
        order = _in_order(roots)
        stages = _stages(order)
        events = _events(order, stages, set(roots))
        buffers, buffer_count = _buffers(events, stages)
        slots: dict[Step, int] = {}
        slot_count = 0
        for event in events:
            if not event.across:
                slot_count = max(slot_count, _slots(event, buffers, slots))
        return cls(events, buffers, slots, buffer_count, slot_count, [step for step in order if step.leaf])


def _in_order(roots: Sequence[Step]) -> list[Step]:
    """Every step once, arguments first."""
    order: dict[Step, None] = {}
    waiting = [(root, False) for root in reversed(roots)]
    while waiting:
        step, ready = waiting.pop()
        if step in order:
            continue
        if ready:
            order[step] = None
            continue
        waiting.append((step, True))
        waiting.extend((argument, False) for argument in reversed(step.args))
    return list(order)


def _stages(order: Sequence[Step]) -> dict[Step, int]:
    """How many steps across the stocks lie on the way to each step, itself included."""
    stages: dict[Step, int] = {}
    for step in order:
        stages[step] = max((stages[argument] for argument in step.args), default=0) + step.across
    return stages


def _events(order: Sequence[Step], stages: dict[Step, int], roots: set[Step]) -> list[Event]:
    events: list[Event] = []
    for stage in range(max(stages.values(), default=0) + 1):
        events += [Event([step], across=True) for step in order if step.across and stages[step] == stage]
        block = Event([step for step in order if not (step.across or step.leaf) and stages[step] == stage])
        block.exports = [step for step in block.steps if step in roots]
        if stage == 0:
            block.exports += [step for step in order if step.leaf and step in roots]
        if block.steps or block.exports:
            events.append(block)
    return events


def _buffers(events: list[Event], stages: dict[Step, int]) -> tuple[dict[Step, int], int]:
    last: dict[Step, int] = {}
    owners: dict[Step, None] = {}
    for time, event in enumerate(events):
        for step in event.steps:
            for argument in step.args:
                last[argument] = time
                if not argument.leaf and (event.across or stages[argument] < stages[step] or argument.across):
                    owners[argument] = None
    buffers: dict[Step, int] = {}
    free: list[int] = []
    count = 0
    for time, event in enumerate(events):
        for step in event.steps:
            if step in owners:
                if not free:
                    free.append(count)
                    count += 1
                buffers[step] = free.pop()
        read = {argument for step in event.steps for argument in step.args}
        free += [buffers[step] for step in read if step in buffers and last[step] == time]
    return buffers, count


def _slots(event: Event, buffers: dict[Step, int], slots: dict[Step, int]) -> int:
    """Give each step without a buffer a slot; returns how many there are."""
    last: dict[Step, int] = {}
    for place, step in enumerate(event.steps):
        for argument in step.args:
            last[argument] = place
    asked = set(event.exports)
    free: list[int] = []
    count = 0
    for place, step in enumerate(event.steps):
        done = [
            argument
            for argument in dict.fromkeys(step.args)
            if argument in slots and last[argument] == place and argument not in buffers
        ]
        # cell by cell the result may take the place of an argument
        if step.element:
            free += [slots[argument] for argument in done]
        if step not in buffers:
            if not free:
                free.append(count)
                count += 1
            slots[step] = free.pop()
            if step not in last and step in asked:
                done.append(step)  # it is exported at once and read by nobody else
        free += [slots[argument] for argument in done if not step.element or argument is step]
    return count
