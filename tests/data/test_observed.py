"""What the checks share: presence, returns, the day's median, and how busy a cell is."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.data.observed import Observed

NAN = np.nan


def observed(fields: dict[str, object], dates: object = None) -> Observed:
    arrays = {name: np.array(values, float) for name, values in fields.items()}
    rows, columns = next(iter(arrays.values())).shape
    days = np.busday_offset("2013-01-02", np.arange(rows)) if dates is None else dates
    return Observed.of(Panel.from_arrays(arrays, days, [f"N{number}" for number in range(columns)]))  # type: ignore[arg-type]


def test_a_name_is_present_where_it_has_a_close() -> None:
    seen = observed({"close": [[1, NAN], [2, 3]], "volume": [[5, 5], [NAN, 5]]})
    assert seen.present.tolist() == [[True, False], [True, True]]


def test_without_a_close_any_value_is_presence() -> None:
    seen = observed({"score": [[1, NAN], [NAN, NAN]], "rank": [[NAN, NAN], [NAN, 2]]})
    assert seen.present.tolist() == [[True, False], [False, True]]
    assert seen.returns is None
    assert np.isnan(seen.median).all()


def test_returns_are_computed_from_close_where_there_are_none() -> None:
    seen = observed({"close": [[100, 0, 50], [110, 5, NAN], [99, 10, 60]]})
    assert seen.returns is not None
    np.testing.assert_allclose(seen.returns, [[NAN] * 3, [0.1, NAN, NAN], [-0.1, 1.0, NAN]])
    np.testing.assert_allclose(seen.median, [NAN, 0.1, 0.45])


def test_the_panel_s_own_returns_win() -> None:
    own = [[NAN, NAN], [0.5, 0.7]]
    seen = observed({"close": [[1, 1], [1, 1]], "returns": own})
    np.testing.assert_array_equal(seen.returns, own)
    assert seen.median[1] == pytest.approx(0.6)


def test_dollar_volume_before_volume_before_nothing() -> None:
    one, two = [[1.0]], [[2.0]]
    assert observed({"volume": one, "dollar_volume": two}).traded == np.array(two)
    assert observed({"volume": one}).traded == np.array(one)
    assert observed({"close": one}).traded is None


@pytest.mark.parametrize(
    ("dates", "daily"),
    [
        (np.datetime64("2013-01-02") + np.arange(20), True),
        (np.datetime64("2013-01-02") + 4 * np.arange(20), True),
        (np.datetime64("2013-01-02") + 7 * np.arange(20), False),
        (np.datetime64("2013-01-02T00", "h") + 12 * np.arange(20), False),
        (np.datetime64("2013-01-02") + np.arange(1), False),
    ],
)
def test_daily_is_a_row_every_few_days(dates: np.ndarray, daily: bool) -> None:
    assert observed({"close": np.ones((len(dates), 1))}, dates).daily is daily


def test_a_stray_second_row_leaves_a_panel_daily() -> None:
    hours = np.datetime64("2013-01-02T00", "h") + 24 * np.arange(30)
    hours[7] = hours[6] + np.timedelta64(5, "h")
    assert observed({"close": np.ones((30, 1))}, hours).daily


def test_the_day_of_a_row() -> None:
    assert observed({"close": np.ones((3, 1))}).day(1) == "2013-01-03"


def test_busier_is_today_over_the_median_of_the_twenty_rows_before() -> None:
    volume = np.arange(1.0, 31.0)[:, None]
    seen = observed({"volume": volume})
    assert seen.busier(25, 0) == pytest.approx(26 / 15.5)  # before: 6 to 25
    assert seen.busier(5, 0) == pytest.approx(6 / 3)  # before: 1 to 5
    assert seen.busier(4, 0) is None  # four rows are too few


def test_busier_is_unknown_without_volume_today_or_before() -> None:
    volume = np.array([5, 5, NAN, 5, 5, 5, 20, NAN, 7])[:, None]
    seen = observed({"volume": volume})
    assert seen.busier(6, 0) == pytest.approx(4.0)  # the missing row is left out
    assert seen.busier(7, 0) is None
    assert observed({"close": volume}).busier(6, 0) is None
    assert observed({"volume": np.array([0.0] * 6 + [3.0])[:, None]}).busier(6, 0) is None
