"""Weighted means of windows, linear and exponential, by prefixes and suffixes of blocks (see `block_sums`).

Going back from the block, a running sum of running sums gives the older rows weights n, n - 1, .. 1; going
forward, each row keeps its place, and today decides what a place is worth:

    linear   sum over j of (c + j) x_j = c * sum(x_j) + sum(j x_j), where c falls by one each day
    exp      p = f p + x, and the suffix, begun m days ago, weighs f ** m

float64 is summed with what rounding loses.
"""

from __future__ import annotations

from typing import Any

from alphaswarm.core.jit import part
from alphaswarm.dsl.kernels.block_sums import WIDE
from alphaswarm.dsl.kernels.compensated import plus
from alphaswarm.dsl.kernels.elementwise import finite
from alphaswarm.dsl.kernels.vectors import (
    fill,
    fill_wide,
    fma,
    itemsize,
    load,
    load_wide,
    narrow,
    select,
    store,
    store_wide,
    wide,
)
from alphaswarm.dsl.kernels.words import (
    BLOCK,
    LANE_STEP,
    OP,
    OUT,
    ROWS,
    SCRATCH,
    STEP,
    WINDOW,
    A,
    P,
    number,
)

__all__ = ["DECAY", "block_decay"]

DECAY = ("decay_linear", "decay_exp")
NAN = float("nan")


@part
def _linear(kind: Any, words: Any) -> None:
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    nan, zero, one = fill(kind, NAN), fill_wide(0.0), fill_wide(1.0)
    share = fill_wide(2.0 / (d * (d + 1)))
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        x, out = words[A] + lane, words[OUT] + lane
        store_wide(scratch + d * WIDE, zero)
        for start in range(0, rows, d):
            plain, weighted = zero, zero
            if start > 0:
                for back in range(1, d):
                    plain = plain + wide(load(kind, x + (start - back) * step))
                    weighted = weighted + plain
                    store_wide(scratch + (d - back) * WIDE, weighted)
            plain, weighted = zero, zero
            place, left = zero, fill_wide(float(d))
            opening = d - 1 if start == 0 else start
            for t in range(start, min(opening, rows)):
                u = wide(load(kind, x + t * step))
                plain = plain + u
                weighted = fma(place, u, weighted)
                place, left = place + one, left - one
                store(kind, out + t * out_step, nan)
            older = scratch + (opening - start + 1) * WIDE
            now, to = x + opening * step, out + opening * out_step
            for _ in range(opening, min(start + d, rows)):
                u = wide(load(kind, now))
                plain = plain + u
                weighted = fma(place, u, weighted)
                value = fma(left, plain, weighted + load_wide(older))
                place, left = place + one, left - one
                store(kind, to, finite(narrow(kind, value * share)))
                older += WIDE
                now += step
                to += out_step


@part
def _linear_exact(kind: Any, words: Any) -> None:
    """As `_linear` for float64, on the values themselves: no digit is lost where they cancel."""
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    nan, zero = fill(kind, NAN), fill_wide(0.0)
    total = fill_wide(0.5 * d * (d + 1))
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        x, out = words[A] + lane, words[OUT] + lane
        store_wide(scratch + 2 * d * WIDE, zero)
        store_wide(scratch + (2 * d + 1) * WIDE, zero)
        for start in range(0, rows, d):
            plain, plain_low, weighted, low = zero, zero, zero, zero
            if start > 0:
                for back in range(1, d):
                    plain, plain_low = plus(plain, plain_low, wide(load(kind, x + (start - back) * step)))
                    weighted, low = plus(weighted, low + plain_low, plain)
                    store_wide(scratch + 2 * (d - back) * WIDE, weighted)
                    store_wide(scratch + (2 * (d - back) + 1) * WIDE, low)
            plain, plain_low, weighted, low = zero, zero, zero, zero
            for t in range(start, min(start + d, rows)):
                today = wide(load(kind, x + t * step))
                plain, plain_low = plus(plain, plain_low, today)
                place = fill_wide(float(t - start))
                product = place * today
                weighted, low = plus(weighted, low + fma(place, today, zero - product), product)
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                older = scratch + 2 * (t - start + 1) * WIDE
                place = fill_wide(float(d - t + start))
                product = place * plain
                low_all = low + load_wide(older + WIDE) + fma(place, plain_low, fma(place, plain, zero - product))
                high, low_all = plus(weighted, low_all, load_wide(older))
                high, low_all = plus(high, low_all, product)
                store(kind, out + t * out_step, finite(_mean(high, low_all, total, today)))


@part
def _mean(high: Any, low: Any, total: Any, member: Any) -> Any:
    product = total * member
    rest = ((high - product) - fma(total, member, fill_wide(0.0) - product)) + low
    return select(rest == fill_wide(0.0), member, (high + low) / total)


@part
def _exponential(kind: Any, words: Any) -> None:
    rows, d, scratch = words[ROWS], words[WINDOW], words[SCRATCH]
    size, step, out_step = itemsize(kind), words[A + STEP], words[OUT + STEP]
    nan, zero = fill(kind, NAN), fill_wide(0.0)
    factor = number(words, P)
    fading, weights = fill_wide(factor), 0.0
    for _ in range(d):
        weights = weights * factor + 1.0
    share = fill_wide(1.0 / weights)
    for lane in range(0, BLOCK * size, LANE_STEP * size):
        x, out = words[A] + lane, words[OUT] + lane
        store_wide(scratch + d * WIDE, zero)
        for start in range(0, rows, d):
            anchor = wide(load(kind, x + start * step))
            weighted, weight = zero, fill_wide(1.0)
            if start > 0:
                for back in range(1, d):
                    weighted = fma(weight, wide(load(kind, x + (start - back) * step)) - anchor, weighted)
                    weight = weight * fading
                    store_wide(scratch + (d - back) * WIDE, weighted)
            weighted, weight = zero, fill_wide(1.0)
            for t in range(start, min(start + d, rows)):
                weighted = fma(fading, weighted, wide(load(kind, x + t * step)) - anchor)
                weight = weight * fading
                if t < d - 1:
                    store(kind, out + t * out_step, nan)
                    continue
                value = fma(weight, load_wide(scratch + (t - start + 1) * WIDE), weighted)
                store(kind, out + t * out_step, finite(narrow(kind, fma(value, share, anchor))))


def block_decay(kind: Any, words: Any) -> None:
    """Mean of WINDOW rows, weighted d for today down to 1, or by powers of P."""
    if words[OP] == 1:
        _exponential(kind, words)
    elif itemsize(kind) == 4:
        _linear(kind, words)
    else:
        _linear_exact(kind, words)
