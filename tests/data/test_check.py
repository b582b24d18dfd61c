"""What the checks find: on us500 exactly what is known to be wrong, on made-up panels each fault alone."""

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


def found(panel: Panel) -> dict[FindingKind, list[tuple[str | None, str | None]]]:
    report = check_panel(panel)
    return {kind: places(report, kind) for kind in report.by_kind() if kind not in USUAL}


def day(panel: Panel, row: int) -> str:
    return str(panel.dates[row])[:10]


def test_stale_day(small_panel: Make) -> None:
    close = small_panel()["close"].copy()
    close[40, :7] = close[39, :7]
    panel = small_panel(open=close, high=close, low=close, close=close)
    assert found(panel) == {FindingKind.STALE_DAY: [(day(panel, 40), None)]}


def test_prices_that_are_not_positive(small_panel: Make) -> None:
    low = small_panel()["low"].copy()
    low[10, 3], low[11, 4] = 0.0, -2.0
    panel = small_panel(low=low)
    assert found(panel) == {FindingKind.PRICE_NOT_POSITIVE: [(day(panel, 10), "N03"), (day(panel, 11), "N04")]}


def test_volume_absent_and_out_of_scale(small_panel: Make) -> None:
    volume = np.full((80, 12), 1000.0)
    volume[20, 1], volume[21, 2], volume[30:, 3] = 0.0, np.nan, 5.0
    panel = small_panel(volume=volume)
    assert found(panel) == {
        FindingKind.VOLUME_ABSENT: [(day(panel, 20), "N01"), (day(panel, 21), "N02")],
        FindingKind.VOLUME_SCALE: [(day(panel, 30), "N03")],
    }


def test_yearly_volume_scale(small_panel: Make) -> None:
    volume = np.full((520, 12), 1000.0)
    volume[:, 5] = 1000 * 1.012 ** -np.arange(520.0)
    report = check_panel(small_panel(rows=520, volume=volume))
    (finding,) = report.by_kind()[FindingKind.VOLUME_SCALE]
    assert (finding.date, finding.symbol) == ("2014-01-01", "N05")
    assert finding.value == pytest.approx(1.012**-260, rel=0.05)


def moved(panel: Panel, row: int, column: int, factor: float) -> dict[str, np.ndarray]:
    """Every price of the name times `factor` from `row` on."""
    scale = np.ones(panel.shape)
    scale[row:, column] = factor
    return {name: panel[name] * scale for name in ("open", "high", "low", "close")}


def test_large_returns_with_and_without_volume(small_panel: Make) -> None:
    sound, volume = small_panel(), np.full((80, 12), 1000.0)
    volume[50, 3] = 9000.0
    quiet = small_panel(**moved(sound, 50, 2, 1.6))
    busy = small_panel(volume=volume, **moved(sound, 50, 3, 1.6))
    assert found(quiet) == {
        FindingKind.SUSPECT_RETURN: [(day(sound, 50), "N02")],
        FindingKind.JUMP_UP: [(day(sound, 50), "N02")],
    }
    assert FindingKind.LARGE_RETURN in found(busy)
    assert FindingKind.SUSPECT_RETURN not in found(busy)


@pytest.mark.parametrize(("factor", "volume_factor", "split"), [(0.5, 9.0, True), (0.6, 1.0, True), (0.6, 9.0, False)])
def test_splits_and_crashes(small_panel: Make, factor: float, volume_factor: float, split: bool) -> None:
    volume = np.full((80, 12), 1000.0)
    volume[50, 2] *= volume_factor
    panel = small_panel(volume=volume, **moved(small_panel(), 50, 2, factor))
    assert (FindingKind.SPLIT_LIKE in found(panel)) == split


def test_spike_and_revert(small_panel: Make) -> None:
    sound = small_panel()
    spiked = moved(sound, 50, 2, 1.3)
    back = small_panel(**spiked)
    panel = small_panel(**moved(back, 51, 2, 1 / 1.3))
    assert found(panel)[FindingKind.SPIKE_AND_REVERT] == [(day(panel, 50), "N02")]
    assert FindingKind.SPIKE_AND_REVERT not in found(back)


def test_gaps_late_starts_early_ends(small_panel: Make) -> None:
    hole = np.ones((80, 12))
    hole[:5, 1] = hole[70:, 2] = hole[30:33, 3] = hole[:, 4] = np.nan
    sound = small_panel()
    panel = small_panel(**{name: sound[name] * hole for name in ("open", "high", "low", "close", "volume")})
    report = check_panel(panel)
    assert places(report, FindingKind.LATE_START) == [(day(panel, 5), "N01")]
    assert places(report, FindingKind.EARLY_END) == [(day(panel, 69), "N02")]
    assert places(report, FindingKind.GAP) == [(None, "N04"), (day(panel, 30), "N03")]
    assert FindingKind.NO_LEAVERS not in report.by_kind()


def test_a_return_without_a_price_before(small_panel: Make) -> None:
    sound = small_panel()
    close = sound["close"].copy()
    close[30, 3] = np.nan
    returns = np.full(close.shape, np.nan)
    returns[1:] = sound["close"][1:] / sound["close"][:-1] - 1
    panel = small_panel(close=close, returns=returns)
    assert found(panel)[FindingKind.RETURN_OVER_GAP] == [(day(panel, 31), "N03")]


def test_twins(small_panel: Make) -> None:
    sound = small_panel()
    copies = {name: sound[name].copy() for name in ("open", "high", "low", "close")}
    for values in copies.values():
        values[:, 7] = 2 * values[:, 3]
        values[:10, 7] = np.nan
    report = check_panel(small_panel(**copies))
    (twin,) = report.by_kind()[FindingKind.TWINS]
    assert twin.detail == "N03 and N07 correlate at 1.000"


def test_twins_equal_plain_correlations() -> None:
    from alphaswarm.data.check_names import _correlations

    rng = np.random.default_rng(2)
    values = rng.standard_normal((150, 9)) * 0.01 + 0.3 * rng.standard_normal((150, 1)) + 5
    values[rng.random(values.shape) < 0.3] = np.nan
    found = _correlations(values)
    for one in range(9):
        for two in range(9):
            both = np.isfinite(values[:, [one, two]]).all(axis=1)
            if both.sum() < 60:
                assert np.isnan(found[one, two])
            else:
                assert found[one, two] == pytest.approx(np.corrcoef(values[both][:, [one, two]].T)[0, 1], abs=1e-10)


def test_two_rows_on_one_day(small_panel: Make) -> None:
    sound = small_panel()
    dates = sound.dates.copy()
    dates[41] = dates[40] + np.timedelta64(6, "h")
    panel = Panel.from_arrays(sound.fields, dates, sound.symbols)
    assert found(panel)[FindingKind.DUPLICATE_SESSION] == [(day(panel, 40), None)]


def test_missing_and_extra_sessions(small_panel: Make) -> None:
    sound = small_panel(rows=40)  # Martin Luther King's day and Presidents' day are among the days
    keep = np.arange(40) != 30
    panel = Panel.from_arrays({"close": sound["close"][keep]}, sound.dates[keep], sound.symbols)
    report = check_panel(panel)
    assert places(report, FindingKind.MISSING_SESSION) == [(day(sound, 30), None)]
    assert ("2013-01-21", None) in places(report, FindingKind.EXTRA_SESSION)
    (span,) = report.by_kind()[FindingKind.RETURN_OVER_GAP]
    assert (span.date, span.value) == (day(sound, 31), 2)


def test_another_calendar_is_noted_once(small_panel: Make) -> None:
    close = small_panel()["close"]
    names = [f"N{n}" for n in range(12)]
    every_day = Panel.from_arrays({"close": close}, np.datetime64("2013-01-01") + np.arange(80), names)
    hours = Panel.from_arrays({"close": close}, np.datetime64("2013-01-01T00", "h") + np.arange(80), names)
    old = Panel.from_arrays({"close": close}, np.busday_offset("1950-01-02", np.arange(80), roll="forward"), names)
    cases = ((every_day, "XNYS", "not those of XNYS"), (hours, "XNYS", "not daily"), (old, "XKRX", "XKRX is not known"))
    for panel, calendar, why in cases:
        report = check_panel(panel, calendar)
        assert report.counts["missing_session"] == report.counts["extra_session"] == 0
        assert any("sessions are not checked" in note and why in note for note in report.notes)
    assert not any("sessions" in note for note in check_panel(every_day, calendar="24/7").notes)


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
