"""Largest and smallest of windows and where they stand, by prefixes and suffixes of blocks (see `block_sums`).

A "poison" is summed beside each extreme: 0, or NaN once a missing value was met. On ties the most recent row
wins: going back only a strictly better value takes over, going forward an equal one does.
"""

from __future__ import annotations

from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.elementwise import finite
from alphaswarm.dsl.kernels.vectors import fill, itemsize, load, select, store
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OP, OUT, ROWS, SCRATCH, STEP, WINDOW, A

__all__ = ["EXTREMES", "block_extremes"]

# The first four are of x and their twins of -x.
EXTREMES = ("ts_max", "ts_argmax", "ts_max_diff", "ts_min", "ts_argmin", "ts_min_diff", "ts_scale")
NAN = float("nan")
LOWEST = float("-inf")


@part
def _one_side(kind: Any, words: Any, sign: float, place: bool, difference: bool) -> None:
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    line = LANE_STEP * size
    nan, turn, zero = fill(kind, NAN), fill(kind, sign), fill(kind, 0.0)
    for lane in range(0, BLOCK * size, line):
        x, out = words[A] + lane, words[OUT] + lane
        store(kind, scratch + 2 * d * line, fill(kind, LOWEST))
        store(kind, scratch + (2 * d + 1) * line, zero)
        for start in range(0, rows, d):
            best, at, poison = fill(kind, LOWEST), zero, zero
            if start > 0:
                for back in range(1, d):
                    value = load(kind, x + (start - back) * step) * turn
                    better = value > best
                    poison = poison + (value - value)
                    best = select(better, value, best)
                    where = scratch + 2 * (d - back) * line
                    store(kind, where, best + poison)
                    if place:
                        at = select(better, fill(kind, float(start - back)), at)
                        store(kind, where + line, at)
            best, at, poison = fill(kind, LOWEST), zero, zero
            for t in range(start, min(start + d, rows)):
                value = load(kind, x + t * step) * turn
                better = value >= best
                poison = poison + (value - value)
                best = select(better, value, best)
                if place:
                    at = select(better, fill(kind, float(t)), at)
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                where = scratch + 2 * (t - start + 1) * line
                older = load(kind, where)
                missing = select(older == older, zero, older)  # the older rows held one
                if place:
                    since = fill(kind, float(t)) - select(older > best, load(kind, where + line), at)
                    store(kind, out + t * out_step, since + (poison + missing))
                else:
                    extreme = (select(older > best, older, best) + (poison + missing)) * turn
                    if difference:
                        extreme = finite(value * turn - extreme)
                    store(kind, out + t * out_step, extreme)


@part
def _both_sides(kind: Any, words: Any) -> None:
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    line = LANE_STEP * size
    nan, zero = fill(kind, NAN), fill(kind, 0.0)
    lowest, highest = fill(kind, LOWEST), zero - fill(kind, LOWEST)
    for lane in range(0, BLOCK * size, line):
        x, out = words[A] + lane, words[OUT] + lane
        store(kind, scratch + 2 * d * line, lowest)
        store(kind, scratch + (2 * d + 1) * line, highest)
        for start in range(0, rows, d):
            largest, smallest, poison = lowest, highest, zero
            if start > 0:
                for back in range(1, d):
                    value = load(kind, x + (start - back) * step)
                    poison = poison + (value - value)
                    largest = select(value > largest, value, largest)
                    smallest = select(value < smallest, value, smallest)
                    where = scratch + 2 * (d - back) * line
                    store(kind, where, largest + poison)
                    store(kind, where + line, smallest)
            largest, smallest, poison = lowest, highest, zero
            for t in range(start, min(start + d, rows)):
                value = load(kind, x + t * step)
                poison = poison + (value - value)
                largest = select(value > largest, value, largest)
                smallest = select(value < smallest, value, smallest)
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                where = scratch + 2 * (t - start + 1) * line
                older, below = load(kind, where), load(kind, where + line)
                top = select(older > largest, older, largest)
                bottom = select(below < smallest, below, smallest)
                # an older extreme that is missing makes the poison missing too
                missing = poison + select(older == older, zero, older)
                store(kind, out + t * out_step, finite((value - bottom) / (top - bottom)) + missing)


def block_extremes(kind: Any, words: Any) -> None:
    """Largest or smallest of WINDOW rows, days since, today's distance from it, or today's place between both."""
    op = words[OP]
    if op == 0:
        _one_side(kind, words, 1.0, False, False)
    elif op == 1:
        _one_side(kind, words, 1.0, True, False)
    elif op == 2:
        _one_side(kind, words, 1.0, False, True)
    elif op == 3:
        _one_side(kind, words, -1.0, False, False)
    elif op == 4:
        _one_side(kind, words, -1.0, True, False)
    elif op == 5:
        _one_side(kind, words, -1.0, False, True)
    else:
        _both_sides(kind, words)
