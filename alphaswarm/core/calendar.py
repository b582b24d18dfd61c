"""How many rows make a year, told by the dates themselves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["rows_per_year"]

DAYS_OF_A_YEAR = 365.2425
# From here on a calendar's holidays can be counted; below, the gaps between days only say its kind.
COUNTED_YEARS = 2.0
# (longest median gap in days, rows in a year) of what is rarer than daily; beyond them a row is a year.
RARER = ((10, 52), (45, 12), (135, 4))
LONGEST_DAILY_GAP = 4


def rows_per_year(dates: NDArray[np.datetime64]) -> int | None:
    """Rows in a year of `dates` [T], increasing; None of fewer than two days.

    Over two years or more they are counted: rows after the first by the years that they span, so that an exchange's
    own sessions come out (about 252 in New York, 245 in Tokyo, 365 for what never closes). Shorter spans show their
    kind only: days with weekends (365) or without (252), weeks, months, quarters, years; several rows a
    day multiply it.
    """
    days = np.unique(dates.astype("datetime64[D]"))
    if days.size < 2:
        return None
    years = float((days[-1] - days[0]).astype(np.int64)) / DAYS_OF_A_YEAR
    a_day = max(1, round(dates.size / days.size))
    if years >= COUNTED_YEARS:
        return max(1, round((days.size - 1) / years * dates.size / days.size))
    gap = float(np.median(np.diff(days).astype(np.int64)))
    if gap <= LONGEST_DAILY_GAP:
        weekends = float((~np.is_busday(days)).mean())
        return (365 if weekends > 0.2 else 252) * a_day
    return next((rows for longest, rows in RARER if gap <= longest), 1)
