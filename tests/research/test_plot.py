"""Plots: what is drawn lies where the numbers say, and no text can break out."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.research.plot import CURVE_WIDTH, Plot, Scale, figure, number, thin, year_ticks

finite = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)


def drawn(plot: Plot) -> ElementTree.Element:
    return ElementTree.fromstring(str(plot.svg()))  # noqa: S314  our own output


def test_a_scale_holds_its_numbers_with_room() -> None:
    scale = Scale.of([1.0, np.nan, 3.0], [2.0], pad=0.5)
    assert (scale.low, scale.high) == (0.0, 4.0)
    assert scale.place(1.0) == 0.25


@pytest.mark.parametrize("values", [[], [np.nan], [0.0], [5.0], [-5.0, -5.0]])
def test_a_scale_of_little_still_has_a_span(values: list[float]) -> None:
    for scale in (Scale.of(values), Scale.around_zero(values)):
        assert scale.low < scale.high
        assert len(scale.ticks()) >= 1


def test_zero_ends_a_one_sided_axis() -> None:
    assert Scale.around_zero([1.0, 2.0]).low == 0.0
    assert Scale.around_zero([-1.0, -2.0]).high == 0.0
    both = Scale.around_zero([-1.0, 3.0], pad=0.1)
    assert (both.low, both.high) == pytest.approx((-1.4, 3.4))


@given(finite, finite, st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_ticks_are_round_and_inside(one: float, other: float, count: int) -> None:
    if abs(one - other) < 1e-3:
        return
    scale = Scale(min(one, other), max(one, other))
    ticks = scale.ticks(count)
    slack = 1e-6 * (scale.high - scale.low)
    assert all(scale.low - slack <= tick <= scale.high + slack for tick in ticks)
    assert len(ticks) <= count + 2
    steps = {float(f"{step:.9g}") for step in np.diff(ticks)}
    mantissas = {round(step / 10 ** math.floor(math.log10(step) + 1e-9), 6) for step in steps}
    assert mantissas <= {1.0, 2.0, 5.0, 10.0}


def test_a_curve_goes_where_its_numbers_are_and_breaks_at_nan() -> None:
    plot = Plot(Scale(0, 4), Scale(0, 10), "x", height=100)
    plot.line([0, 1, 2, 3, 4], [0.0, 5.0, np.nan, 10.0, 2.5], "main")
    path = drawn(plot).find(".//path")
    assert path is not None
    assert path.get("d") == f"M0 100.0L{CURVE_WIDTH // 4} 50.0M{3 * CURVE_WIDTH // 4} 0.0L{CURVE_WIDTH} 75.0"


def test_an_area_closes_on_its_base() -> None:
    plot = Plot(Scale(0, 2), Scale(-1, 1), "x", height=100)
    plot.area([0, 1, 2], [1.0, np.nan, -1.0])
    path = drawn(plot).find(".//path")
    assert path is not None
    assert path.get("d") == "M0 50.0L0 0.0L500 50.0L1000 100.0L1000 50.0z"
    empty = Plot(Scale(0, 2), Scale(-1, 1), "x")
    empty.area([], [])
    assert drawn(empty).find(".//path") is None


def test_marks_are_placed_in_per_cent_and_pixels() -> None:
    plot = Plot(Scale(0, 10), Scale(-1, 1), "x", height=100)
    plot.bar(8, 2, 0, 0.5, "gain", "five")
    plot.dot(5, -1, lift=4)
    plot.text(10, 1, "end", "end", dx=-3, dy=2)
    plot.level(0)
    root = drawn(plot)
    bar, dot, text, level = (root.find(name) for name in ("rect", "circle", "text", "line"))
    assert bar is not None
    assert dot is not None
    assert text is not None
    assert level is not None
    assert [bar.get(key) for key in ("x", "y", "width", "height")] == ["20.00%", "25.0", "60.00%", "25.0"]
    assert [dot.get("cx"), dot.get("cy")] == ["50%", "96.0"]
    assert [text.get("x"), text.get("y"), text.get("dx"), text.text] == ["100%", "2.0", "-3", "end"]
    assert [level.get(key) for key in ("x1", "x2", "y1", "y2")] == ["0%", "100%", "50.0", "50.0"]


def test_axes_lie_behind_curves_and_curves_behind_marks() -> None:
    plot = Plot(Scale(0, 1), Scale(0, 1), "x")
    plot.dot(0.5, 0.5)
    plot.line([0, 1], [0, 1])
    plot.zone(0, 0.5)
    assert [child.tag for child in drawn(plot)] == ["rect", "svg", "circle"]


@pytest.mark.parametrize("hostile", ['"/><script>alert(1)</script>', "</title></svg><img src=x onerror=a()>", "'&<>\""])
def test_no_text_breaks_out(hostile: str) -> None:
    plot = Plot(Scale(0, 1), Scale(0, 1), hostile)
    plot.dot(0, 0, hostile, title=hostile)
    plot.bar(0, 1, 0, 1, hostile, hostile)
    plot.text(0, 0, hostile, hostile)
    plot.segment(0, 0, 1, 1, hostile)
    plot.line([0, 1], [0, 1], hostile)
    root = drawn(plot)
    assert {element.tag for element in root.iter()} == {"svg", "circle", "title", "rect", "text", "line", "path"}
    assert root.get("aria-label") == hostile
    assert {title.text for title in root.iter("title")} == {hostile}


@given(st.integers(1, 3000), st.integers(1, 500))
@settings(max_examples=60, deadline=None)
def test_thinning_keeps_the_end_and_the_lowest(size: int, points: int) -> None:
    values = np.sin(np.arange(size) * 1.7)
    rows, lowest = thin(values, points), thin(values, points, extreme=True)
    assert rows.size == lowest.size == min(size, points)
    assert (np.diff(rows) > 0).all()
    assert (np.diff(lowest) > 0).all()
    assert rows[-1] == size - 1
    assert values[lowest].min() == values.min()


def test_thinning_passes_over_missing_values() -> None:
    values = np.array([np.nan, -1.0, np.nan, 3.0])
    assert thin(values, 1, extreme=True).tolist() == [1]


def days(start: str, end: str) -> np.ndarray:
    return np.arange(start, end, dtype="datetime64[D]").astype("datetime64[ns]")


def test_years_are_ticked_where_they_begin() -> None:
    ticks = year_ticks(days("2007-01-03", "2012-12-31"))
    assert [label for _, label in ticks] == ["2007", "2009", "2011"]
    assert ticks[1][0] == 363 + 366  # 2009-01-01
    every = year_ticks(days("2007-01-03", "2012-12-31"), most=7)
    assert [label for _, label in every] == ["2007", "2008", "2009", "2010", "2011", "2012"]


def test_a_short_panel_is_ticked_by_quarter_and_a_long_one_sparsely() -> None:
    assert [label for _, label in year_ticks(days("2009-08-20", "2010-05-20"))] == ["2009-10", "2010-01", "2010-04"]
    long = year_ticks(days("1970-01-01", "2020-01-01"))
    assert len(long) <= 4
    assert len(year_ticks(days("2020-05-05", "2020-05-06"))) == 1


def test_a_number_that_is_not_there_says_why() -> None:
    assert number(0.2561, ".1f", "%", scale=100) == "25.6%"
    assert number(None, ".1f", why='a "book" that <never> trades') == (
        '<span class="none" title="a &#34;book&#34; that &lt;never&gt; trades">&ndash;</span>'
    )
    assert "not to be had" in number(None, ".1f")


@given(st.floats(-1e3, 1e3))
@settings(max_examples=60, deadline=None)
def test_figures_read_back(value: float) -> None:
    words = figure(value, ".2f", " bp")
    assert "-" not in words
    assert words != "\N{MINUS SIGN}0.00 bp"
    match = re.fullmatch(r"(\N{MINUS SIGN}?)(\d+\.\d\d) bp", words)
    assert match is not None
    assert abs(float(match[2]) * (-1 if match[1] else 1) - value) <= 0.005 + 1e-9
