"""The pictures of a backtest: sound at any length, escaped, and the months compound."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from alphaswarm.research.backtest_pictures import (
    cost_line,
    equity_line,
    exposure_lines,
    month_map,
    monthly_returns,
    position_bars,
)

HOSTILE = "<script>alert('x')</script>\u202e\"&"


def test_months_and_years_compound() -> None:
    dates = np.arange("2019-12-30", "2021-02-03", dtype="datetime64[D]")
    equity = np.cumprod(1 + np.random.default_rng(1).normal(0, 0.01, dates.size))
    equity /= equity[0]
    years, found = monthly_returns(dates, equity)
    assert years == [2019, 2020, 2021]
    assert np.isnan(found[0, :11]).all()
    assert np.isnan(found[2, 2:12]).all()
    january = equity[dates == np.datetime64("2020-01-31")] / equity[dates == np.datetime64("2019-12-31")] - 1
    assert found[1, 0] == pytest.approx(january[0])
    assert np.nanprod(1 + found[:, :12]) == pytest.approx(equity[-1])
    np.testing.assert_allclose(1 + found[:, 12], np.nanprod(1 + found[:, :12], axis=1))


@pytest.mark.parametrize("days", [1, 2, 40, 3_000])
def test_pictures_are_sound_at_any_length(days: int) -> None:
    dates = np.datetime64("2007-01-03") + np.arange(days)
    rng = np.random.default_rng(days)
    equity = np.cumprod(1 + rng.normal(0, 0.02, days))
    drawn = [
        equity_line(dates, equity),
        exposure_lines(dates, rng.random(days), rng.normal(0, 0.1, days)),
        cost_line(dates, rng.random(days)),
        month_map(dates, equity),
        month_map(dates, np.ones(days)),
        equity_line(dates, np.zeros(days)),
        month_map(dates, np.zeros(days)),
        position_bars([("A", 0.1, 0.0), (HOSTILE, -0.2, -0.3)]),
        position_bars([]),
    ]
    for picture in drawn:
        assert "nan" not in str(picture).lower()
        assert ET.fromstring(str(picture)).tag.endswith("svg")  # noqa: S314 - our own
