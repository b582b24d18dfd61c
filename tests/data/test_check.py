"""The report of all checks: on us500 exactly what is known to be wrong, on a sound panel nothing."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from alphaswarm.core import Panel, UnknownName
from alphaswarm.data import CheckReport, FindingKind, check_panel, synthetic_market

Make = Callable[..., Panel]
# Of every small panel: nobody leaves, and its days ignore holidays.
USUAL = {FindingKind.NO_LEAVERS, FindingKind.EXTRA_SESSION}


@pytest.fixture(scope="module")
def report(us500: Panel) -> CheckReport:
    return check_panel(us500)


def places(report: CheckReport, kind: FindingKind) -> list[tuple[str | None, str | None]]:
    return [(finding.date, finding.symbol) for finding in report.findings if finding.kind == kind]


def test_us500_bars(report: CheckReport) -> None:
    bars = report.by_kind()[FindingKind.BAR_OUT_OF_ORDER]
    assert len(bars) == 78
    assert sum("open > high" in bar.detail for bar in bars) == 44
    assert sum("open < low" in bar.detail for bar in bars) == 34
    assert not any("close" in bar.detail for bar in bars)
    sizes = [bar.value for bar in bars]
    assert np.median(sizes) == pytest.approx(0.0011, abs=1e-4)
    assert max(sizes) == pytest.approx(0.040, abs=1e-3)
    assert all(bar.date and bar.symbol for bar in bars)


def test_us500_sessions(report: CheckReport) -> None:
    days = ["2009-09-08", "2009-10-29", "2009-10-30", "2009-11-02", "2009-11-03", "2009-11-04", "2010-08-18"]
    assert places(report, FindingKind.MISSING_SESSION) == [(day, None) for day in days]
    assert report.counts["extra_session"] == 0
    spans = {finding.date: finding.value for finding in report.by_kind()[FindingKind.RETURN_OVER_GAP]}
    assert spans == {"2009-09-09": 2, "2009-11-05": 6, "2010-08-19": 2}


def test_us500_names(report: CheckReport) -> None:
    (thin,) = report.by_kind()[FindingKind.THIN_DAY]
    assert (thin.date, thin.value) == ("2009-11-12", 408)
    gaps = report.by_kind()[FindingKind.GAP]
    assert len(gaps) == len({gap.symbol for gap in gaps}) == 114
    assert report.counts["late_start"] == 25
    assert report.counts["early_end"] == 25
    assert report.counts["no_leavers"] == 0


def test_us500_corporate_actions(report: CheckReport) -> None:
    assert places(report, FindingKind.SPLIT_LIKE) == [
        ("2009-09-01", "CAH"),
        ("2010-06-09", "GIS"),
        ("2010-06-14", "DHR"),
        ("2010-07-01", "STR"),
        ("2010-07-20", "WY"),
    ]
    takeovers = {symbol for _, symbol in places(report, FindingKind.JUMP_UP)}
    assert takeovers >= {"ARG", "CCE", "MFE", "BDK"}


def test_a_report_is_plain_json(report: CheckReport) -> None:
    body = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert body["counts"]["bar_out_of_order"] == 78
    assert set(body["counts"]) == {kind.value for kind in FindingKind}
    assert set(body["findings"][0]) == {"kind", "detail", "date", "symbol", "value"}
    assert [finding["kind"] for finding in body["findings"][:7]] == ["missing_session"] * 7
    assert all(kind.meaning for kind in FindingKind)


def test_a_sound_panel_has_no_findings(small_panel: Make) -> None:
    report = check_panel(small_panel())
    assert set(report.by_kind()) <= USUAL


def test_findings_stand_by_kind_then_date_then_symbol(small_panel: Make) -> None:
    close, low = small_panel()["close"].copy(), small_panel()["low"].copy()
    low[20, 5], low[10, 7], low[10, 3] = -1.0, 0.0, 0.0
    close[40, :7] = close[39, :7]
    report = check_panel(small_panel(open=close, high=close, low=np.minimum(low, close), close=close))
    days = [str(small_panel().dates[row])[:10] for row in (40, 10, 20)]
    told = [(one.kind, one.date, one.symbol) for one in report.findings if one.kind not in USUAL]
    assert told == [
        (FindingKind.STALE_DAY, days[0], None),
        (FindingKind.PRICE_NOT_POSITIVE, days[1], "N03"),
        (FindingKind.PRICE_NOT_POSITIVE, days[1], "N07"),
        (FindingKind.PRICE_NOT_POSITIVE, days[2], "N05"),
    ]
    assert report.counts["price_not_positive"] == 3
    assert (report.panel, report.rows, report.symbols, report.end) == (
        "small",
        80,
        12,
        str(small_panel().dates[-1])[:10],
    )


def test_unknown_calendar(small_panel: Make) -> None:
    with pytest.raises(UnknownName, match=r"unknown exchange calendar 'XNYSE'.*did you mean 'XNYS'"):
        check_panel(small_panel(), calendar="XNYSE")


def test_what_can_not_be_checked_is_noted() -> None:
    panel = Panel.from_arrays({"score": np.ones((5, 2))}, np.datetime64("2013-01-02") + np.arange(5), ["A", "B"])
    notes = " ".join(check_panel(panel).notes)
    for word in ("bars and corporate actions", "returns are not checked", "volume is not checked"):
        assert word in notes


def test_one_row_and_one_name() -> None:
    panel = Panel.from_arrays({"close": [[1.0]]}, ["2013-01-02"], ["A"])
    assert set(check_panel(panel).by_kind()) == {FindingKind.NO_LEAVERS}


def test_the_synthetic_market_is_clean() -> None:
    report = check_panel(synthetic_market(days=300, names=60))
    assert set(report.by_kind()) <= {FindingKind.NO_LEAVERS}


@pytest.mark.net
def test_us431(us431: Panel) -> None:
    report = check_panel(us431)
    assert places(report, FindingKind.STALE_DAY) == [("2014-07-18", None), ("2014-08-04", None)]
    assert [finding.value for finding in report.by_kind()[FindingKind.STALE_DAY]] == [89, 195]
    suspects = places(report, FindingKind.SUSPECT_RETURN)
    assert {("2011-07-01", "MRO"), ("2008-07-03", "FIS")} <= set(suspects)
    assert [place for place in suspects if place[0] >= "2009-07-01"] == [("2011-07-01", "MRO")]
    large = places(report, FindingKind.LARGE_RETURN)
    assert {("2016-05-25", "CSC"), ("2009-01-21", "PNC")} <= set(large)
    assert places(report, FindingKind.VOLUME_ABSENT) == [("2007-05-17", "WYN"), ("2011-04-28", "VRTX")]
    scale = report.by_kind()[FindingKind.VOLUME_SCALE]
    assert sum(item.date == "2008-09-19" for item in scale) == 15
    assert any((item.date, item.symbol) == ("2012-01-01", "LVLT") and "14-fold" in item.detail for item in scale)
    (twin,) = report.by_kind()[FindingKind.TWINS]
    assert twin.detail == "FOXA and FOX correlate at 0.977"
    assert report.counts["missing_session"] == report.counts["extra_session"] == report.counts["gap"] == 0
    assert report.counts["no_leavers"] == 1
