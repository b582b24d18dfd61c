import numpy as np
import pytest

from alphaswarm.core.calendar import rows_per_year


def business_days(count):
    return np.busday_offset("2015-01-01", np.arange(count)).astype("datetime64[ns]")


def test_a_calendar_is_counted_over_years():
    days = business_days(1500)
    assert rows_per_year(days) == 261  # no holidays
    assert rows_per_year(np.delete(days, np.arange(0, 1500, 29))) == 252
    assert rows_per_year(np.datetime64("2015-01-01") + np.arange(1500)) == 365
    assert rows_per_year(np.datetime64("2015-01-01") + 7 * np.arange(200)) == 52


def test_a_short_span_shows_its_kind():
    assert rows_per_year(business_days(60)) == 252
    assert rows_per_year(np.datetime64("2015-01-01") + np.arange(60)) == 365
    hours = np.datetime64("2015-01-01T00") + 6 * np.arange(40)
    assert rows_per_year(hours) == 4 * 365


@pytest.mark.parametrize("years", [0.1, 1.0, 4.0])
def test_several_rows_a_day_multiply_it(years):
    days = business_days(int(261 * years))
    twice = np.sort(np.concatenate([days, days + np.timedelta64(12, "h")]))
    assert rows_per_year(twice) == pytest.approx(2 * rows_per_year(days), abs=1)


def test_one_day_says_nothing():
    assert rows_per_year(business_days(1)) is None
    assert rows_per_year(np.array(["2015-01-01T10", "2015-01-01T11"], "datetime64[ns]")) is None
