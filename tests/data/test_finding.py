"""Kinds of findings, and the shape of one."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, asdict

import pytest

from alphaswarm.data import Finding, FindingKind


def test_every_kind_has_a_meaning_of_its_own() -> None:
    meanings = [kind.meaning for kind in FindingKind]
    assert all(meanings)
    assert len(set(meanings)) == len(FindingKind)


def test_kinds_are_written_as_they_are_named() -> None:
    assert [kind.value for kind in FindingKind] == [kind.name.lower() for kind in FindingKind]
    assert f"{FindingKind.STALE_DAY}" == "stale_day"


def test_a_finding_is_frozen_plain_and_equal_by_what_it_says() -> None:
    finding = Finding(FindingKind.GAP, "3 rows missing", symbol="A", value=3.0)
    assert json.loads(json.dumps(asdict(finding))) == {
        "kind": "gap",
        "detail": "3 rows missing",
        "date": None,
        "symbol": "A",
        "value": 3.0,
    }
    assert finding == Finding(FindingKind.GAP, "3 rows missing", None, "A", 3.0)
    with pytest.raises(FrozenInstanceError):
        finding.value = 4.0  # type: ignore[misc]
