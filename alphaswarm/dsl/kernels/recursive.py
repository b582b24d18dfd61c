"""Operators with a memory: one walk down each column."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.columns import Flat, read_column, write_column
from alphaswarm.dsl.kernels.vectors import itemsize
from alphaswarm.dsl.kernels.words import BLOCK, OP, OUT, ROWS, STEP, WINDOW, A, B, C, P, number

__all__ = ["RECURSIVE", "recursive"]

# The first two are told the share of today's value, the third the largest step.
RECURSIVE = ("ema", "sma_cn", "hump", "trade_when", "ts_days_since", "last_diff", "days_from_change", "ts_backfill")


@part
def _smooth(x: Flat, alpha: float, span: int, out: Flat) -> None:
    """Follow y = alpha x + (1 - alpha) y', seeded at the first valid value.

    NaN until `span` valid values were seen; NaN keeps the state, more than `span` in a row clear it.
    """
    state, seen, missing = np.nan, 0, 0
    for t in range(x.size):
        out[t] = np.nan
        if math.isnan(x[t]):
            missing += 1
            if missing > span:
                seen = 0
            continue
        state = x[t] if seen == 0 else alpha * x[t] + (1.0 - alpha) * state
        seen, missing = seen + 1, 0
        if seen >= span:
            out[t] = state


@part
def _hump(x: Flat, h: float, out: Flat) -> None:
    """Move from the last value toward x by at most `h`."""
    state = np.nan
    for t in range(x.size):
        out[t] = np.nan
        if not math.isnan(x[t]):
            gap = x[t] - state
            state = state + math.copysign(h, gap) if abs(gap) > h else x[t]
            out[t] = state


@part
def _trade_when(trigger: Flat, x: Flat, leave: Flat, out: Flat) -> None:
    """Exit true gives NaN, else trigger true gives x, else what was held; unknown is not true."""
    state = np.nan
    for t in range(x.size):
        if leave[t] != 0.0 and not math.isnan(leave[t]):
            state = np.nan
        elif trigger[t] != 0.0 and not math.isnan(trigger[t]):
            state = x[t]
        out[t] = state


@part
def _days_since(c: Flat, out: Flat) -> None:
    """Days since the condition held, 0 today; an unknown condition gives NaN that day."""
    days = np.nan
    for t in range(c.size):
        days += 1.0
        if c[t] != 0.0 and not math.isnan(c[t]):
            days = 0.0
        out[t] = np.nan if math.isnan(c[t]) else days


@part
def _changes(x: Flat, since: bool, out: Flat) -> None:
    """What x was before it last changed or, with `since`, how many days ago that was."""
    last, other, days = np.nan, np.nan, np.nan
    for t in range(x.size):
        days += 1.0
        out[t] = np.nan
        if not math.isnan(x[t]):
            if not math.isnan(last) and x[t] != last:
                other, days = last, 0.0
            last = x[t]
            out[t] = days if since else other


@part
def _backfill(x: Flat, d: int, out: Flat) -> None:
    """The latest valid value of the last `d` rows."""
    last, age = np.nan, 0
    for t in range(x.size):
        age += 1
        if not math.isnan(x[t]):
            last, age = x[t], 0
        out[t] = last if age < d else np.nan


def recursive(kind: Any, words: Any) -> None:
    """Operators that carry a state from row to row."""
    rows, op, size = words[ROWS], words[OP], itemsize(kind)
    x, y, z, out = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    for lane in range(0, BLOCK * size, size):
        read_column(kind, words[A] + lane, words[A + STEP], x)
        if op <= 1:
            _smooth(x, number(words, P), words[WINDOW], out)
        elif op == 2:
            _hump(x, number(words, P), out)
        elif op == 3:
            read_column(kind, words[B] + lane, words[B + STEP], y)
            read_column(kind, words[C] + lane, words[C + STEP], z)
            _trade_when(x, y, z, out)
        elif op == 4:
            _days_since(x, out)
        elif op <= 6:
            _changes(x, op == 6, out)
        else:
            _backfill(x, words[WINDOW], out)
        write_column(kind, words[OUT] + lane, words[OUT + STEP], out)
