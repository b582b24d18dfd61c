"""Faults of whole days, counted by hand on the sessions of one month."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel, UnknownName
from alphaswarm.data.check_days import days, sessions
from alphaswarm.data.finding import Finding, FindingKind
from alphaswarm.data.observed import Observed

# New York, January 2013: the first was a holiday, the 21st Martin Luther King's day.
JANUARY = [f"2013-01-{day:02d}" for day in (2, 3, 4, 7, 8, 9, 10, 11, 14, 15, 16, 17, 18, 22, 23, 24, 25, 28, 29, 30)]


def observed(close: np.ndarray, dates: object, **fields: np.ndarray) -> Observed:
    names = [f"N{number:02d}" for number in range(close.shape[1])]
    return Observed.of(Panel.from_arrays({"close": close, **fields}, dates, names))  # type: ignore[arg-type]


def rising(rows: int, names: int = 3) -> np.ndarray:
    """Closes that never stand still."""
    return 100.0 * 1.01 ** np.arange(rows)[:, None] * np.ones((1, names))


def found(findings: object) -> list[tuple[FindingKind, str | None, float | None]]:
    return [(one.kind, one.date, one.value) for one in findings]  # type: ignore[attr-defined]


def check_sessions(dates: object, calendar: str = "XNYS") -> tuple[list[Finding], list[str]]:
    notes: list[str] = []
    return list(sessions(observed(rising(len(dates)), dates), calendar, notes)), notes  # type: ignore[arg-type]


def test_every_session_and_no_other() -> None:
    assert check_sessions(JANUARY) == ([], [])


def test_a_closed_day_a_missing_one_and_the_return_over_it() -> None:
    dates = sorted({*JANUARY, "2013-01-21"} - {"2013-01-08", "2013-01-15", "2013-01-16"})
    findings, notes = check_sessions(dates)
    assert found(findings) == [
        (FindingKind.EXTRA_SESSION, "2013-01-21", None),
        (FindingKind.MISSING_SESSION, "2013-01-08", None),
        (FindingKind.MISSING_SESSION, "2013-01-15", None),
        (FindingKind.MISSING_SESSION, "2013-01-16", None),
        (FindingKind.RETURN_OVER_GAP, "2013-01-09", 2.0),
        (FindingKind.RETURN_OVER_GAP, "2013-01-17", 3.0),
    ]
    assert findings[-1].detail == "the returns of 3 names span 3 sessions, from 2013-01-14"
    assert notes == []


def test_no_return_spans_anything_where_there_are_no_returns() -> None:
    dates = [day for day in JANUARY if day != "2013-01-15"]
    panel = Panel.from_arrays({"score": rising(len(dates))}, dates, ["A", "B", "C"])
    assert found(sessions(Observed.of(panel), "XNYS", [])) == [(FindingKind.MISSING_SESSION, "2013-01-15", None)]


@pytest.mark.parametrize(("absent", "faults"), [(4, 4), (5, 0)])
def test_a_fifth_of_the_sessions_may_be_missing(absent: int, faults: int) -> None:
    """4 of 20 are faults of this calendar; 5 of 20 say that it is another one."""
    dates = [JANUARY[0], *JANUARY[1 + absent :]]
    findings, notes = check_sessions(dates)
    assert sum(one.kind is FindingKind.MISSING_SESSION for one in findings) == faults
    assert ["not those of XNYS" in note for note in notes] == [True] * (faults == 0)


@pytest.mark.parametrize(("holidays", "faults"), [(2, 2), (3, 0)])
def test_two_closed_days_are_faults_and_three_another_calendar(holidays: int, faults: int) -> None:
    extra = ["2013-01-05", "2013-01-12", "2013-01-19"][:holidays]  # Saturdays
    findings, notes = check_sessions(sorted([*JANUARY, *extra]))
    assert sum(one.kind is FindingKind.EXTRA_SESSION for one in findings) == faults
    assert len(notes) == (faults == 0)


@pytest.mark.parametrize(
    ("dates", "calendar", "why"),
    [
        (np.datetime64("2013-01-01") + np.arange(80), "XNYS", "not those of XNYS"),
        (np.datetime64("2013-01-01T00", "h") + np.arange(80), "XNYS", "not daily"),
        (np.busday_offset("1950-01-02", np.arange(80), roll="forward"), "XKRX", "XKRX is not known from 1950-01-02"),
    ],
)
def test_another_calendar_is_noted_once(dates: np.ndarray, calendar: str, why: str) -> None:
    findings, (note,) = check_sessions(dates, calendar)
    assert findings == []
    assert "sessions are not checked" in note
    assert why in note


def test_a_calendar_without_closed_days() -> None:
    every_day = np.datetime64("2013-01-01") + np.arange(80)
    assert check_sessions(every_day, "24/7") == ([], [])


def test_an_unknown_calendar_points_at_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown exchange calendar 'XNYSE'.*did you mean 'XNYS'"):
        check_sessions(JANUARY, "XNYSE")


def check_days(close: np.ndarray, dates: object = None, **fields: np.ndarray) -> list[Finding]:
    rows = np.busday_offset("2013-01-02", np.arange(len(close))) if dates is None else dates
    return list(days(observed(close, rows, **fields), []))


def test_two_rows_on_one_day() -> None:
    dates = np.array(JANUARY, "datetime64[h]")
    dates[5] = dates[4] + np.timedelta64(6, "h")
    assert found(check_days(rising(20), dates)) == [(FindingKind.DUPLICATE_SESSION, "2013-01-08", None)]


@pytest.mark.parametrize(("there", "thin"), [(18, False), (17, True)])
def test_a_day_is_thin_below_nine_tenths_of_the_days_around_it(there: int, thin: bool) -> None:
    close = rising(25, 20)
    close[12, there:] = np.nan
    returns = np.full(close.shape, 0.01)  # none is computed over the hole
    kinds = [one for one in check_days(close, returns=returns) if one.kind is FindingKind.THIN_DAY]
    assert [(one.date, one.value) for one in kinds] == [("2013-01-18", float(there))] * thin


@pytest.mark.parametrize(
    ("names", "still", "stale"),
    [(100, 5, False), (100, 6, True), (12, 4, False), (12, 5, True)],
)
def test_stale_is_more_than_a_twentieth_and_five_names(names: int, still: int, stale: bool) -> None:
    close = rising(10, names)
    close[4, :still] = close[3, :still]
    findings = found(check_days(close))
    assert findings == [(FindingKind.STALE_DAY, "2013-01-08", float(still))] * stale


def test_a_return_without_a_price_before() -> None:
    close = rising(10)
    close[3, 1] = np.nan
    (finding,) = [one for one in check_days(close, returns=np.full(close.shape, 0.01)) if one.symbol]
    assert (finding.kind, finding.date, finding.symbol) == (FindingKind.RETURN_OVER_GAP, "2013-01-08", "N01")


def test_without_returns_that_is_noted() -> None:
    panel = Panel.from_arrays({"score": np.ones((5, 2))}, np.datetime64("2013-01-02") + np.arange(5), ["A", "B"])
    notes: list[str] = []
    assert list(days(Observed.of(panel), notes)) == []
    assert notes == ["returns are not checked: there is neither returns nor close"]
