"""Operators that look at one earlier row. Nothing is ever filled forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels import maths
from alphaswarm.dsl.kernels.elementwise import finite
from alphaswarm.dsl.kernels.vectors import fill, fill_wide, itemsize, load, narrow, store, wide
from alphaswarm.dsl.kernels.words import BLOCK, LANE_STEP, OP, OUT, ROWS, STEP, WINDOW, A

__all__ = ["SHIFT", "shift"]

SHIFT = ("delay", "delta", "pct_change", "log_return")
NAN = float("nan")


def _against_the_past(function: Callable[[Any, Any, Any], Any]) -> Callable[[Any, Any], None]:
    """A kernel that applies `function` to today's vector and that of WINDOW rows before."""
    apply = part(function)

    @part
    def walk(kind: Any, words: Any) -> None:
        rows, lag = words[ROWS], min(words[WINDOW], words[ROWS])
        size = itemsize(kind)
        for lane in range(0, BLOCK * size, LANE_STEP * size):
            out, now = words[OUT] + lane, words[A] + lane
            past = now
            for _ in range(lag):
                store(kind, out, fill(kind, NAN))
                out += words[OUT + STEP]
                now += words[A + STEP]
            for _ in range(rows - lag):
                store(kind, out, apply(kind, load(kind, now), load(kind, past)))
                out += words[OUT + STEP]
                now += words[A + STEP]
                past += words[A + STEP]

    return walk


@_against_the_past
def _past(_kind: Any, _now: Any, past: Any) -> Any:
    return past


@_against_the_past
def _change(_kind: Any, now: Any, past: Any) -> Any:
    return finite(now - past)


@_against_the_past
def _relative(kind: Any, now: Any, past: Any) -> Any:
    return finite(narrow(kind, wide(now) / wide(past) - fill_wide(1.0)))


@_against_the_past
def _logarithm(kind: Any, now: Any, past: Any) -> Any:
    return finite(narrow(kind, maths.log(wide(now) / wide(past))))


def shift(kind: Any, words: Any) -> None:
    """The value of WINDOW rows before, and changes since then."""
    op = words[OP]
    if op == 0:
        _past(kind, words)
    elif op == 1:
        _change(kind, words)
    elif op == 2:
        _relative(kind, words)
    else:
        _logarithm(kind, words)
