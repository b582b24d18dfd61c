"""Fluid SVG plots, written by hand: text keeps its size while the picture takes the width it is given.

The x axis counts in per cent of the width, the y axis in pixels, so nothing is scaled but the
curves, and those keep their stroke. Colours are style classes only: the page's style sheet
decides them, in light and in dark. The same numbers give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

__all__ = ["Plot", "Scale", "figure", "number", "thin", "year_ticks"]

CURVE_WIDTH = 1000  # units across in which curves are drawn
CURVE_POINTS = 400  # more than a column of a page can show
PERIOD_DAYS = 400  # shorter time axes are ticked by quarter, not by year


@dataclass(frozen=True)
class Scale:
    """A linear axis from `low` to `high`."""

    low: float
    high: float

    @classmethod
    def of(cls, *values: ArrayLike, pad: float = 0.06) -> Scale:
        """The axis that holds every finite number of `values`, with `pad` of its span on both sides."""
        numbers = np.concatenate([np.ravel(np.asarray(part, np.float64)) for part in values])
        finite = numbers[np.isfinite(numbers)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        span = high - low or abs(high) or 1.0
        return cls(low - pad * span, high + pad * span)

    @classmethod
    def around_zero(cls, *values: ArrayLike, pad: float = 0.06) -> Scale:
        """Like `of`, but holds zero, and zero is the very end of an axis whose numbers all lie on one side."""
        wide = cls.of(*values, [0.0], pad=0.0)
        if wide.low == wide.high:
            return cls(0.0, 1.0)
        room = pad * (wide.high - wide.low)
        return cls(wide.low - room if wide.low < 0 else 0.0, wide.high + room if wide.high > 0 else 0.0)

    def place(self, value: float) -> float:
        """Where `value` lies: 0 at `low`, 1 at `high`."""
        return (value - self.low) / (self.high - self.low)

    def ticks(self, count: int = 4) -> list[float]:
        """About `count` round numbers (1, 2 or 5 times a power of ten) inside the axis."""
        rough = (self.high - self.low) / max(count, 1)
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough * 0.999)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [round(number * step, 12) for number in range(first, last + 1)]


class Plot:
    """One plot area; marks are added in drawing order, `svg()` gives the picture.

    Every label, tick and tooltip is escaped here, whatever the caller passes.

    Args:
        x: horizontal axis.
        y: vertical axis.
        label: what the picture shows, in words, for those who don't see it.
        height: pixels.
    """

    def __init__(self, x: Scale, y: Scale, label: str, *, height: int = 132) -> None:
        self.x, self.y, self.label, self.height = x, y, label, height
        self._back: list[Markup] = []  # axes and zones
        self._curves: list[Markup] = []
        self._marks: list[Markup] = []

    def across(self, value: float) -> str:
        """`value` on the x axis in per cent of the width."""
        return f"{round(100 * self.x.place(value), 2):g}%"

    def down(self, value: float) -> float:
        """`value` on the y axis in pixels from the top."""
        return round(self.height * (1 - self.y.place(value)), 1)

    def line(self, xs: ArrayLike, ys: ArrayLike, style: str = "") -> None:
        """A curve; NaN breaks it."""
        self._curves.append(Markup('<path class="line {}" d="{}"/>').format(style, self._path(xs, ys)))

    def area(self, xs: ArrayLike, ys: ArrayLike, style: str = "", base: float = 0.0) -> None:
        """What lies between a curve and `base`; NaN counts as `base`."""
        x, y = np.asarray(xs, np.float64), np.asarray(ys, np.float64)
        if not x.size:
            return
        x, y = np.r_[x[0], x, x[-1]], np.r_[base, np.where(np.isnan(y), base, y), base]
        self._curves.append(Markup('<path class="area {}" d="{}z"/>').format(style, self._path(x, y)))

    def bar(self, x0: float, x1: float, y0: float, y1: float, style: str = "", title: str = "") -> None:
        """A rectangle between two corners."""
        self._marks.append(self._rectangle(x0, x1, y0, y1, style, title))

    def zone(self, x0: float, x1: float) -> None:
        """A tinted part of the plot, behind everything."""
        self._back.append(self._rectangle(x0, x1, self.y.low, self.y.high, "zone", ""))

    def _rectangle(self, x0: float, x1: float, y0: float, y1: float, style: str, title: str) -> Markup:
        left, right = sorted((100 * self.x.place(x0), 100 * self.x.place(x1)))
        top, bottom = sorted((self.down(y0), self.down(y1)))
        return Markup('<rect class="bar {}" x="{:.2f}%" y="{}" width="{:.2f}%" height="{}">{}</rect>').format(
            style, left, top, right - left, round(bottom - top, 1), _title(title)
        )

    def dot(
        self, x: float, y: float, style: str = "", *, radius: float = 3.5, title: str = "", lift: float = 0
    ) -> None:
        """A point, raised by `lift` pixels."""
        self._marks.append(
            Markup('<circle class="dot {}" cx="{}" cy="{}" r="{:g}">{}</circle>').format(
                style, self.across(x), round(self.down(y) - lift, 1), radius, _title(title)
            )
        )

    def segment(self, x0: float, y0: float, x1: float, y1: float, style: str = "") -> None:
        """A straight stroke between two points."""
        self._marks.append(self._stroke(x0, y0, x1, y1, style))

    def level(self, y: float, style: str = "zero") -> None:
        """A line from side to side, behind the curves."""
        self._back.append(self._stroke(self.x.low, y, self.x.high, y, style))

    def _stroke(self, x0: float, y0: float, x1: float, y1: float, style: str) -> Markup:
        return Markup('<line class="stroke {}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            style, self.across(x0), self.down(y0), self.across(x1), self.down(y1)
        )

    def text(self, x: float, y: float, text: str, style: str = "", *, dx: float = 0, dy: float = 0) -> None:
        """Words at a point, moved by `dx`, `dy` pixels; classes `start`, `end` align them."""
        self._marks.append(
            Markup('<text class="{}" x="{}" y="{}" dx="{:g}">{}</text>').format(
                style, self.across(x), round(self.down(y) + dy, 1), dx, text
            )
        )

    def y_axis(self, form: Callable[[float], str], strong: float = 0.0) -> None:
        """Faint lines with numbers at the left; the line at `strong` is stronger."""
        for tick in self.y.ticks():
            self.level(tick, "zero" if tick == strong else "grid")
            self.text(self.x.low, tick, form(tick), "tick end", dx=-6, dy=3.5)

    def x_axis(self, ticks: Iterable[tuple[float, str]], style: str = "") -> None:
        """Numbers under the plot; class `start` lets them begin at their place."""
        for place, words in ticks:
            self.text(place, self.y.low, words, f"tick {style}", dy=15)

    def svg(self) -> Markup:
        """The picture."""
        curves = Markup(
            '<svg width="100%" height="100%" viewBox="0 0 {} {}" preserveAspectRatio="none">{}</svg>'
        ).format(CURVE_WIDTH, self.height, Markup("").join(self._curves))
        return Markup('<svg class="plot" role="img" aria-label="{}" height="{}">{}{}{}</svg>').format(
            self.label,
            self.height,
            Markup("").join(self._back),
            curves if self._curves else "",
            Markup("").join(self._marks),
        )

    def _path(self, xs: ArrayLike, ys: ArrayLike) -> str:
        x = CURVE_WIDTH * (np.asarray(xs, np.float64) - self.x.low) / (self.x.high - self.x.low)
        y = self.height * (1 - (np.asarray(ys, np.float64) - self.y.low) / (self.y.high - self.y.low))
        parts: list[str] = []
        pen = "M"
        for across, down in zip(x.tolist(), y.tolist(), strict=True):
            if down != down:  # NaN
                pen = "M"
                continue
            parts.append(f"{pen}{across:.0f} {down:.1f}")
            pen = "L"
        return "".join(parts)


def thin(values: NDArray[np.float64], points: int = CURVE_POINTS, extreme: bool = False) -> NDArray[np.int64]:
    """Row numbers that stand for a long series: the last of each bucket, or its lowest value if `extreme`."""
    edges = np.unique(np.linspace(0, values.size, min(points, values.size) + 1).round().astype(np.int64))
    if not extreme:
        return edges[1:] - 1
    lowest = np.where(np.isnan(values), np.inf, values)
    return np.array([start + int(np.argmin(lowest[start:end])) for start, end in pairwise(edges)], np.int64)


def year_ticks(dates: NDArray[np.datetime64], most: int = 4) -> list[tuple[float, str]]:
    """(row, label) where each year begins, at most `most` of them; each quarter when the dates span about one year."""
    short = bool((dates[-1] - dates[0]) < np.timedelta64(PERIOD_DAYS, "D"))
    periods = dates.astype("datetime64[M]").astype(np.int64) // (3 if short else 12)
    first = np.flatnonzero(np.diff(periods, prepend=-1))
    if first.size > 1 and first[1] < dates.size / (4 if short else 12):
        first = first[1:]  # a stub at the start: its label would touch the next
    fits = first < dates.size * (0.84 if short else 0.93)  # labels begin at their day and must end in the plot
    rows = first[fits][:: math.ceil(first.size / most)]
    names = np.datetime_as_string(dates[rows], "M" if short else "Y")
    return [(float(row), str(name)) for row, name in zip(rows, names, strict=True)]


def figure(value: float, form: str = "g", unit: str = "") -> str:
    """A number as it is shown everywhere: a true minus sign, no negative zero."""
    return format(value, f"z{form}").replace("-", "\N{MINUS SIGN}") + unit


def number(value: float | None, form: str, unit: str = "", *, scale: float = 1.0, why: str = "") -> Markup:
    """A number times `scale` as it is shown; a dash that says why where there is none."""
    if value is None:
        return Markup('<span class="none" title="{}">&ndash;</span>').format(why or "not to be had")
    return Markup("{}").format(figure(value * scale, form, unit))


def _title(text: str) -> Markup:
    return Markup("<title>{}</title>").format(text) if text else Markup("")
