"""The report's pictures show the numbers they were given."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from alphaswarm.research import pictures

DAYS = np.arange("2007-01-03", "2009-12-31", dtype="datetime64[D]").astype("datetime64[ns]")
RNG = np.random.default_rng(3)
IC = np.where(RNG.random(DAYS.size) < 0.02, np.nan, RNG.normal(0.01, 0.14, DAYS.size))
GROSS = RNG.normal(2e-4, 4e-3, DAYS.size)
TURNOVER = np.abs(RNG.normal(0.3, 0.05, DAYS.size))
COSTS = (10.0, 0.0, 1.0, 2.0, 5.0)


def parse(svg: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(svg))  # noqa: S314  our own output


def classes(svg: Markup, tag: str) -> list[str]:
    return [element.get("class", "") for element in parse(svg).iter(tag)]


def equity(gross: np.ndarray) -> dict[float, np.ndarray]:
    return {cost: np.cumprod(1 + np.nan_to_num(gross) - cost / 1e4 * TURNOVER) for cost in COSTS}


def words(svg: Markup) -> list[str]:
    return [element.text or "" for element in parse(svg).iter("text")]


EMPTY = np.full(DAYS.size, np.nan)


@pytest.mark.parametrize(
    "picture",
    [
        lambda ic, pnl: pictures.cumulative(DAYS, ic, 2 * ic),
        lambda ic, pnl: pictures.turnover_line(DAYS, np.abs(ic)),
        lambda ic, pnl: pictures.equity_lines(DAYS, equity(pnl), 5.0),
        lambda ic, pnl: pictures.drawdown_area(DAYS, equity(pnl)[5.0]),
    ],
)
def test_every_series_is_drawn_finite_whatever_is_missing(picture) -> None:
    for ic, pnl in ((IC, GROSS), (EMPTY, EMPTY), (np.zeros(DAYS.size), np.zeros(DAYS.size))):
        text = str(picture(ic, pnl))
        assert "nan" not in text
        assert "inf" not in text
        assert text == str(picture(ic, pnl))
        parse(picture(ic, pnl))


def test_dots_stand_on_their_side_of_the_hurdle() -> None:
    points = [(4.0, "a"), (3.35, "b"), (-3.33, "c"), (2.0, "d"), (1.99, "e"), (-0.01, "f"), (0.01, "g")]
    svg = pictures.t_dots(points, 3.34)
    root = parse(svg)
    assert classes(svg, "circle") == ["dot beat"] * 2 + ["dot near"] * 2 + ["dot rest"] * 3
    assert [title.text for title in root.iter("title")] == list("abcdefg")
    hurdles = [line for line in root.iter("line") if line.get("class") == "stroke hurdle"]
    right = [float(line.get("x1", "").rstrip("%")) for line in hurdles]
    places = [float((dot.get("cx") or "").rstrip("%")) for dot in root.iter("circle")]
    assert places[1] > max(right) > places[3]
    assert places[2] > min(right)
    assert "best 4.00" in words(svg)


def test_the_best_is_named_above_what_its_name_would_cover() -> None:
    points = [(6.0, "best"), *((4.95, "tall") for _ in range(6))]
    root = parse(pictures.t_dots(points, 3.0))
    name = next(text for text in root.iter("text") if (text.text or "").startswith("best"))
    tallest = min(float(dot.get("cy") or 0) for dot in root.iter("circle"))
    assert float(name.get("y") or 0) < tallest


def test_dots_of_equal_t_stack_without_touching() -> None:
    root = parse(pictures.t_dots([(1.0, str(number)) for number in range(9)], 3.0))
    heights = sorted(float(dot.get("cy") or 0) for dot in root.iter("circle"))
    radius = float(next(root.iter("circle")).get("r") or 0)
    assert min(np.diff(heights)) > 2 * radius
    assert heights[0] > 0


def test_very_many_trials_become_a_histogram() -> None:
    points = [(float(t), "") for t in np.random.default_rng(1).normal(0, 1, 2000)]
    root = parse(pictures.t_dots(sorted(points, key=lambda point: -abs(point[0])), 4.2))
    assert not list(root.iter("circle"))
    told = [int((title.text or "").split()[0]) for title in root.iter("title")]
    assert sum(told) == 2000


def test_no_trials_is_still_a_picture() -> None:
    assert "hurdle 3.00" in words(pictures.t_dots([], 3.0))


@pytest.mark.parametrize(
    ("t", "gate"), [(3.34, "beat"), (-3.4, "beat"), (3.33, "near"), (-2.0, "near"), (1.9999, "rest"), (0.0, "rest")]
)
def test_gates(t: float, gate: str) -> None:
    assert pictures.gate(t, 3.34) == gate
    assert f"bar {gate}" in classes(pictures.t_bar(t, 3.34, 5.0), "rect")


def test_no_t_no_bar() -> None:
    assert classes(pictures.t_bar(None, 3.34, 5.0), "rect") == []


def test_rolling_mean_against_a_plain_loop() -> None:
    window = pictures.QUARTER
    expected = []
    for row in range(IC.size):
        last = [value for value in IC[max(0, row - window + 1) : row + 1].tolist() if not math.isnan(value)]
        expected.append(sum(last) / len(last) if len(last) * 2 >= window else math.nan)
    np.testing.assert_allclose(pictures._rolling_mean(IC, window), expected, atol=1e-12)


def test_quantiles_tell_their_numbers() -> None:
    svg = pictures.quantile_bars([-0.001, None, 0.001, 0.003, 0.005])
    assert [title.text for title in parse(svg).iter("title")] == [
        "Q1: \N{MINUS SIGN}30.0 bp",
        "Q3: \N{MINUS SIGN}10.0 bp",
        "Q4: 10.0 bp",
        "Q5: 30.0 bp",
    ]


PARTS = [
    ("5d", (0.02, 4.0), (0.01, -2.0)),
    ("10d", (None, None), (0.005, None)),
    ("20d", (None, None), (None, None)),
]


def test_pairs_of_bars_have_whiskers_of_two_standard_errors() -> None:
    svg = pictures.paired_bars(PARTS, "decay", "5d")
    assert classes(svg, "rect") == ["bar main", "bar pale", "bar pale"]
    root = parse(svg)
    bars = list(root.iter("rect"))
    whiskers = [line for line in root.iter("line") if line.get("class") == "stroke whisker"]
    top, height = float(bars[0].get("y") or 0), float(bars[0].get("height") or 0)
    low, high = float(whiskers[0].get("y1") or 0), float(whiskers[0].get("y2") or 0)
    # the bar is 0.02 tall; the whisker reaches 2 * 0.02 / 4 = half of it both ways
    assert low - top == pytest.approx(height / 2, abs=0.2)
    assert top - high == pytest.approx(height / 2, abs=0.2)
    told = [title.text for title in root.iter("title")]
    assert told == ["5d, evidence: 0.0200, t 4.00", "5d, RankIC: 0.0100, t \N{MINUS SIGN}2.00", "10d, RankIC: 0.0050"]
    strong = [text.text for text in root.iter("text") if text.get("class") == "tick strong"]
    assert strong == ["5d"]


def test_of_many_parts_not_every_name_is_written() -> None:
    svg = pictures.paired_bars([(str(year), (0.01, 1.0), (0.01, 1.0)) for year in range(2000, 2015)], "years")
    assert [text for text in words(svg) if text.startswith("20")] == ["2000", "2003", "2006", "2009", "2012"]
    assert len(classes(svg, "rect")) == 30


def test_a_forest_has_a_dot_and_a_ring_for_each_row() -> None:
    svg = pictures.forest([("raw", (0.02, 4.0), (0.01, 2.0)), ("beta", (-0.01, -1.0), (None, None))], "left")
    assert classes(svg, "circle") == ["dot main", "dot ring", "dot main"]
    assert [text for text in words(svg) if text.isalpha()] == ["raw", "beta"]
    places = [float((dot.get("cx") or "").rstrip("%")) for dot in parse(svg).iter("circle")]
    zero = next(line for line in parse(svg).iter("line") if line.get("class") == "stroke zero")
    assert places[0] > places[1] > float((zero.get("x1") or "").rstrip("%")) > places[2]
    parse(pictures.forest([], "left"))


def test_intervals_that_hold_zero_are_grey_and_each_has_its_own_unit() -> None:
    rows = [
        ("evidence", 0.02, (0.01, 0.03), "0.01 to 0.03"),
        ("Sharpe", 0.5, (-0.5, 1.5), "b"),
        ("none", None, None, "c"),
    ]
    svg = pictures.intervals(rows)
    assert classes(svg, "circle") == ["dot main", "dot rest"]
    assert [bar.get("width") for bar in parse(svg).iter("rect")] == ["33.33%", "66.67%"]
    assert words(svg) == ["evidence", "0.01 to 0.03", "Sharpe", "b", "none", "c"]


def test_what_costs_leave_of_every_bet() -> None:
    curve = {10.0: -0.8, 0.0: 1.2, 5.0: 0.2, 2.0: None}
    svg = pictures.cost_curves([("F1", curve, "main"), ("F2", {0.0: 1.0, 10.0: 0.9}, "thin"), ("F3", {}, "thin")], 5, 1)
    assert classes(svg, "path") == ["line main", "line thin"]
    assert {"F1", "F2", "asked 1 at 5 bp"} <= set(words(svg))
    assert "F3" not in words(svg)
    parse(pictures.cost_curves([], 5.0, 1.0))


def test_capacity_marks_the_money_at_which_the_ratio_has_halved() -> None:
    # a ratio that falls with the root of the money is drawn exactly
    curve = [(10.0**power, 1.0 - math.sqrt(10.0**power / 4e8)) for power in range(6, 11)]
    svg = pictures.capacity_curve(curve, 1e8, 1.0)
    assert "100 M" in words(svg)
    dot = next(parse(svg).iter("circle"))
    assert dot.get("cx") == "50%"
    height = float(parse(svg).get("height") or 0)
    assert float(dot.get("cy") or 0) == pytest.approx(height * (1 - 0.8 / 1.42), abs=0.1)
    for known, aum, sharpe in (([], None, None), (curve, None, -0.5), ([(1e6, None)], None, 1.0), (curve, 1e14, 1.0)):
        svg = pictures.capacity_curve(known, aum, sharpe)
        assert "nan" not in svg
        parse(svg)


@pytest.mark.parametrize(
    ("amount", "said"),
    [(12.0, "12"), (999.6, "1 k"), (1e6, "1 M"), (1.25e6, "1.2 M"), (35.3e6, "35 M"), (9.96e9, "10 B"), (2e13, "20 T")],
)
def test_money(amount: float, said: str) -> None:
    assert pictures.money(amount) == said


def test_equity_is_labelled_by_cost_in_the_order_of_the_ends() -> None:
    svg = pictures.equity_lines(DAYS, equity(GROSS), 5.0)
    labels = [text for text in parse(svg).iter("text") if (text.text or "").endswith("bp")]
    assert [label.text for label in labels] == ["0 bp", "1 bp", "2 bp", "5 bp", "10 bp"]
    places = [float(label.get("y") or 0) for label in labels]
    assert min(np.diff(places)) >= pictures.LABEL_GAP - 1e-9
    assert "mark start strong" in labels[3].get("class", "")
    assert classes(svg, "path").count("line main") == 1


@given(st.lists(st.floats(0, 130), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None)
def test_labels_never_touch_nor_leave_nor_swap(places: list[float]) -> None:
    moved = pictures._apart(places, 130)
    assert max(moved) <= 130 + 1e-9
    assert all(gap >= pictures.LABEL_GAP - 1e-9 for gap in np.diff(sorted(moved)))
    order = sorted(range(len(places)), key=lambda index: places[index])
    assert [moved[index] for index in order] == sorted(moved)


def test_drawdown_reaches_its_lowest_point() -> None:
    equity = np.array([0.9, 1.2, 1.1, 1.2, 0.6, 1.3])
    svg = pictures.drawdown_area(DAYS[:6], equity)
    path = next(element for element in parse(svg).iter("path") if "line" in element.get("class", ""))
    heights = [float(part.split(" ")[1]) for part in (path.get("d") or "").replace("M", "L").split("L")[1:]]
    plot_height = float(parse(svg).get("height") or 0)
    falls = equity / np.array([1.0, 1.2, 1.2, 1.2, 1.2, 1.3]) - 1
    np.testing.assert_allclose(np.array(heights) / plot_height, falls / (-0.5 * 1.06), atol=1e-3)


def test_the_cost_curve_marks_the_break_even() -> None:
    curve = {0.0: 1.2, 1.0: 1.0, 2.0: 0.8, 5.0: 0.2, 10.0: -0.8}
    svg = pictures.cost_curve(curve, 6.0, 5.0)
    assert "6.0 bp" in words(svg)
    dot = next(dot for dot in parse(svg).iter("circle") if dot.get("class") == "dot hurdle")
    assert dot.get("cx") == "60%"
    assert classes(svg, "circle").count("dot beat") == 1
    for without in (None, -1.0, 47.0):
        assert "dot hurdle" not in classes(pictures.cost_curve(curve, without, 5.0), "circle")
    parse(pictures.cost_curve({0.0: None}, None, 5.0))


def test_the_heat_map_writes_every_cell() -> None:
    svg = pictures.heat_map(["F1", "F2"], np.array([[1.0, -0.4], [np.nan, 1.0]]))
    assert classes(svg, "rect") == ["bar cell plus5", "bar cell minus2", "bar cell blank", "bar cell plus5"]
    assert [text for text in words(svg) if not text.startswith("F")] == ["1.00", "\N{MINUS SIGN}0.40", "?", "1.00"]


def test_the_hurdle_curve_says_where_this_panel_stands() -> None:
    svg = pictures.hurdle_curve([1, 100, 10_000], [3.0, 3.5, 4.5], 60, 3.34)
    assert "N = 60" in words(svg)
    parse(pictures.hurdle_curve([1, 100, 10_000], [3.0, 3.5, 4.5], 0, 3.0))
    assert "N = 1,000,000" in words(pictures.hurdle_curve([1, 100, 10_000], [3.0, 3.5, 4.5], 10**6, 5.2))


def test_a_share_of_nothing_is_no_bar() -> None:
    assert [bar.get("width") for bar in parse(pictures.share_bar(0)).iter("rect")] == ["0.00%"]
    assert [bar.get("width") for bar in parse(pictures.share_bar(0.5)).iter("rect")] == ["50.00%"]
