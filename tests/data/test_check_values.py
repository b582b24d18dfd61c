"""Faults of single cells: one is put into a market that stands still, and nothing else is found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.data.check_values import prices, returns, volumes
from alphaswarm.data.finding import Finding, FindingKind
from alphaswarm.data.observed import Observed

ROWS, NAMES = 40, 12
DATES = np.busday_offset("2013-01-02", np.arange(ROWS))
AT, NAME = 30, 2
DAY, SYMBOL = str(DATES[AT]), "N02"


def bars(**changes: np.ndarray) -> Observed:
    """Every price 100, every volume 1000, but for `changes`."""
    flat = np.full((ROWS, NAMES), 100.0)
    fields: dict[str, Any] = {"open": flat, "high": flat, "low": flat, "close": flat, "volume": 10 * flat} | changes
    return Observed.of(Panel.from_arrays(fields, DATES, [f"N{number:02d}" for number in range(NAMES)]))


def cell(value: float, usual: float, row: int = AT) -> np.ndarray:
    """`usual` everywhere but at one place."""
    array = np.full((ROWS, NAMES), usual)
    array[row, NAME] = value
    return array


def from_row(value: float, usual: float, row: int = AT) -> np.ndarray:
    array = np.full((ROWS, NAMES), usual)
    array[row:, NAME] = value
    return array


def places(findings: list[Finding]) -> list[tuple[FindingKind, str | None, str | None]]:
    return [(one.kind, one.date, one.symbol) for one in findings]


def test_a_market_that_stands_still_has_no_faults() -> None:
    notes: list[str] = []
    found = [*prices(bars(), notes), *returns(bars(), notes), *volumes(bars(), notes)]
    assert (found, notes) == ([], [])


@pytest.mark.parametrize("price", [0.0, -2.0])
def test_prices_that_are_not_positive(price: float) -> None:
    found = list(prices(bars(low=cell(price, 100.0)), []))
    assert places(found) == [(FindingKind.PRICE_NOT_POSITIVE, DAY, SYMBOL)]
    assert (found[0].value, found[0].detail) == (price, f"low is {price:g}")


@pytest.mark.parametrize(
    ("field", "price", "rules", "size"),
    [
        ("open", 102.0, "open > high", 0.02),
        ("open", 97.0, "open < low", 0.03),
        ("high", 99.0, "open > high, close > high, low > high", 0.01),
        ("low", 104.0, "open < low, close < low, low > high", 0.04),
    ],
)
def test_bars_out_of_order(field: str, price: float, rules: str, size: float) -> None:
    (found,) = prices(bars(**{field: cell(price, 100.0)}), [])
    assert (found.kind, found.date, found.symbol) == (FindingKind.BAR_OUT_OF_ORDER, DAY, SYMBOL)
    assert found.detail == f"{rules}, by {size:.2%} of the price"
    assert found.value == pytest.approx(size)


def moved(opens: float, closes: float, volume: float = 1000.0) -> Observed:
    """From one row on the name trades at other prices; on that row at another volume."""
    opened = from_row(closes, 100.0)
    opened[AT, NAME] = opens
    closed = from_row(closes, 100.0)
    high, low = np.maximum(opened, closed), np.minimum(opened, closed)
    return bars(open=opened, high=high, low=low, close=closed, volume=cell(volume, 1000.0))


@pytest.mark.parametrize(
    ("opens", "closes", "volume", "detail"),
    [
        (50.0, 50.0, 9000.0, "close falls to 1/2.00 overnight: a 2:1 split?"),
        (50.0, 51.0, 9000.0, "close falls to 1/1.96 overnight: a 2:1 split?"),  # 2 % from a whole ratio
        (60.0, 60.0, 1000.0, "close falls to 1/1.67 overnight"),  # no volume of a crash
        (60.0, 60.0, 3999.0, "close falls to 1/1.67 overnight"),
        (60.0, 60.0, 4000.0, None),  # a crash
        (60.0, 63.0, 1000.0, None),  # 5 % on the day: a market at work
        (75.0, 75.0, 1000.0, None),  # no more than 25 %
    ],
)
def test_splits_and_crashes(opens: float, closes: float, volume: float, detail: str | None) -> None:
    found = [one for one in prices(moved(opens, closes, volume), []) if one.kind is FindingKind.SPLIT_LIKE]
    assert [one.detail for one in found] == [detail] * (detail is not None)
    assert all((one.date, one.symbol, one.value) == (DAY, SYMBOL, pytest.approx(100 / closes)) for one in found)


@pytest.mark.parametrize(("opens", "found"), [(125.0, False), (126.0, True)])
def test_a_jump_up_is_more_than_a_quarter(opens: float, found: bool) -> None:
    findings = list(prices(moved(opens, opens), []))
    assert places(findings) == [(FindingKind.JUMP_UP, DAY, SYMBOL)] * found


def test_without_bars_that_is_noted() -> None:
    notes: list[str] = []
    panel = Panel.from_arrays({"close": np.full((ROWS, NAMES), 5.0)}, DATES, [f"N{n}" for n in range(NAMES)])
    assert list(prices(Observed.of(panel), notes)) == []
    assert notes == ["bars and corporate actions are not checked: that needs open, high, low and close"]


@pytest.mark.parametrize(
    ("move", "market", "volume", "kind"),
    [
        (0.36, 0.0, 1000.0, FindingKind.SUSPECT_RETURN),
        (-0.36, 0.0, 3999.0, FindingKind.SUSPECT_RETURN),
        (0.36, 0.0, 4000.0, FindingKind.LARGE_RETURN),  # four times the usual volume
        (0.36, 0.17, 1000.0, FindingKind.LARGE_RETURN),  # the whole market moved too
        (0.34, 0.0, 1000.0, None),
    ],
)
def test_large_returns(move: float, market: float, volume: float, kind: FindingKind | None) -> None:
    moves = np.zeros((ROWS, NAMES))
    moves[AT], moves[AT, NAME] = market, move
    found = list(returns(bars(returns=moves, volume=cell(volume, 1000.0)), []))
    assert places(found) == [(kind, DAY, SYMBOL)] * (kind is not None)
    assert all(f"return {move:+.1%}, {volume / 1000:.1f} times" in one.detail for one in found)


def test_without_volume_no_return_is_suspect_and_that_is_noted() -> None:
    panel = Panel.from_arrays({"returns": cell(0.5, 0.0)}, DATES, [f"N{number:02d}" for number in range(NAMES)])
    notes: list[str] = []
    assert places(list(returns(Observed.of(panel), notes))) == [(FindingKind.LARGE_RETURN, DAY, SYMBOL)]
    assert notes == ["large returns can't be told from wrong ones: there is no volume"]


@pytest.mark.parametrize(
    ("one", "two", "found"),
    [
        (0.30, -0.23, True),  # 1.3 x 0.77 = 1.001
        (-0.30, 0.42, True),  # 0.7 x 1.42 = 0.994
        (0.30, -0.17, False),  # 1.3 x 0.83 = 1.079: more than a quarter of the move is left
        (0.19, -0.16, False),  # too small
        (0.30, 0.30, False),
    ],
)
def test_spike_and_revert(one: float, two: float, found: bool) -> None:
    moves = cell(one, 0.0)
    moves[AT + 1, NAME] = two
    findings = [item for item in returns(bars(returns=moves), []) if item.kind is FindingKind.SPIKE_AND_REVERT]
    assert places(findings) == [(FindingKind.SPIKE_AND_REVERT, DAY, SYMBOL)] * found
    assert all(item.value == one for item in findings)


@pytest.mark.parametrize(("volume", "detail"), [(0.0, "volume is 0"), (np.nan, "volume is missing")])
def test_volume_absent(volume: float, detail: str) -> None:
    (found,) = volumes(bars(volume=cell(volume, 1000.0)), [])
    assert (found.kind, found.date, found.symbol) == (FindingKind.VOLUME_ABSENT, DAY, SYMBOL)
    assert found.detail == f"{detail}, the return is +0.00%"


def test_a_name_that_never_has_volume_is_not_told_every_day() -> None:
    volume = np.full((ROWS, NAMES), 1000.0)
    volume[:, NAME] = 0.0
    assert list(volumes(bars(volume=volume), [])) == []


@pytest.mark.parametrize(
    ("volume", "detail"), [(9.0, "down 111-fold in one row"), (11.0, None), (100001.0, "up 100-fold")]
)
def test_volume_scale_from_one_row_to_the_next(volume: float, detail: str | None) -> None:
    found = list(volumes(bars(volume=from_row(volume, 1000.0)), []))
    assert places(found) == [(FindingKind.VOLUME_SCALE, DAY, SYMBOL)] * (detail is not None)
    assert all(detail is not None and one.detail.startswith(detail) for one in found)


@pytest.mark.parametrize(("factor", "found"), [(0.09, True), (0.11, False), (11.0, True)])
def test_volume_scale_from_one_year_to_the_next(factor: float, found: bool) -> None:
    """Half-way through, on the first of January, the volume of one name takes another scale."""
    dates = np.busday_offset("2012-10-01", np.arange(140), roll="forward")
    second = int(np.searchsorted(dates, np.datetime64("2013-01-01")))
    assert min(second, 140 - second) >= 60
    volume = np.full((140, 2), 1000.0)
    volume[second:, 1] *= factor
    panel = Panel.from_arrays({"volume": volume}, dates, ["A", "B"])
    findings = list(volumes(Observed.of(panel), []))
    assert [(one.date, one.symbol, one.value) for one in findings] == [
        ("2013-01-01", "B", pytest.approx(factor))
    ] * found


def test_a_year_of_few_rows_says_nothing_of_its_scale() -> None:
    dates = np.busday_offset("2012-10-01", np.arange(120), roll="forward")
    volume = np.full((120, 2), 1000.0)
    volume[np.searchsorted(dates, np.datetime64("2013-01-01")) :, 1] *= 0.05  # 54 rows in 2013
    panel = Panel.from_arrays({"volume": volume}, dates, ["A", "B"])
    assert list(volumes(Observed.of(panel), [])) == []


def test_without_volume_that_is_noted() -> None:
    notes: list[str] = []
    panel = Panel.from_arrays({"close": np.full((ROWS, NAMES), 5.0)}, DATES, [f"N{n}" for n in range(NAMES)])
    assert list(volumes(Observed.of(panel), notes)) == []
    assert notes == ["volume is not checked: there is none"]
