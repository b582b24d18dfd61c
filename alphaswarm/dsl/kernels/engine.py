"""Evaluate batches of expressions: schedule the steps, give them memory, run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core.errors import BudgetExceeded
from alphaswarm.core.jit import entry
from alphaswarm.core.panel import Panel
from alphaswarm.dsl.context import Context, group_codes
from alphaswarm.dsl.expr import Expr
from alphaswarm.dsl.kernels import words as w
from alphaswarm.dsl.kernels.block_decay import block_decay
from alphaswarm.dsl.kernels.block_extremes import block_extremes
from alphaswarm.dsl.kernels.block_pairs import block_pairs
from alphaswarm.dsl.kernels.block_product import block_product
from alphaswarm.dsl.kernels.block_shape import block_shape
from alphaswarm.dsl.kernels.block_spread import block_spread
from alphaswarm.dsl.kernels.block_sums import WIDE, block_sums
from alphaswarm.dsl.kernels.cross import cross
from alphaswarm.dsl.kernels.cs_rank import SCRATCH_ROWS, cs_rank
from alphaswarm.dsl.kernels.elementwise import binary, power, ternary, transcendental, unary
from alphaswarm.dsl.kernels.group_backfill import group_backfill
from alphaswarm.dsl.kernels.inputs import Inputs
from alphaswarm.dsl.kernels.interpreter import Program, run_blocks, run_days
from alphaswarm.dsl.kernels.layout import Layout, aligned, pattern
from alphaswarm.dsl.kernels.order import order_statistic
from alphaswarm.dsl.kernels.pairs import pair_windows
from alphaswarm.dsl.kernels.rank_corr import rank_correlation
from alphaswarm.dsl.kernels.rank_ic import label_ranks, rank_ic
from alphaswarm.dsl.kernels.recursive import recursive
from alphaswarm.dsl.kernels.residual import cs_resid
from alphaswarm.dsl.kernels.rolling import rolling
from alphaswarm.dsl.kernels.schedule import Event, Schedule
from alphaswarm.dsl.kernels.shift import shift
from alphaswarm.dsl.kernels.steps import Lowering, Step, with_care
from alphaswarm.dsl.kernels.transfer import to_rows
from alphaswarm.dsl.kernels.ts_rank import ts_rank

__all__ = ["evaluate_batch", "rank_ic_batch"]

COMPILED: dict[str, Callable[[Any, Any], None]] = {
    one.__name__: one
    for one in (
        binary,
        block_decay,
        block_extremes,
        block_pairs,
        block_product,
        block_shape,
        block_spread,
        block_sums,
        cross,
        cs_rank,
        order_statistic,
        pair_windows,
        power,
        rank_correlation,
        rank_ic,
        recursive,
        rolling,
        shift,
        ternary,
        to_rows,
        transcendental,
        ts_rank,
        unary,
    )
}
# Wide vectors that a block kernel keeps for each row of its window, at most (block_pairs).
STATISTICS = 5
# A batch that would need more buffers than this is done in two halves.
MOST_BUFFERS = 24
# Arrays [T, N] of 8 bytes that an operator on the whole panel takes besides its arguments, at most.
PANEL_SCRATCH = 6


def evaluate_batch(
    roots: Sequence[Expr], panel: Panel, dtype: str, threads: int, memory_limit: int | None
) -> list[NDArray[Any]]:
    """The values [T, N] of each of `roots`, NaN outside the universe.

    Raises:
        BudgetExceeded: `memory_limit` bytes do not suffice even one expression at a time; nothing was allocated.
    """
    lowering = Lowering()
    steps = [lowering(root) for root in roots]
    layout = Layout(*panel.shape, np.dtype(dtype))
    outputs = len(steps) * layout.rows * layout.columns * layout.dtype.itemsize
    groups = _groups(steps, layout, threads, outputs, memory_limit)
    inputs = Inputs.of(panel, dtype)
    results: list[NDArray[Any]] = []
    for group in groups:
        results += _Run(group, panel, inputs, threads).results()
    return results


def rank_ic_batch(
    roots: Sequence[Expr],
    panel: Panel,
    labels: NDArray[np.float64],
    dtype: str,
    threads: int,
    memory_limit: int | None,
) -> list[NDArray[np.float64]]:
    """The daily rank correlation [T] of each of `roots` with `labels` [T, N]; one expression after the other.

    Raises:
        BudgetExceeded: `memory_limit` bytes do not suffice; nothing was allocated.
    """
    lowering = Lowering()
    steps: list[Step] = []
    for root in roots:
        step = lowering(root)
        ordered = step.args[0] if (step.kernel, step.op) == ("cs_rank", 0) else lowering.series(step)
        steps.append(lowering.step("rank_ic", args=(ordered,)))
    layout = Layout(*panel.shape, np.dtype(dtype))
    ranks_bytes = layout.rows * layout.width * 17
    for step in steps:
        _groups([step], layout, threads, ranks_bytes, memory_limit)
    inputs = Inputs.of(panel, dtype)
    known = panel.universe & np.isfinite(labels)
    ranks = label_ranks(np.where(known, labels, np.nan), layout.width)
    members = np.zeros((layout.rows, layout.width), np.uint8)
    members[:, : layout.columns] = known
    results: dict[Step, NDArray[np.float64]] = {}
    for step in dict.fromkeys(steps):
        results[step] = _Run([step], panel, inputs, threads, (members, ranks)).results()[0]
    return [results[step].copy() for step in steps]


def _groups(
    steps: list[Step], layout: Layout, threads: int, outputs: int, memory_limit: int | None
) -> list[list[Step]]:
    """Parts of the batch that fit into the limit beside `outputs` bytes, each as large as can be."""
    if not steps:
        return []
    fields = {leaf for leaf in Schedule.of(steps).leaves if leaf.kernel == "field"}
    fixed = outputs + len(fields) * layout.bytes
    groups: list[list[Step]] = []
    waiting = [steps]
    needed = 0
    while waiting:
        group = waiting.pop()
        schedule = Schedule.of(group)
        bytes_needed = fixed + _work(schedule, layout, threads)
        too_much = memory_limit is not None and bytes_needed > memory_limit
        if len(group) > 1 and (too_much or schedule.buffer_count > MOST_BUFFERS):
            half = len(group) // 2
            waiting += [group[half:], group[:half]]
            continue
        needed = max(needed, bytes_needed)
        groups.append(group)
    if memory_limit is not None and needed > memory_limit:
        raise BudgetExceeded(
            f"memory_limit must be at least {needed} bytes for this batch on a panel of "
            f"{layout.rows} x {layout.columns}, got {memory_limit}; evaluate fewer expressions at once or raise it"
        )
    return groups


def _work(schedule: Schedule, layout: Layout, threads: int) -> int:
    """Bytes beside inputs and results."""
    on_panel = [len(event.steps[0].args) for event in schedule.events if event.across and event.steps[0].on_panel]
    panels = max(on_panel, default=-PANEL_SCRATCH) + PANEL_SCRATCH
    return (
        schedule.buffer_count * layout.bytes
        + threads * _thread_bytes(schedule, layout)
        + panels * layout.rows * layout.columns * 8
    )


def _thread_bytes(schedule: Schedule, layout: Layout) -> int:
    window = max((step.window for event in schedule.events for step in event.steps if not event.across), default=0)
    return schedule.slot_count * layout.block_bytes + (window + 1) * STATISTICS * WIDE


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value lies: first address, and bytes to the next row, block and thread."""

    address: int
    row: int
    block: int = 0
    thread: int = 0


class _Run:
    """One schedule with memory."""

    def __init__(
        self,
        roots: list[Step],
        panel: Panel,
        inputs: Inputs,
        threads: int,
        labels: tuple[NDArray[np.uint8], NDArray[np.int32]] | None = None,
    ) -> None:
        self.labels = labels
        self.roots, self.panel, self.inputs, self.threads = roots, panel, inputs, threads
        self.layout = inputs.layout
        self.schedule = Schedule.of(roots)
        self.buffers = [self.layout.buffer() for _ in range(self.schedule.buffer_count)]
        self.slots_bytes = self.schedule.slot_count * self.layout.block_bytes
        self.thread_bytes = -(-_thread_bytes(self.schedule, self.layout) // 64) * 64
        self.scratch = aligned(threads * self.thread_bytes, np.dtype(np.uint8))
        self.numbers: dict[float, NDArray[Any]] = {}
        self.outputs: dict[Step, NDArray[Any]] = {}

    def results(self) -> list[NDArray[Any]]:
        """Run everything; an array for each root, the caller's own."""
        for event in self.schedule.events:
            if not event.across:
                self._stage(event)
            elif event.steps[0].on_panel:
                self._on_panel(event.steps[0])
            else:
                self._across(event.steps[0])
        results: list[NDArray[Any]] = []
        given: set[Step] = set()
        for root in self.roots:
            results.append(self.outputs[root].copy() if root in given else self.outputs[root])
            given.add(root)
        return results

    def _output(self, step: Step) -> NDArray[Any]:
        self.outputs[step] = np.empty((self.layout.rows, self.layout.columns), self.layout.dtype)
        return self.outputs[step]

    def _place(self, step: Step) -> _Place:
        layout = self.layout
        if step.kernel == "number":
            if step.p not in self.numbers:
                self.numbers[step.p] = aligned(w.BLOCK, layout.dtype)
                with np.errstate(over="ignore"):  # float32 holds less
                    self.numbers[step.p][:] = step.p
            return _Place(self.numbers[step.p].ctypes.data, 0)
        if step.kernel == "rows":
            return _Place(self.inputs.rows.ctypes.data, layout.row_bytes)
        if step in self.schedule.slots and step not in self.schedule.buffers:
            address = self.scratch.ctypes.data + self.schedule.slots[step] * layout.block_bytes
            return _Place(address, layout.row_bytes, 0, self.thread_bytes)
        return _Place(self._blocks(step).ctypes.data, layout.row_bytes, layout.block_bytes)

    def _blocks(self, step: Step) -> NDArray[Any]:
        if step.kernel == "field":
            return self.inputs.field(step.name, self.panel)
        return self.buffers[self.schedule.buffers[step]]

    def _stage(self, event: Event) -> None:
        rows: list[NDArray[np.int64]] = []
        made: list[Step | None] = []
        exports = set(event.exports)
        for leaf in (step for step in event.exports if step.leaf):
            rows.append(self._export(leaf))
            made.append(None)
        for step in event.steps:
            rows.append(self._instruction(step))
            made.append(step)
            if step in exports:
                rows.append(self._export(step))
                made.append(None)
        program = np.array(rows)
        _mark_runs(program, [step is None or step.element for step in made])
        run_blocks(program, self.layout.blocks, self.threads)
        refused = np.flatnonzero(program[:, w.REFUSED])
        for place in refused:
            refusing = made[place]
            if refusing is not None:
                kernel, program[place, w.OP] = with_care(refusing)
                program[place, w.KERNEL] = self._address(kernel)
        if refused.size:
            run_blocks(program, self.layout.blocks, self.threads)

    def _address(self, kernel: str) -> int:
        return entry(COMPILED[kernel], self.layout.dtype.name, "int64")

    def _instruction(self, step: Step) -> NDArray[np.int64]:
        words = np.zeros(w.WORDS, np.int64)
        words[w.ROWS], words[w.OP], words[w.WINDOW] = self.layout.rows, step.op, step.window
        words[w.P], words[w.Q], words[w.MIN_OBS] = pattern(step.p), pattern(step.q), step.min_obs
        words[w.SCRATCH] = self.scratch.ctypes.data + self.slots_bytes
        words[w.PER_THREAD] = self.thread_bytes
        for operand, value in enumerate((step, *step.args)):
            _operand(words, operand, self._place(value))
        words[w.KERNEL] = self._address(step.kernel)
        return words

    def _export(self, step: Step) -> NDArray[np.int64]:
        """The instruction that writes a step's values to the caller's rows."""
        layout, members = self.layout, self.inputs.member_blocks
        out = self._output(step)
        words = np.zeros(w.WORDS, np.int64)
        words[w.ROWS], words[w.P] = layout.rows, pattern(layout.columns)
        _operand(words, 0, _Place(out.ctypes.data, layout.columns * layout.dtype.itemsize, layout.row_bytes))
        _operand(words, 1, self._place(step))
        _operand(words, 2, _Place(members.ctypes.data, w.BLOCK, layout.rows * w.BLOCK))
        words[w.KERNEL] = self._address("to_rows")
        return words

    def _across(self, step: Step) -> None:
        """A step across the stocks of each day, on a share of the days for each thread."""
        layout = self.layout
        wanted = step in self.roots
        shares = max(1, min(self.threads, layout.rows))
        bounds = [layout.rows * share // shares for share in range(shares + 1)]
        program: Program = np.zeros((shares, w.WORDS), np.int64)
        program[:, w.OP], program[:, w.P], program[:, w.KERNEL] = step.op, pattern(step.p), self._address(step.kernel)
        program[:, w.BLOCKS], program[:, w.BLOCK_BYTES] = layout.blocks, layout.block_bytes
        program[:, w.COLUMNS], program[:, w.GROUPS] = layout.columns, 1
        first = np.array(bounds[:-1])
        room = SCRATCH_ROWS * layout.width * layout.dtype.itemsize
        scratch = aligned(shares * room, np.dtype(np.uint8))
        program[:, w.SCRATCH] = scratch.ctypes.data + room * np.arange(shares)
        program[:, w.ROWS] = np.diff(bounds)
        program[:, w.A] = self._blocks(step.args[0]).ctypes.data + first * layout.row_bytes
        program[:, w.MEMBERS] = self.inputs.members.ctypes.data + first * layout.width
        if step in self.schedule.buffers:
            program[:, w.OUT] = self._blocks(step).ctypes.data + first * layout.row_bytes
        if self.labels is not None and step.kernel == "rank_ic":
            members, ranks = self.labels
            program[:, w.MEMBERS] = members.ctypes.data + first * layout.width
            self.outputs[step] = np.empty(layout.rows)
            program[:, w.NATURAL] = self.outputs[step].ctypes.data + first * 8
            program[:, w.CODES] = ranks.ctypes.data + first * ranks.strides[0]
        elif wanted:
            row = layout.columns * layout.dtype.itemsize
            program[:, w.NATURAL] = self._output(step).ctypes.data + first * row
        if len(step.args) > 1:
            codes, count = self.inputs.group(step.args[1].name, self.panel)
            program[:, w.CODES] = codes.ctypes.data + first * layout.width * 4
            program[:, w.GROUPS] = count
        run_days(program, self.threads)

    def _on_panel(self, step: Step) -> None:
        """An operator that numpy does on all rows at once."""
        ctx = Context(self.panel.universe)
        if step.kernel == "cs_resid":
            values = cs_resid(ctx, *(self.layout.natural(self._blocks(argument)) for argument in step.args))
        else:
            codes = group_codes(self.panel, step.args[1].name)
            values = group_backfill(ctx, self.layout.natural(self._blocks(step.args[0])), codes, step.window)
        if step in self.schedule.buffers:
            self._blocks(step)[:] = self.layout.blocked(values)
        if step in self.roots:
            with np.errstate(over="ignore"):
                out = np.where(self.panel.universe, values, np.nan).astype(self.layout.dtype)
            out[np.isinf(out)] = np.nan
            self.outputs[step] = out


def _operand(words: NDArray[np.int64], operand: int, place: _Place) -> None:
    words[w.OUT + operand] = place.address
    words[w.OUT + operand + w.STEP] = place.row
    words[w.PER_BLOCK + 1 + operand] = place.block
    words[w.PER_THREAD + 1 + operand] = place.thread


def _mark_runs(program: Program, element: list[bool]) -> None:
    """Write into the first instruction of each element-wise run how long it is."""
    start = None
    for place, one in enumerate([*element, False]):
        if one and start is None:
            start = place
        elif not one and start is not None:
            program[start, w.ELEMENTS] = place - start
            start = None
