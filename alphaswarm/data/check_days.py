"""Faults of whole days: the exchange's sessions, names that are missing together, stale prices."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alphaswarm.core import UnknownName
from alphaswarm.data.finding import Finding, FindingKind
from alphaswarm.data.observed import NEXT_ROW, Observed

__all__ = ["days", "sessions"]

# More rows on closed days than this share, or more sessions without a row: another calendar, not faults.
FOREIGN_SHARE, ABSENT_SHARE = 0.02, 0.2
FOREIGN_ROWS = 2
THIN_SHARE = 0.9
AROUND_ROWS = 21
STALE_SHARE = 0.05
STALE_NAMES = 5


def sessions(observed: Observed, calendar: str, notes: list[str]) -> Iterator[Finding]:
    """Rows against the exchange's sessions, and returns that span several of them."""
    if not observed.daily:
        notes.append("sessions are not checked: the panel is not daily")
        return
    open_days = _open_days(observed, calendar, notes)
    if open_days is None:
        return
    held = np.unique(observed.days)
    extra, missing = np.setdiff1d(held, open_days), np.setdiff1d(open_days, held)
    if extra.size > max(FOREIGN_ROWS, FOREIGN_SHARE * held.size) or missing.size > ABSENT_SHARE * open_days.size:
        notes.append(
            f"sessions are not checked: the days are not those of {calendar} "
            f"({extra.size} of {held.size} days closed, {missing.size} of {open_days.size} sessions without a row)"
        )
        return
    for day in extra:
        yield Finding(FindingKind.EXTRA_SESSION, f"{calendar} was closed", date=str(day))
    for day in missing:
        yield Finding(FindingKind.MISSING_SESSION, f"{calendar} was open, there is no row", date=str(day))
    if observed.returns is None:
        return
    spans = np.diff(np.searchsorted(open_days, observed.days))
    for row in np.flatnonzero(spans > 1) + 1:
        names = int(np.isfinite(observed.returns[row]).sum())
        if names:
            span = int(spans[row - 1])
            detail = f"the returns of {names} names span {span} sessions, from {observed.day(row - 1)}"
            yield Finding(FindingKind.RETURN_OVER_GAP, detail, date=observed.day(row), value=float(span))


def days(observed: Observed, notes: list[str]) -> Iterator[Finding]:
    """Two rows on one day, thin days, stale days, returns of names that had no price the row before."""
    if observed.daily:
        for row in np.flatnonzero(observed.days[1:] == observed.days[:-1]) + 1:
            detail = f"rows {observed.panel.dates[row - 1]} and {observed.panel.dates[row]} fall on one day"
            yield Finding(FindingKind.DUPLICATE_SESSION, detail, date=observed.day(row))
    names = observed.present.sum(axis=1)
    usual = pd.Series(names).rolling(AROUND_ROWS, center=True, min_periods=1).median().to_numpy()
    for row in np.flatnonzero(names < THIN_SHARE * usual):
        detail = f"{names[row]} names, about {usual[row]:.0f} on the days around it"
        yield Finding(FindingKind.THIN_DAY, detail, date=observed.day(row), value=float(names[row]))
    if observed.returns is None:
        notes.append("returns are not checked: there is neither returns nor close")
        return
    known = np.isfinite(observed.returns)
    still = (observed.returns == 0).sum(axis=1)
    for row in np.flatnonzero((still > STALE_SHARE * known.sum(axis=1)) & (still >= STALE_NAMES)):
        detail = f"{still[row]} of {known[row].sum()} returns are exactly 0"
        yield Finding(FindingKind.STALE_DAY, detail, date=observed.day(row), value=float(still[row]))
    for row, column in np.argwhere(known[1:] & ~observed.present[:-1]) + NEXT_ROW:
        detail = "a return although there is no price in the row before"
        symbol = observed.panel.symbols[column]
        yield Finding(FindingKind.RETURN_OVER_GAP, detail, date=observed.day(row), symbol=symbol)


def _open_days(observed: Observed, calendar: str, notes: list[str]) -> NDArray[np.datetime64] | None:
    import exchange_calendars  # slow: loaded only by this check

    if calendar not in exchange_calendars.get_calendar_names():
        raise UnknownName.of(
            "exchange calendar", calendar, exchange_calendars.get_calendar_names(include_aliases=False)
        )
    first, last = pd.Timestamp(observed.days[0]), pd.Timestamp(observed.days[-1])
    try:
        with warnings.catch_warnings():
            # the library uses what pandas 4 will change
            warnings.simplefilter("ignore", DeprecationWarning)
            found = exchange_calendars.get_calendar(calendar, start=first, end=last)
    except (ValueError, exchange_calendars.errors.CalendarError) as error:
        notes.append(
            f"sessions are not checked: {calendar} is not known from {first:%Y-%m-%d} to {last:%Y-%m-%d}: {error}"
        )
        return None
    open_days: NDArray[np.datetime64] = found.sessions.to_numpy().astype("datetime64[D]")
    return open_days
