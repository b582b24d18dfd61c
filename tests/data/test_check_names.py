"""Faults of whole names: when they are there, and which two are one."""

from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.data import check_names
from alphaswarm.data.check_names import lives, twins
from alphaswarm.data.finding import Finding, FindingKind
from alphaswarm.data.observed import Observed

NAN = np.nan
DATES = np.datetime64("2013-01-02") + np.arange(6)


def observed(close: object, symbols: str) -> Observed:
    return Observed.of(Panel.from_arrays({"close": np.array(close, float).T}, DATES, list(symbols)))


def told(finding: Finding) -> tuple[FindingKind, str | None, str | None, float | None]:
    return finding.kind, finding.symbol, finding.date, finding.value


def test_lives() -> None:
    """Each row here is one name over six days."""
    found = lives(
        observed(
            [
                [1, 1, 1, 1, 1, 1],
                [NAN, NAN, 1, 1, 1, 1],
                [1, 1, 1, NAN, NAN, NAN],
                [1, NAN, 1, NAN, NAN, 1],
                [NAN, 1, NAN, 1, 1, NAN],
                [NAN] * 6,
            ],
            "ABCDEF",
        )
    )
    assert [told(one) for one in found] == [
        (FindingKind.LATE_START, "B", "2013-01-04", 2.0),
        (FindingKind.EARLY_END, "C", "2013-01-04", 3.0),
        (FindingKind.GAP, "D", "2013-01-03", 3.0),
        (FindingKind.GAP, "E", "2013-01-04", 1.0),
        (FindingKind.LATE_START, "E", "2013-01-03", 1.0),
        (FindingKind.EARLY_END, "E", "2013-01-06", 1.0),
        (FindingKind.GAP, "F", None, 6.0),
    ]


def test_a_panel_that_nobody_leaves_is_survivorship_biased() -> None:
    *_, found = lives(observed([[1, 1, 1, 1, 1, 1], [NAN, 1, 1, 1, 1, 1]], "AB"))
    assert told(found) == (FindingKind.NO_LEAVERS, None, None, None)
    assert found.detail.startswith("all 2 names last to the end")


def market(rows: int, noise: float, seed: int = 2) -> np.ndarray:
    """Returns [T, 3]: B is A and some noise of its own, C is unlike both."""
    rng = np.random.default_rng(seed)
    one, other, own = rng.standard_normal((3, rows))
    return 0.01 * np.stack([one, one + noise * own, other], axis=1)


def twins_of(returns: np.ndarray) -> list[Finding]:
    dates = np.busday_offset("2013-01-02", np.arange(len(returns)))
    panel = Panel.from_arrays({"returns": returns}, dates, ["A", "B", "C"])
    return list(twins(Observed.of(panel), []))


@pytest.mark.parametrize(("noise", "found"), [(0.0, True), (0.1, True), (0.5, False)])
def test_twins_correlate_above_097(noise: float, found: bool) -> None:
    returns = market(300, noise)
    true = np.corrcoef(returns[:, :2].T)[0, 1]
    assert (true > 0.97) == found
    findings = twins_of(returns)
    assert [told(one) for one in findings] == [(FindingKind.TWINS, "A", None, pytest.approx(true))] * found
    assert all(one.detail == f"A and B correlate at {true:.3f}" for one in findings)


@pytest.mark.parametrize(("common", "found"), [(60, True), (59, False)])
def test_twins_need_60_common_rows(common: int, found: bool) -> None:
    returns = market(100, 0.0)
    returns[: 100 - common, 1] = NAN
    assert len(twins_of(returns)) == found


def test_a_name_that_never_moves_is_nobody_s_twin() -> None:
    returns = market(100, 0.0)
    returns[:, :2] = 0.0
    assert twins_of(returns) == []


def test_correlations_equal_the_plain_ones() -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_normal((150, 9)) * 0.01 + 0.3 * rng.standard_normal((150, 1)) + 5
    values[rng.random(values.shape) < 0.3] = NAN
    found = check_names._correlations(values)
    for one in range(9):
        for two in range(9):
            both = np.isfinite(values[:, [one, two]]).all(axis=1)
            if both.sum() < 60:
                assert np.isnan(found[one, two])
            else:
                assert found[one, two] == pytest.approx(np.corrcoef(values[both][:, [one, two]].T)[0, 1], abs=1e-10)


def test_too_many_names_to_pair_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_names, "MOST_NAMES", 2)
    notes: list[str] = []
    panel = Panel.from_arrays({"returns": market(6, 0.0)}, DATES, ["A", "B", "C"])
    assert list(twins(Observed.of(panel), notes)) == []
    assert notes == ["twins are not checked: more than 2 names"]
