"""Faults of single cells: prices, bars, returns, volumes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from alphaswarm.data.columns import PRICES
from alphaswarm.data.finding import Finding, FindingKind
from alphaswarm.data.observed import NEXT_ROW, Observed

__all__ = ["prices", "returns", "volumes"]

# The split rule was tuned on one year of unadjusted US stocks, where it finds the five corporate actions
# and nothing else; the suspicion rule on ten years, where it finds both wrong spin-off adjustments
# together with true moves of 2008-09. Flags, never corrections.
OVERNIGHT_GAP = 0.25
CALM_DAY = 0.05
WHOLE_RATIO = 0.02
BUSY = 4.0
LARGE_RETURN = 0.35
FROM_MEDIAN = 0.20
SPIKE, BACK, LEFT = 0.20, 0.10, 0.25
DAY_SCALE, YEAR_SCALE = 100.0, 10.0
FEWEST_YEAR_ROWS = 60


def prices(observed: Observed, notes: list[str]) -> Iterator[Finding]:
    """Prices that are not positive, bars out of order, overnight gaps like corporate actions."""
    fields = observed.panel.fields
    for name in PRICES:
        if name in fields:
            for row, column in np.argwhere(fields[name] <= 0):
                value = float(fields[name][row, column])
                yield _cell(observed, FindingKind.PRICE_NOT_POSITIVE, row, column, f"{name} is {value:g}", value)
    if any(name not in fields for name in ("open", "high", "low", "close")):
        notes.append("bars and corporate actions are not checked: that needs open, high, low and close")
        return
    yield from _bars(observed)
    yield from _overnight(observed)


def returns(observed: Observed, notes: list[str]) -> Iterator[Finding]:
    """Returns beyond 35 %, with or without the volume of a true move, and moves that are taken back."""
    moves = observed.returns
    if moves is None:
        return
    if observed.traded is None:
        notes.append("large returns can't be told from wrong ones: there is no volume")
    apart = moves - observed.median[:, None]
    for row, column in np.argwhere(np.abs(moves) > LARGE_RETURN):
        value, busier = float(moves[row, column]), observed.busier(row, column)
        suspect = abs(apart[row, column]) > FROM_MEDIAN and busier is not None and busier < BUSY
        traded = "volume unknown" if busier is None else f"{busier:.1f} times the usual volume"
        detail = f"return {value:+.1%}, {traded}; the day's median is {observed.median[row]:+.1%}"
        kind = FindingKind.SUSPECT_RETURN if suspect else FindingKind.LARGE_RETURN
        yield _cell(observed, kind, row, column, detail, value)
    one, two = moves[:-1], moves[1:]
    taken_back = (
        (np.abs(apart[:-1]) > SPIKE)
        & (np.abs(apart[1:]) > BACK)
        & (one * two < 0)
        & (np.abs((1 + one) * (1 + two) - 1) < LEFT * np.abs(one))
    )
    for row, column in np.argwhere(taken_back):
        value = float(one[row, column])
        detail = f"{value:+.1%}, then {two[row, column]:+.1%} on {observed.day(row + 1)}"
        yield _cell(observed, FindingKind.SPIKE_AND_REVERT, row, column, detail, value)


def volumes(observed: Observed, notes: list[str]) -> Iterator[Finding]:
    """Cells without volume, and breaks of its scale."""
    traded = observed.traded
    if traded is None:
        notes.append("volume is not checked: there is none")
        return
    some = np.where(traded > 0, traded, np.nan)
    ever = np.isfinite(some).any(axis=0)
    for row, column in np.argwhere(observed.present & ~np.isfinite(some) & ever):
        value = float(traded[row, column])
        detail = f"volume is {value:g}" if np.isfinite(value) else "volume is missing"
        if observed.returns is not None and np.isfinite(observed.returns[row, column]):
            detail += f", the return is {observed.returns[row, column]:+.2%}"
        yield _cell(observed, FindingKind.VOLUME_ABSENT, row, column, detail)
    ratios = some[1:] / some[:-1]
    for row, column in np.argwhere((ratios > DAY_SCALE) | (ratios < 1 / DAY_SCALE)):
        ratio = float(ratios[row, column])
        yield _cell(observed, FindingKind.VOLUME_SCALE, row + 1, column, f"{_times(ratio)} in one row", ratio)
    yield from _yearly_scale(observed, some)


def _bars(observed: Observed) -> Iterator[Finding]:
    start, high, low, close = (observed.panel[name] for name in ("open", "high", "low", "close"))
    broken = {
        "open > high": start > high,
        "open < low": start < low,
        "close > high": close > high,
        "close < low": close < low,
        "low > high": low > high,
    }
    size = np.fmax.reduce([start - high, low - start, close - high, low - close, low - high]) / close
    for row, column in np.argwhere(np.logical_or.reduce(list(broken.values()))):
        rules = ", ".join(rule for rule, cells in broken.items() if cells[row, column])
        value = float(size[row, column])
        yield _cell(observed, FindingKind.BAR_OUT_OF_ORDER, row, column, f"{rules}, by {value:.2%} of the price", value)


def _overnight(observed: Observed) -> Iterator[Finding]:
    start, close = observed.panel["open"], observed.panel["close"]
    before = np.where(close[:-1] > 0, close[:-1], np.nan)
    gap = start[1:] / before - 1
    day = np.abs(close[1:] / np.where(start[1:] > 0, start[1:], np.nan) - 1)
    for row, column in np.argwhere((gap < -OVERNIGHT_GAP) & (day < CALM_DAY)) + NEXT_ROW:
        ratio = float(close[row - 1, column] / close[row, column])
        whole = round(ratio) >= 2 and abs(ratio / round(ratio) - 1) < WHOLE_RATIO
        busier = observed.busier(row, column)
        if whole or (busier is not None and busier < BUSY):
            detail = f"close falls to 1/{ratio:.2f} overnight" + (f": a {round(ratio)}:1 split?" if whole else "")
            yield _cell(observed, FindingKind.SPLIT_LIKE, row, column, detail, ratio)
    for row, column in np.argwhere(gap > OVERNIGHT_GAP) + NEXT_ROW:
        value = float(gap[row - 1, column])
        yield _cell(observed, FindingKind.JUMP_UP, row, column, f"opens {value:+.1%} above the last close", value)


def _yearly_scale(observed: Observed, some: NDArray[np.float64]) -> Iterator[Finding]:
    years = observed.days.astype("datetime64[Y]")
    last: NDArray[np.float64] | None = None
    for year in np.unique(years):
        rows = some[years == year]
        enough = np.isfinite(rows).sum(axis=0) >= FEWEST_YEAR_ROWS
        median = np.full(rows.shape[1], np.nan)
        if enough.any():
            median[enough] = np.nanmedian(rows[:, enough], axis=0)
        if last is not None:
            ratios = median / last
            for column in np.flatnonzero((ratios > YEAR_SCALE) | (ratios < 1 / YEAR_SCALE)):
                ratio = float(ratios[column])
                detail = f"the median of {year} is {_times(ratio)} from the year before"
                symbol = observed.panel.symbols[column]
                yield Finding(FindingKind.VOLUME_SCALE, detail, date=f"{year}-01-01", symbol=symbol, value=ratio)
        last = median


def _cell(
    observed: Observed, kind: FindingKind, row: int, column: int, detail: str, value: float | None = None
) -> Finding:
    return Finding(kind, detail, date=observed.day(row), symbol=observed.panel.symbols[column], value=value)


def _times(ratio: float) -> str:
    return f"up {ratio:.0f}-fold" if ratio > 1 else f"down {1 / ratio:.0f}-fold"
