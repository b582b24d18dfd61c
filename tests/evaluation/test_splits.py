import math
from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from alphaswarm.core import EvidenceInvalid
from alphaswarm.evaluation import combinatorial, date_range, purge, segments, walk_forward


def reference(n, test, horizon, embargo):
    """Every pair of labels, as closed intervals."""

    def free(i):
        return all(i + 1 + horizon < j + 1 or i + 1 > j + 1 + horizon + embargo for j in test)

    return [i for i in range(n) if free(i)]


def test_two_folds_of_ten_days_with_labels_of_two():
    assert purge(10, range(5), 2).tolist() == [7, 8, 9]
    assert purge(10, range(5, 10), 2).tolist() == [0, 1, 2]


def test_blocks_that_do_not_adjoin_lose_their_neighbours_only():
    train = purge(12, [2, 9], 1).tolist()
    assert train == [0, 4, 5, 6, 7, 11]
    assert sorted({*range(12)} - {2, 9} - {*train}) == [1, 3, 8, 10]


def test_embargo_follows_the_end_of_the_labels():
    assert purge(12, [3, 4], 2, embargo=3).tolist() == [0, 10, 11]


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 40), st.integers(1, 8), st.integers(0, 6))
def test_no_label_is_in_both(data, n, horizon, embargo):
    test = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=n))
    assert purge(n, test, horizon, embargo).tolist() == reference(n, test, horizon, embargo)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: purge(10, [], 1), "at least one"),
        (lambda: purge(10, [10], 1), r"0\.\.9"),
        (lambda: purge(10, [-1], 1), r"0\.\.9"),
        (lambda: purge(10, [True] * 10, 1), "row numbers"),
        (lambda: purge(10, [1.0], 1), "row numbers"),
        (lambda: purge(10, [1], 0), "horizon"),
        (lambda: purge(10, [1], 1, -1), "embargo"),
        (lambda: list(walk_forward(10, 0, 1)), "at least 1 fold"),
        (lambda: list(walk_forward(10, 10, 1)), "11 blocks"),
        (lambda: list(walk_forward(20, 4, 3, embargo=1)), "horizon \\+ embargo = 4"),
        (lambda: list(walk_forward(20, 4, 1, length=0)), "at least 1 row"),
        (lambda: list(combinatorial(20, 4, 4, 1)), "fewer than the 4"),
        (lambda: list(combinatorial(20, 4, 0, 1)), "fewer than the 4"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(EvidenceInvalid, match=message):
        call()


def test_walk_forward_by_hand():
    splits = [(s.train.tolist(), s.test.tolist()) for s in walk_forward(12, 3, 1)]
    assert splits == [
        ([0, 1], [3, 4, 5]),
        ([0, 1, 2, 3, 4], [6, 7, 8]),
        ([0, 1, 2, 3, 4, 5, 6, 7], [9, 10, 11]),
    ]
    rolling = [s.train.tolist() for s in walk_forward(12, 3, 1, embargo=1, length=2)]
    assert rolling == [[0], [2, 3], [5, 6]]


@settings(max_examples=60, deadline=None)
@given(st.integers(30, 90), st.integers(1, 4), st.integers(1, 3), st.integers(0, 2))
def test_walk_forward_tests_each_later_row_once_and_never_trains_on_the_future(n, folds, horizon, embargo):
    splits = list(walk_forward(n, folds, horizon, embargo=embargo))
    tested = np.concatenate([s.test for s in splits])
    assert tested.tolist() == list(range(int(tested[0]), n))
    for split in splits:
        assert split.train[-1] + 1 + horizon + embargo < split.test[0] + 1
        assert set(split.train) <= set(purge(n, split.test, horizon))


def test_combinatorial_tests_every_choice():
    splits = list(combinatorial(20, 5, 2, 1, embargo=1))
    assert len(splits) == math.comb(5, 2)
    counts = np.bincount(np.concatenate([s.test for s in splits]), minlength=20)
    assert (counts == math.comb(4, 1)).all()
    for split in splits:
        assert split.train.tolist() == reference(20, split.test, 1, 1)
    apart = next(s for s in splits if s.test.tolist() == [0, 1, 2, 3, 16, 17, 18, 19])
    assert apart.train.tolist() == [6, 7, 8, 9, 10, 11, 12, 13, 14]


YEARS = {"train": ("2015-01-01", "2018-12-31"), "valid": ("2019-01-01", "2019-12-31")}
FORMS = {
    "list": list,
    "tuple": tuple,
    "dots": "..".join,
    "colon": ":".join,
    "spaced": " .. ".join,
    "yaml list": lambda ends: yaml.safe_load("[" + ", ".join(ends) + "]"),
    "yaml text": lambda ends: yaml.safe_load("['" + "', '".join(ends) + "']"),
    "dates": lambda ends: [date.fromisoformat(end) for end in ends],
    "datetimes": lambda ends: [datetime.fromisoformat(end + "T16:00") for end in ends],
    "timestamps": lambda ends: [pd.Timestamp(end) for end in ends],
    "datetime64": lambda ends: [np.datetime64(end, "ns") for end in ends],
    "array": lambda ends: np.array(ends, "datetime64[D]"),
    "mixed": lambda ends: (ends[0], np.datetime64(ends[1])),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_means_the_same(form):
    dates = np.arange("2014-06-01", "2020-06-01", dtype="datetime64[D]").astype("datetime64[ns]")
    found = segments(dates, {name: form(ends) for name, ends in YEARS.items()})
    assert dates[found["train"]].max() == np.datetime64("2018-12-31")
    assert dates[found["train"]].min() == np.datetime64("2015-01-01")
    assert {str(day)[:4] for day in dates[found["valid"]]} == {"2019"}
    assert not set(found["train"]) & set(found["valid"])
    assert date_range(form(YEARS["train"])) == (np.datetime64("2015-01-01"), np.datetime64("2018-12-31"))


@pytest.mark.parametrize(
    "selector",
    [
        None,
        {"start": "2015-01-01", "end": "2018-12-31"},
        {"2015-01-01", "2018-12-31"},
        slice("2015-01-01", "2018-12-31"),
        20150101,
        True,
        date(2015, 1, 1),
        [],
        ["2015-01-01"],
        ["2015-01-01", "2016-01-01", "2017-01-01"],
        ["2015-01-01", None],
        [2015, 2018],
        ["2015", "2018"],
        ["2015-01-01", "2015-02-30"],
        ["2015-01-01", np.datetime64("NaT")],
        [pd.NaT, "2018-12-31"],
        "2015-01-01",
        "2015-01-01..",
        "2015-01-01...2018-12-31",
        "2015-01-01..2016-01-01..2017-01-01",
        "2015-01-01 00:00:2018-12-31",
        "2015-01-01 - 2018-12-31",
        "all",
        "",
        b"2015-01-01..2018-12-31",
        np.array([["2015-01-01", "2018-12-31"]], "datetime64[D]"),
    ],
)
def test_whatever_else_is_refused(selector):
    with pytest.raises(EvidenceInvalid, match=r"two dates as \[start, end\]"):
        date_range(selector)


def test_a_range_runs_forward():
    assert date_range("2015-01-01..2015-01-01") == (np.datetime64("2015-01-01"), np.datetime64("2015-01-01"))
    with pytest.raises(EvidenceInvalid, match="before its end"):
        date_range("2016-01-01..2015-01-01")


def test_segments_share_no_day_and_hold_rows():
    dates = np.arange("2015-01-01", "2016-01-01", dtype="datetime64[D]")
    with pytest.raises(EvidenceInvalid, match=r"train .* and test .* must not share a day"):
        segments(
            dates,
            {"train": "2015-01-01..2015-06-30", "valid": "2015-07-01..2015-08-01", "test": "2015-06-30..2015-12-31"},
        )
    with pytest.raises(EvidenceInvalid, match="valid must hold a row"):
        segments(dates, {"train": "2015-01-01..2015-06-30", "valid": "2019-01-01..2019-12-31"})
