import datetime

import numpy as np
import pytest

from alphaswarm.core import EvidenceInvalid, Panel, UnknownName
from alphaswarm.evaluation import Window, Windows, default_windows


def day(text):
    return np.datetime64(text)


def panel(days):
    return Panel.from_arrays({"close": np.ones((days, 1))}, day("2020-01-01") + np.arange(days), ["A"])


def test_both_ends_belong_to_the_window():
    dates = np.array(["2020-01-02", "2020-01-03", "2020-01-06", "2020-01-07"], "datetime64[ns]")
    assert Window("search", day("2020-01-03"), day("2020-01-06")).rows(dates) == slice(1, 3)
    assert Window("search", day("2020-01-04"), day("2020-01-05")).rows(dates) == slice(2, 2)
    assert Window("search", day("2000-01-01"), day("2030-01-01")).rows(dates) == slice(0, 4)


def test_the_last_day_counts_to_its_end():
    moments = np.array(["2020-01-02T10", "2020-01-02T16", "2020-01-03T10"], "datetime64[ns]")
    assert Window("search", day("2020-01-01"), day("2020-01-02")).rows(moments) == slice(0, 2)


def test_a_window_is_a_value_and_plain_text():
    window = Window("vault", day("2015-01-01"), day("2016-12-30"))
    assert window == Window("vault", day("2015-01-01T00:00:00.000"), day("2016-12-30"))
    assert hash(window) == hash(Window("vault", day("2015-01-01T00:00:00.000"), day("2016-12-30")))
    assert window.to_dict() == {"role": "vault", "start": "2015-01-01", "end": "2016-12-30"}


@pytest.mark.parametrize(("start", "end"), [("2020-01-02", "2020-01-01"), ("NaT", "2020-01-01"), ("2020-01-01", "NaT")])
def test_a_window_can_not_end_before_it_starts(start, end):
    with pytest.raises(EvidenceInvalid, match=r"start at or before its end|is no date"):
        Window("search", day(start), day(end))


def test_days_mean_the_same_however_they_are_given():
    plain = Window("search", day("2019-01-02"), day("2019-12-31"))
    assert Window("search", "2019-01-02", "2019-12-31") == plain
    assert (
        Window("search", datetime.date(2019, 1, 2), datetime.datetime(2019, 12, 31, 16, tzinfo=datetime.UTC)) == plain
    )


@pytest.mark.parametrize("wrong", [2019, "2019", None, ["2019-01-02"], 17_000.0])
def test_what_names_no_day_is_not_guessed_at(wrong):
    with pytest.raises(EvidenceInvalid, match="is no date"):
        Window("search", wrong, "2019-12-31")


def test_only_roles_that_there_are():
    with pytest.raises(UnknownName, match="in-sample, search, selection, vault"):
        Window("test", "2019-01-02", "2019-12-31")


def test_after_a_boundary_nothing_is_decided_for_a_while():
    dates = panel(60).dates
    window = Window("selection", "2020-01-11", "2020-02-20")
    judged = window.after_embargo(dates)
    assert judged.rows(dates) == slice(10 + 21, 51)
    assert (judged.role, judged.end) == ("selection", window.end)
    assert window.after_embargo(dates, rows=40).rows(dates) == slice(50, 51)
    with pytest.raises(EvidenceInvalid, match="more than the 41 rows of its embargo, got 41"):
        window.after_embargo(dates, rows=41)


def test_the_windows_of_us431_are_calendar_dates():
    windows = default_windows("us431", panel(5))
    assert [windows[role].to_dict() for role in ("search", "selection", "vault")] == [
        {"role": "search", "start": "2007-01-03", "end": "2012-12-31"},
        {"role": "selection", "start": "2013-01-01", "end": "2014-12-31"},
        {"role": "vault", "start": "2015-01-01", "end": "2016-12-30"},
    ]


@pytest.mark.parametrize(("days", "sizes"), [(100, (60, 20, 20)), (245, (147, 49, 49)), (7, (4, 1, 2)), (5, (3, 1, 1))])
def test_other_panels_are_cut_by_rows(days, sizes):
    one = panel(days)
    windows = default_windows("mine", one)
    slices = [windows[role].rows(one.dates) for role in ("search", "selection", "vault")]
    assert tuple(rows.stop - rows.start for rows in slices) == sizes
    assert slices[0].start == 0
    assert slices[0].stop == slices[1].start
    assert slices[1].stop == slices[2].start
    assert slices[2].stop == days


def test_four_days_can_not_be_cut_in_three():
    with pytest.raises(EvidenceInvalid, match="at least 5 days, got 4"):
        default_windows("mine", panel(4))


def test_windows_share_no_day_and_keep_their_roles():
    search = Window("search", day("2020-01-01"), day("2020-01-31"))
    selection = Window("selection", day("2020-02-01"), day("2020-02-28"))
    vault = Window("vault", day("2020-03-01"), day("2020-03-31"))
    assert Windows(search, selection, vault)["vault"] is vault
    with pytest.raises(EvidenceInvalid, match="without sharing a day"):
        Windows(search, Window("selection", day("2020-01-31"), day("2020-02-28")), vault)
    with pytest.raises(EvidenceInvalid, match="without sharing a day"):
        Windows(search, selection, Window("vault", day("2019-01-01"), day("2019-02-01")))
    with pytest.raises(EvidenceInvalid, match="must carry the role 'selection'"):
        Windows(search, search, vault)


def test_an_unknown_role_is_refused():
    with pytest.raises(UnknownName, match="search, selection, vault"):
        default_windows("mine", panel(10))["test"]
