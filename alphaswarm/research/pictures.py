"""The report's pictures: each one function from plain numbers to a fluid SVG."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from alphaswarm.research.plot import Plot, Scale, figure, thin, year_ticks

__all__ = [
    "cost_curve",
    "cumulative_ic",
    "decay_bars",
    "drawdown_area",
    "equity_lines",
    "gate",
    "heat_map",
    "hurdle_curve",
    "quantile_bars",
    "rolling_ic",
    "share_bar",
    "t_bar",
    "t_dots",
    "turnover_line",
    "yearly_bars",
]

Series = NDArray[np.float64]
Dates = NDArray[np.datetime64]

QUARTER = 63  # trading days, the span of the rolling means
NEAR = 2.0  # |t| from which a trial is worth a look, though no evidence
STACK_WIDTH = 0.25  # about, in units of t
SMALLEST_STEP = 4.0  # pixels between dots in a stack
LABEL_REACH = 0.9  # units of t that half a label may cover
LABEL_GAP = 12.0  # pixels between two labels at the ends of curves


def t_dots(points: Sequence[tuple[float, str]], hurdle: float) -> Markup:
    """Every trial's t-statistic as a dot, in stacks of about equal t, between the hurdles.

    The hill behind is what as many independent tries at pure noise would be expected to give.

    Args:
        points: (t, what the tooltip says), best first.
        hurdle: the |t| to beat; stacks end there, so no dot stands on the wrong side.
    """
    width = hurdle / round(hurdle / STACK_WIDTH)
    stacks = [math.copysign(math.floor(abs(t) / width) + 0.5, t) * width for t, _ in points]
    tallest = Counter(stacks)
    expected = len(points) * width / math.sqrt(2 * math.pi)
    height = 172
    step = min(11.0, (height - 30) / max([expected, 1, *tallest.values()]))
    edge = max([hurdle + 1.2, *(abs(t) + 0.6 for t, _ in points)])
    plot = Plot(Scale(-edge, edge), Scale(0, height), "t-statistics of all trials against the hurdle", height=height)
    for side in (-1, 1):
        plot.zone(side * hurdle, side * edge)
        plot.segment(side * hurdle, 0, side * hurdle, height, "hurdle")
        plot.text(side * hurdle, height, f"hurdle {figure(side * hurdle, '.2f')}", "mark hurdle", dy=-6)
    hill = np.linspace(-edge, edge, 121)
    plot.area(hill, expected * step * np.exp(-(hill**2) / 2), "noise")
    if step < SMALLEST_STEP:  # too many for dots: a histogram
        for stack, count in sorted(tallest.items()):
            half = 0.4 * width
            plot.bar(stack - half, stack + half, 0, step * count, gate(stack, hurdle), f"{count} trials")
    else:
        levels: Counter[float] = Counter()
        for stack, (t, title) in zip(stacks, points, strict=True):
            plot.dot(stack, 0, gate(t, hurdle), radius=step / 2 - 0.7, title=title, lift=step * (levels[stack] + 0.5))
            levels[stack] += 1
    if points:
        best, place = points[0][0], stacks[0]
        lift = step * max(count for other, count in tallest.items() if abs(other - place) < LABEL_REACH) + 7
        align = "" if abs(place) < edge - LABEL_REACH else "end" if place > 0 else "start"
        plot.text(place, 0, f"best {figure(best, '.2f')}", f"mark {gate(best, hurdle)} {align}", dy=-lift)
    plot.level(0)
    plot.x_axis((tick, figure(tick)) for tick in Scale(-edge, edge).ticks(8))
    return plot.svg()


def share_bar(share: float, style: str = "") -> Markup:
    """A plain bar, `share` of the width."""
    plot = Plot(Scale(0, 1), Scale(0, 1), "", height=14)
    plot.bar(0, max(share, 0.004) if share else 0, 0, 1, style)
    return plot.svg()


def t_bar(t: float | None, hurdle: float, top: float) -> Markup:
    """|t| as a bar against the tick of the hurdle; `top` is the axis' end."""
    plot = Plot(Scale(0, top), Scale(0, 1), "", height=12)
    if t is not None:
        plot.bar(0, min(abs(t), top), 0.25, 0.75, gate(t, hurdle))
    plot.segment(hurdle, 0, hurdle, 1, "hurdle")
    return plot.svg()


def cumulative_ic(dates: Dates, rank_ic: Series) -> Markup:
    """Running sum of the daily RankIC: a steady slope is a steady factor."""
    rows = thin(rank_ic)
    total = np.nancumsum(rank_ic)[rows]
    plot = Plot(Scale(0, rank_ic.size - 1), Scale.around_zero(total), "cumulative RankIC")
    plot.y_axis(figure)
    plot.area(rows, total, "soft")
    plot.line(rows, total, "main")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def rolling_ic(dates: Dates, rank_ic: Series) -> Markup:
    """Mean RankIC over the last quarter, above and below zero."""
    mean = _rolling_mean(rank_ic, QUARTER)
    rows = thin(mean)
    plot = Plot(Scale(0, mean.size - 1), Scale.around_zero(mean), f"RankIC, mean of {QUARTER} days")
    plot.y_axis(figure)
    plot.area(rows, np.maximum(mean[rows], 0), "gain")
    plot.area(rows, np.minimum(mean[rows], 0), "loss")
    plot.line(rows, mean[rows], "thin")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def yearly_bars(dates: Dates, rank_ic: Series) -> Markup:
    """Mean RankIC of each calendar year."""
    years = dates.astype("datetime64[Y]").astype(np.int64) + 1970
    names = [year for year in np.unique(years) if np.isfinite(rank_ic[years == year]).any()]
    means = [float(np.nanmean(rank_ic[years == year])) for year in names]
    bars = [(str(year), mean, f"{year}: {figure(mean, '.4f')}") for year, mean in zip(names, means, strict=True)]
    return _bars(bars, "RankIC by year")


def decay_bars(decay: Mapping[int, tuple[float | None, float | None]], horizon: int) -> Markup:
    """RankIC over horizons with a whisker of two standard errors; the one researched is filled.

    Args:
        decay: horizon in days to (RankIC, its Newey-West t).
        horizon: the one the run researched.
    """
    shown = [(days, ic, t) for days, (ic, t) in sorted(decay.items()) if ic is not None]
    errors = [abs(ic / t) * 2 if t else 0.0 for _, ic, t in shown]
    reach = [ic + sign * error for (_, ic, _), error in zip(shown, errors, strict=True) for sign in (-1, 1)]
    plot = Plot(Scale(0, max(len(shown), 4)), Scale.around_zero(reach), "RankIC over horizons")
    plot.y_axis(figure)
    for place, ((days, ic, t), error) in enumerate(zip(shown, errors, strict=True)):
        title = f"{days} days: {figure(ic, '.4f')}" + (f", t {figure(t, '.2f')}" if t is not None else "")
        plot.bar(place + 0.24, place + 0.76, 0, ic, "gain" if days == horizon else "pale", title)
        plot.segment(place + 0.5, ic - error, place + 0.5, ic + error, "whisker")
    plot.x_axis((place + 0.5, f"{days}d") for place, (days, _, _) in enumerate(shown))
    return plot.svg()


def quantile_bars(quantiles: Sequence[float | None]) -> Markup:
    """Mean return of each bucket, lowest factor values first, less the mean of all: in basis points."""
    known = [value for value in quantiles if value is not None]
    level = sum(known) / len(known) if known else 0.0
    shown = [(f"Q{place}", 1e4 * (value - level)) for place, value in enumerate(quantiles, 1) if value is not None]
    bars = [(name, value, f"{name}: {figure(value, '.1f')} bp") for name, value in shown]
    return _bars(bars, "mean return of each bucket, less the mean of all")


def turnover_line(dates: Dates, turnover: Series) -> Markup:
    """Daily turnover, both sides, averaged over a quarter."""
    mean = _rolling_mean(turnover, QUARTER)
    rows = thin(mean)
    plot = Plot(Scale(0, mean.size - 1), Scale.around_zero(mean, pad=0.1), "turnover per day")
    plot.y_axis(_percent)
    plot.line(rows, mean[rows], "main")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def equity_lines(dates: Dates, curves: Mapping[float, Series], default_bp: float) -> Markup:
    """Equity by cost, labelled at the ends; the default cost is the strong line."""
    rows = thin(curves[default_bp])
    thinned = {cost: curve[rows] for cost, curve in sorted(curves.items())}
    end = dates.size - 1
    plot = Plot(Scale(0, end), Scale.of(*thinned.values(), [1]), "equity after costs, from 1")
    plot.y_axis(figure, strong=1.0)
    for cost, curve in thinned.items():
        plot.line(rows, curve, "main" if cost == default_bp else "thin")
    places = _apart([plot.down(float(curve[-1])) for curve in thinned.values()], plot.height - 5)
    for (cost, curve), place in zip(thinned.items(), places, strict=True):
        last = float(curve[-1])
        style = "mark start strong" if cost == default_bp else "mark start"
        plot.text(end, last, f"{cost:g} bp", style, dx=5, dy=place - plot.down(last) + 3.5)
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def drawdown_area(dates: Dates, equity: Series) -> Markup:
    """How far equity stands below its highest point, starting capital included."""
    fall = equity / np.maximum.accumulate(np.maximum(equity, 1.0)) - 1
    rows = thin(fall, extreme=True)
    plot = Plot(Scale(0, fall.size - 1), Scale.around_zero(fall, [-1e-4]), "drawdown")
    plot.y_axis(_percent)
    plot.area(rows, fall[rows], "loss")
    plot.line(rows, fall[rows], "loss thin")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def cost_curve(net_sharpe: Mapping[float, float | None], breakeven_bp: float | None, default_bp: float) -> Markup:
    """Sharpe after costs; where it meets zero is the break-even cost."""
    points = [(cost, sharpe) for cost, sharpe in sorted(net_sharpe.items()) if sharpe is not None]
    costs, sharpes = [cost for cost, _ in points], [sharpe for _, sharpe in points]
    plot = Plot(Scale(0, max([10.0, *costs])), Scale.around_zero(sharpes, pad=0.12), "Sharpe after costs")
    plot.y_axis(figure)
    plot.line(costs, sharpes, "main")
    for cost, sharpe in points:
        style = "beat" if cost == default_bp else "ring"
        plot.dot(cost, sharpe, style, title=f"{cost:g} bp: {figure(sharpe, '.2f')}")
    if breakeven_bp is not None and 0 < breakeven_bp < plot.x.high:
        plot.dot(breakeven_bp, 0, "hurdle", radius=3)
        side, shift = ("end", -5) if plot.x.place(breakeven_bp) > 0.8 else ("start", 5)
        below = 14 if side == "end" else -6  # the curve falls from left to right
        plot.text(breakeven_bp, 0, f"{breakeven_bp:.1f} bp", f"mark hurdle {side}", dx=shift, dy=below)
    plot.x_axis((cost, f"{cost:g}") for cost in costs if cost != 1)
    return plot.svg()


def heat_map(names: Sequence[str], matrix: Series) -> Markup:
    """Correlations as shaded cells with their numbers."""
    size = len(names)
    plot = Plot(Scale(0, size), Scale(0, size), "correlations between the factors shown", height=34 * size)
    for row in range(size):
        plot.text(0, size - row - 0.5, names[row], "tick end", dx=-8, dy=4)
        plot.text(row + 0.5, size, names[row], "tick", dy=-7)
        for column in range(size):
            value = float(matrix[row, column])
            known = math.isfinite(value)
            shade = f"{'plus' if value >= 0 else 'minus'}{min(5, round(abs(value) * 5))}" if known else "blank"
            plot.bar(column + 0.02, column + 0.98, size - row - 0.03, size - row - 0.97, f"cell {shade}")
            words = figure(value, ".2f") if known else "?"
            strong = "on-dark" if known and abs(value) >= 0.7 else ""
            plot.text(column + 0.5, size - row - 0.5, words, f"cell-text {strong}", dy=4)
    return plot.svg()


def hurdle_curve(counts: Sequence[int], hurdles: Sequence[float], trials: int, hurdle: float) -> Markup:
    """How the hurdle grows with the number of trials, and where this panel stands."""
    places = [math.log10(count) for count in counts]
    plot = Plot(Scale(places[0], places[-1]), Scale.of(hurdles, pad=0.12), "hurdle against the number of trials")
    plot.y_axis(figure, strong=math.nan)
    plot.line(places, hurdles, "main")
    here = min(max(math.log10(max(trials, 1)), places[0]), places[-1])
    plot.dot(here, hurdle, "beat", radius=4)
    plot.text(here, hurdle, f"N = {trials:,}", "mark strong", dy=-9)
    plot.x_axis((float(power), f"{10**power:,}") for power in range(round(places[0]), round(places[-1]) + 1))
    return plot.svg()


def _bars(bars: Sequence[tuple[str, float, str]], label: str) -> Markup:
    """Bars from zero: (name below, value, tooltip)."""
    plot = Plot(Scale(0, max(len(bars), 4)), Scale.around_zero([value for _, value, _ in bars]), label)
    plot.y_axis(figure)
    for place, (_, value, title) in enumerate(bars):
        plot.bar(place + 0.2, place + 0.8, 0, value, "gain" if value >= 0 else "loss", title)
    plot.x_axis((place + 0.5, name) for place, (name, _, _) in enumerate(bars))
    return plot.svg()


def _rolling_mean(values: Series, window: int) -> Series:
    """Mean of the finite values among the last `window`; NaN until half of them are there. [T]."""
    finite = np.isfinite(values)
    total, count = np.cumsum(np.where(finite, values, 0.0)), np.cumsum(finite)
    total[window:], count[window:] = total[window:] - total[:-window], count[window:] - count[:-window]
    mean: Series = np.divide(total, count, out=np.full(values.size, np.nan), where=count * 2 >= window)
    return mean


def _apart(places: Sequence[float], height: float) -> list[float]:
    """Pixel places moved so that no two labels touch and none leaves the plot, order kept."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = [places[index] for index in order]
    for index in range(1, len(moved)):
        moved[index] = max(moved[index], moved[index - 1] + LABEL_GAP)
    for index in range(len(moved) - 1, -1, -1):
        ceiling = height if index == len(moved) - 1 else moved[index + 1] - LABEL_GAP
        moved[index] = min(moved[index], ceiling)
    return [place for _, place in sorted(zip(order, moved, strict=True))]


def gate(t: float, hurdle: float) -> str:
    """`beat` the hurdle, `near` enough to look at, or the `rest`."""
    return "beat" if abs(t) >= hurdle else "near" if abs(t) >= NEAR else "rest"


def _percent(value: float) -> str:
    return figure(100 * value, unit="%")
