"""Operators with a memory. They start at the first valid value."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from alphaswarm.dsl.torch_engine.base import WIDE, Context, Operator, empty, finite

__all__ = ["STATEFUL"]

COPIES = 6


def _smooth(ctx: Context, x: Tensor, alpha: float, rows: int) -> Tensor:
    """Follow y = alpha x + (1 - alpha) y', seeded at the first valid value.

    NaN until `rows` valid values were seen; NaN keeps the state, more than `rows` in a row clear it.
    """
    out = empty(ctx)
    state = torch.full_like(x[0], torch.nan, dtype=WIDE)
    seen = torch.zeros_like(x[0], dtype=torch.int64)
    missing = torch.zeros_like(seen)
    for t, stored in enumerate(x):
        today = stored.to(WIDE)
        valid = ~torch.isnan(today)
        missing = torch.where(valid, 0, missing + 1)
        seen = torch.where(missing > rows, 0, seen)
        moved = torch.where(seen == 0, today, alpha * today + (1.0 - alpha) * state)
        state = torch.where(valid, moved, state)
        seen = seen + valid
        out[t] = finite(torch.where(valid & (seen >= rows), state, torch.nan).to(ctx.dtype))
    return out


def ema(ctx: Context, x: Tensor, span: int) -> Tensor:
    """Exponential moving average, alpha = 2 / (span + 1)."""
    return _smooth(ctx, x, 2.0 / (span + 1.0), span)


def sma_cn(ctx: Context, x: Tensor, n: int, m: int) -> Tensor:
    """Follow y = (m x + (n - m) y') / n."""
    return _smooth(ctx, x, m / n, n)


def hump(ctx: Context, x: Tensor, h: float) -> Tensor:
    """Move from the last value toward x by at most `h`."""
    out = empty(ctx)
    state = torch.full_like(x[0], torch.nan, dtype=WIDE)
    step = torch.tensor(h, dtype=WIDE, device=x.device)
    for t, stored in enumerate(x):
        today = stored.to(WIDE)
        gap = today - state
        moved = torch.where(gap.abs() > h, state + torch.copysign(step, gap), today)
        state = torch.where(torch.isnan(today), state, moved)
        out[t] = finite(torch.where(torch.isnan(today), torch.nan, state).to(ctx.dtype))
    return out


def trade_when(ctx: Context, trigger: Tensor, x: Tensor, leave: Tensor) -> Tensor:
    """Exit true gives NaN, else trigger true gives x, else what was held; unknown is not true."""
    out = empty(ctx)
    state = torch.full_like(out[0], torch.nan)
    for t in range(len(out)):
        state = torch.where(_true(trigger[t]), x[t], state)
        state = torch.where(_true(leave[t]), torch.nan, state)
        out[t] = state
    return out


def _true(c: Tensor) -> Tensor:
    return (c != 0) & ~torch.isnan(c)


def _by_columns(function: Callable[..., Tensor]) -> Operator:
    """Apply `function` to blocks of whole columns."""

    def apply(ctx: Context, x: Tensor, *parameters: int) -> Tensor:
        out = empty(ctx)
        rows, columns = ctx.shape
        width = max(1, ctx.cells(COPIES) // rows)
        for left in range(0, columns, width):
            out[:, left : left + width] = function(x[:, left : left + width], *parameters)
        return out

    return apply


def _row_of_latest(happened: Tensor) -> Tensor:
    """The last row up to today in which it happened; -1 before the first time."""
    row = torch.arange(len(happened), device=happened.device).unsqueeze(1)
    return torch.where(happened, row, -1).cummax(0).values


def _rows_since(happened: Tensor) -> Tensor:
    """Rows since it last happened, 0 today, NaN before the first time."""
    last = _row_of_latest(happened)
    row = torch.arange(len(happened), device=happened.device).unsqueeze(1)
    return torch.where(last < 0, torch.nan, row - last)


def _latest(x: Tensor) -> Tensor:
    """The latest valid value, however old."""
    return torch.gather(x, 0, _row_of_latest(~torch.isnan(x)).clamp(min=0))


def _changes(x: Tensor) -> tuple[Tensor, Tensor]:
    """Where a valid value differs from the valid one before it, and that one."""
    before = torch.full_like(x, torch.nan)
    before[1:] = _latest(x)[:-1]
    return ~torch.isnan(x) & ~torch.isnan(before) & (x != before), before


def _days_since(c: Tensor) -> Tensor:
    """Days since the condition held, 0 today; an unknown condition gives NaN that day."""
    return torch.where(torch.isnan(c), torch.nan, _rows_since(_true(c)))


def _last_diff(x: Tensor) -> Tensor:
    """The latest earlier value that differs from today's: what stood before the last change."""
    changed, before = _changes(x)
    return torch.where(torch.isnan(x), torch.nan, _latest(torch.where(changed, before, torch.nan)))


def _days_from_change(x: Tensor) -> Tensor:
    """Days since x last changed, 0 on the day of the change; NaN before the first one."""
    return torch.where(torch.isnan(x), torch.nan, _rows_since(_changes(x)[0]))


def _backfill(x: Tensor, d: int) -> Tensor:
    """The latest valid value of the last `d` rows."""
    return torch.where(_rows_since(~torch.isnan(x)) < d, _latest(x), torch.nan)


STATEFUL: dict[str, Operator] = {
    "days_from_change": _by_columns(_days_from_change),
    "ema": ema,
    "hump": hump,
    "last_diff": _by_columns(_last_diff),
    "sma_cn": sma_cn,
    "trade_when": trade_when,
    "ts_backfill": _by_columns(_backfill),
    "ts_days_since": _by_columns(_days_since),
}
