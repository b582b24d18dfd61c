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
    "Point",
    "capacity_curve",
    "cost_curve",
    "cost_curves",
    "cumulative",
    "drawdown_area",
    "equity_lines",
    "forest",
    "gate",
    "heat_map",
    "hurdle_curve",
    "intervals",
    "money",
    "paired_bars",
    "quantile_bars",
    "share_bar",
    "t_bar",
    "t_dots",
    "turnover_line",
]

Series = NDArray[np.float64]
Dates = NDArray[np.datetime64]
Point = tuple[float | None, float | None]  # a mean and its t

SMALL = 124  # pixels, height of a picture of which twelve share a screen
QUARTER = 63  # trading days, the span of the rolling means
NEAR = 2.0  # |t| from which a trial is worth a look, though no evidence
STACK_WIDTH = 0.25  # about, in units of t
SMALLEST_STEP = 4.0  # pixels between dots in a stack
LABEL_REACH = 0.9  # units of t that half a label may cover
KINDS = ("evidence", "RankIC")
LABEL_GAP = 12.0  # pixels between two labels at the ends of curves


def t_dots(points: Sequence[tuple[float, str]], hurdle: float) -> Markup:
    """Every trial's z as a dot, in stacks of about equal z, between the hurdles.

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
    plot = Plot(Scale(-edge, edge), Scale(0, height), "z of all trials against the hurdle", height=height)
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
        align = "" if abs(place) < edge - LABEL_REACH else "end" if place > 0 else "start"
        reach = 2 * LABEL_REACH if align else LABEL_REACH
        lift = step * max(count for other, count in tallest.items() if abs(other - place) < reach) + 7
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


def cumulative(dates: Dates, evidence: Series, rank_ic: Series) -> Markup:
    """Running sums of the daily evidence, strong, and RankIC, thin: a steady slope is a steady factor."""
    rows = thin(rank_ic)
    sums = [np.nancumsum(days)[rows] for days in (evidence, rank_ic)]
    plot = Plot(Scale(0, rank_ic.size - 1), Scale.around_zero(*sums), "cumulative evidence and RankIC", height=SMALL)
    plot.y_axis(figure)
    plot.area(rows, sums[0], "soft")
    plot.line(rows, sums[1], "thin")
    plot.line(rows, sums[0], "main")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def paired_bars(parts: Sequence[tuple[str, Point, Point]], label: str, strong: str = "") -> Markup:
    """Evidence, filled, and RankIC, pale, of each part, with whiskers of two standard errors.

    Args:
        parts: (name, evidence, RankIC); each a mean and its Newey-West t.
        label: what the picture shows.
        strong: the name to point out.
    """
    bounds = [bound for _, *points in parts for point in points for bound in _bounds(point)]
    plot = Plot(Scale(0, max(len(parts), 4)), Scale.around_zero(bounds), label, height=SMALL)
    plot.y_axis(figure)
    for place, (name, *points) in enumerate(parts):
        for point, kind, left, style in zip(points, KINDS, (0.16, 0.51), ("main", "pale"), strict=True):
            value, _ = point
            if value is not None:
                low, high = _bounds(point)
                plot.bar(place + left, place + left + 0.33, 0, value, style, _told(name, kind, point))
                plot.segment(place + left + 0.165, low, place + left + 0.165, high, "whisker")
    names = [name for name, *_ in parts]
    step = math.ceil(len(names) / 7)
    for place in range(0, len(names), step):
        style = "tick strong" if names[place] == strong else "tick"
        plot.text(place + 0.5, plot.y.low, names[place], style, dy=15)
    return plot.svg()


def forest(rows: Sequence[tuple[str, Point, Point]], label: str) -> Markup:
    """Evidence, a dot, over RankIC, a ring, of each row, with whiskers of two standard errors about them."""
    bounds = [bound for _, *points in rows for point in points for bound in _bounds(point)]
    plot = Plot(Scale.around_zero(bounds), Scale(0, max(len(rows), 1)), label, height=SMALL)
    for tick in plot.x.ticks(3):
        plot.segment(tick, 0, tick, plot.y.high, "zero" if tick == 0 else "grid")
    for place, (name, *points) in enumerate(rows):
        middle = len(rows) - place - 0.5
        plot.text(plot.x.low, middle, name, "tick end", dx=-8, dy=4)
        for point, kind, lift, style in zip(points, KINDS, (0.15, -0.15), ("main", "ring"), strict=True):
            value, _ = point
            if value is not None:
                low, high = _bounds(point)
                plot.segment(low, middle + lift, high, middle + lift, "whisker")
                plot.dot(value, middle + lift, style, radius=3, title=_told(name, kind, point))
    plot.x_axis((tick, figure(tick)) for tick in plot.x.ticks(3))
    return plot.svg()


def intervals(rows: Sequence[tuple[str, float | None, tuple[float, float] | None, str]]) -> Markup:
    """Intervals about zero, each in its own unit: (name, value, interval, number as it is shown)."""
    plot = Plot(Scale(-1, 1), Scale(0, max(len(rows), 1)), "95 % intervals by block bootstrap", height=SMALL)
    plot.segment(0, 0, 0, plot.y.high, "zero")
    for place, (name, value, ends, words) in enumerate(rows):
        middle = len(rows) - place - 0.5
        plot.text(-1, middle, name, "tick end", dx=-8, dy=4)
        plot.text(1, middle, words, "tick start", dx=8, dy=4)
        if value is None or ends is None:
            continue
        reach = max(abs(ends[0]), abs(ends[1])) or 1.0
        beyond = "main" if ends[0] * ends[1] > 0 else "rest"
        plot.bar(ends[0] / reach, ends[1] / reach, middle - 0.07, middle + 0.07, beyond)
        plot.dot(value / reach, middle, beyond, radius=3.5)
    return plot.svg()


def quantile_bars(quantiles: Sequence[float | None]) -> Markup:
    """Mean return of each bucket, lowest factor values first, less the mean of all: in basis points."""
    known = [value for value in quantiles if value is not None]
    level = sum(known) / len(known) if known else 0.0
    shown = [(f"Q{place}", 1e4 * (value - level)) for place, value in enumerate(quantiles, 1) if value is not None]
    bars = [(name, value, f"{name}: {figure(value, '.1f')} bp") for name, value in shown]
    plot = Plot(
        Scale(0, max(len(bars), 4)),
        Scale.around_zero([value for _, value, _ in bars]),
        "mean return of each bucket, less the mean of all",
        height=SMALL,
    )
    plot.y_axis(figure)
    for place, (_, value, title) in enumerate(bars):
        plot.bar(place + 0.2, place + 0.8, 0, value, "main", title)
    plot.x_axis((place + 0.5, name) for place, (name, _, _) in enumerate(bars))
    return plot.svg()


def turnover_line(dates: Dates, turnover: Series) -> Markup:
    """Daily turnover, both sides, averaged over a quarter."""
    mean = _rolling_mean(turnover, QUARTER)
    rows = thin(mean)
    plot = Plot(Scale(0, mean.size - 1), Scale.around_zero(mean, pad=0.1), "turnover per day", height=SMALL)
    plot.y_axis(_percent)
    plot.line(rows, mean[rows], "main")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def equity_lines(dates: Dates, curves: Mapping[float, Series], default_bp: float) -> Markup:
    """Equity by cost, labelled at the ends; the default cost is the strong line."""
    rows = thin(curves[default_bp])
    thinned = {cost: curve[rows] for cost, curve in sorted(curves.items())}
    end = dates.size - 1
    plot = Plot(Scale(0, end), Scale.of(*thinned.values(), [1]), "equity after costs, from 1", height=SMALL)
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
    plot = Plot(Scale(0, fall.size - 1), Scale.around_zero(fall, [-1e-4]), "drawdown", height=SMALL)
    plot.y_axis(_percent)
    plot.area(rows, fall[rows], "loss")
    plot.line(rows, fall[rows], "loss thin")
    plot.x_axis(year_ticks(dates), "start")
    return plot.svg()


def cost_curve(net_sharpe: Mapping[float, float | None], breakeven_bp: float | None, default_bp: float) -> Markup:
    """Sharpe after costs; where it meets zero is the break-even cost."""
    points = [(cost, sharpe) for cost, sharpe in sorted(net_sharpe.items()) if sharpe is not None]
    costs, sharpes = [cost for cost, _ in points], [sharpe for _, sharpe in points]
    scale = Scale.around_zero(sharpes, pad=0.12)
    plot = Plot(Scale(0, max([10.0, *costs])), scale, "Sharpe after costs", height=SMALL)
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


def cost_curves(
    curves: Sequence[tuple[str, Mapping[float, float | None], str]], default_bp: float, asked: float
) -> Markup:
    """Sharpe after costs of several factors, and the height that is asked at the default cost.

    Args:
        curves: (name, cost to Sharpe ratio, style of the line).
        default_bp: where the height applies.
        asked: that height.
    """
    known = [(name, {c: s for c, s in sorted(curve.items()) if s is not None}, style) for name, curve, style in curves]
    known = [one for one in known if len(one[1]) > 1]
    costs = sorted({cost for _, curve, _ in known for cost in curve})
    heights = Scale.around_zero([sharpe for _, curve, _ in known for sharpe in curve.values()], [asked], pad=0.1)
    plot = Plot(Scale(0, max([10.0, *costs])), heights, "Sharpe after costs of every bet", height=172)
    plot.y_axis(figure)
    plot.segment(default_bp, heights.low, default_bp, heights.high, "grid")
    for _, curve, style in known:
        plot.line(list(curve), list(curve.values()), style)
    if heights.high > asked > heights.low:
        plot.segment(default_bp - 0.35, asked, default_bp + 0.35, asked, "hurdle")
        plot.text(default_bp, asked, f"asked {asked:g} at {default_bp:g} bp", "mark hurdle start", dx=24, dy=4)
    ends = [list(curve.values())[-1] for _, curve, _ in known]
    for (name, *_), end, place in zip(known, ends, _apart([plot.down(end) for end in ends], plot.height), strict=True):
        plot.text(plot.x.high, end, name, "mark start", dx=5, dy=place - plot.down(end) + 3.5)
    plot.x_axis((cost, f"{cost:g}") for cost in costs if cost != 1)
    return plot.svg()


def capacity_curve(curve: Sequence[tuple[float, float | None]], aum: float | None, sharpe: float | None) -> Markup:
    """Sharpe after impact by the money that is run, and the money that can be run.

    Impact grows with the root of the money, and so falls the ratio, nearly: between its points the curve is drawn so.

    Args:
        curve: (money, Sharpe ratio after impact).
        aum: the capacity.
        sharpe: before impact.
    """
    known = [(amount, value) for amount, value in curve if value is not None]
    top = sharpe if sharpe is not None and sharpe > 0 else 1.0
    powers = [math.log10(amount) for amount, _ in known] or [6.0, 10.0]
    if aum is not None:
        powers.append(math.log10(aum))
    plot = Plot(
        Scale(math.floor(min(powers)), math.ceil(max(powers))),
        Scale(-0.3 * top, 1.12 * top),
        "Sharpe after impact by money run",
        height=SMALL,
    )
    plot.y_axis(figure)
    if known and sharpe is not None:
        grid = np.linspace(plot.x.low, plot.x.high, 120)
        roots = [0.0, *(math.sqrt(amount) for amount, _ in known)]
        heights = np.interp(10 ** (grid / 2), roots, [sharpe, *(value for _, value in known)])
        inside = heights >= plot.y.low
        plot.line(grid[inside], heights[inside], "main")
        if aum is not None:
            height = max(float(np.interp(math.sqrt(aum), roots, [sharpe, *(value for _, value in known)])), plot.y.low)
            side, shift = ("end", -7) if plot.x.place(math.log10(aum)) > 0.65 else ("start", 7)
            plot.dot(math.log10(aum), height, "hurdle", radius=3)
            plot.text(math.log10(aum), height, money(aum), f"mark hurdle {side}", dx=shift, dy=-3)
    first, last = math.ceil(plot.x.low), math.floor(plot.x.high)
    ticks = range(first, last + 1, 1 + (last - first) // 5)  # five labels fit
    plot.x_axis((float(power), money(10.0**power)) for power in ticks)
    return plot.svg()


def money(amount: float) -> str:
    """An amount in two digits or three: "35 M", "1.2 B"."""
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if amount >= 0.9995 * size:
            return f"{amount / size:.{0 if amount >= 9.95 * size else 1}f}".removesuffix(".0") + f" {unit}"
    return f"{amount:.0f}"


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


def _bounds(point: Point) -> tuple[float, ...]:
    """Two standard errors below and above a mean; the mean twice where it has no t; nothing without a mean."""
    value, t = point
    if value is None:
        return ()
    error = 2 * abs(value / t) if t else 0.0
    return value - error, value + error


def _told(name: str, kind: str, point: Point) -> str:
    value, t = point
    words = f"{name}, {kind}: {figure(value or 0.0, '.4f')}"
    return words if t is None else f"{words}, t {figure(t, '.2f')}"


def _percent(value: float) -> str:
    return figure(100 * value, unit="%")
