"""The pictures of one backtest, beside those that it shares with the report of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from alphaswarm.research.plot import Plot, Scale, figure, thin, year_ticks

__all__ = ["cost_line", "equity_line", "exposure_lines", "month_map", "monthly_returns", "position_bars"]

Series = NDArray[np.float64]
Dates = NDArray[np.datetime64]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
ROW_HEIGHT = 26
SHADES = 5
# A month as good or bad as this is the darkest, however quiet all of them are.
DARKEST_AT_LEAST = 0.005


def equity_line(dates: Dates, equity: Series) -> Markup:
    """Equity after costs, from 1."""
    rows = thin(equity)
    plot = Plot(Scale(0, max(equity.size - 1, 1)), Scale.of(equity[rows], [1.0]), "equity after costs, from 1")
    plot.y_axis(figure, strong=1.0)
    plot.line(rows, equity[rows], "main")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def exposure_lines(dates: Dates, gross: Series, net: Series) -> Markup:
    """Gross exposure as an area, net as a line, in per cent of equity."""
    rows = thin(gross)
    plot = Plot(Scale(0, max(gross.size - 1, 1)), Scale.around_zero(gross, net), "exposure, gross and net")
    plot.y_axis(_percent)
    plot.area(rows, gross[rows], "soft")
    plot.line(rows, gross[rows], "thin")
    plot.line(rows, net[rows], "main")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def cost_line(dates: Dates, costs: Series) -> Markup:
    """All that was paid so far, in per cent of the starting capital."""
    total = np.cumsum(costs)
    rows = thin(total)
    plot = Plot(Scale(0, max(total.size - 1, 1)), Scale.around_zero(total), "costs paid so far")
    plot.y_axis(_percent)
    plot.line(rows, total[rows], "loss")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def position_bars(positions: Sequence[tuple[str, float, float]]) -> Markup:
    """Mean weights, one bar each: (symbol, mean, last)."""
    count = max(len(positions), 1)
    reach = Scale.around_zero([mean for _, mean, _ in positions] or [0.0], pad=0.2)  # room for the numbers
    plot = Plot(reach, Scale(0, count), "largest positions on average", height=max(22 * count, 44))
    for place, (symbol, mean, last) in enumerate(positions):
        top = count - place
        plot.bar(0, mean, top - 0.2, top - 0.8, "gain" if mean >= 0 else "loss", f"{symbol}: last {_percent(last, 2)}")
        plot.text(reach.low, top - 0.5, symbol, "tick end", dx=-8, dy=4)
        side = "start" if mean >= 0 else "end"
        plot.text(mean, top - 0.5, _percent(mean, 2), f"mark {side}", dx=4 if mean >= 0 else -4, dy=4)
    return plot.svg()


def monthly_returns(dates: Dates, equity: Series) -> tuple[list[int], Series]:
    """Years and compound returns [Y, 13] of their months, and of the year; NaN where the window has no day."""
    months = dates.astype("datetime64[M]").astype(np.int64) + 12 * 1970
    last = np.r_[np.flatnonzero(np.diff(months)), months.size - 1]
    level = np.r_[1.0, equity[last]]
    first_year = int(months[0]) // 12
    years = list(range(first_year, int(months[-1]) // 12 + 1))
    found = np.full((len(years), 13), np.nan)
    for place, row in enumerate(last):
        year, month = divmod(int(months[row]), 12)
        here = year - first_year
        before = level[place]
        found[here, month] = level[place + 1] / before - 1.0 if before > 0.0 else np.nan
        known = found[here, 12]
        found[here, 12] = (1.0 + (0.0 if np.isnan(known) else known)) * (1.0 + found[here, month]) - 1.0
    return years, found


def month_map(dates: Dates, equity: Series) -> Markup:
    """The return of every month as a shaded cell with its number in per cent, and of every year."""
    years, returns = monthly_returns(dates, equity)
    count = len(years)
    darkest = max(DARKEST_AT_LEAST, float(np.nanmax(np.abs(returns[:, :12]), initial=0.0)))
    plot = Plot(Scale(0, 13), Scale(0, count), "returns by month", height=ROW_HEIGHT * count)
    for column, name in enumerate((*MONTHS, "year")):
        plot.text(column + 0.5, count, name, "tick", dy=-7)
    for row, year in enumerate(years):
        level = count - row - 0.5
        plot.text(0, level, str(year), "tick end", dx=-8, dy=4)
        for column, value in enumerate(returns[row].tolist()):
            if np.isnan(value):
                continue
            share = min(1.0, abs(value) / darkest) if column < 12 else 0.0
            shade = f"{'plus' if value >= 0 else 'minus'}{round(share * SHADES)}"
            plot.bar(column + 0.03, column + 0.97, level + 0.46, level - 0.46, f"cell {shade}")
            strong = "on-dark" if share >= 0.7 else ""
            plot.text(column + 0.5, level, figure(100 * value, ".1f"), f"cell-text {strong}", dy=4)
    return plot.svg()


def _percent(value: float, digits: int | None = None) -> str:
    return figure(100 * value, "g" if digits is None else f".{digits}f", "%")
