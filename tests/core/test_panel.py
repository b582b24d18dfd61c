"""Panel: checked, frozen, hashed by content."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from alphaswarm.core import DataInvalid, FieldNotFound, Panel

DATES = ["2020-01-01", "2020-01-02", "2020-01-03"]


def make(**changes: Any) -> Panel:
    given = {
        "fields": {"close": [[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]]},
        "dates": DATES,
        "symbols": ["A", "B"],
        "groups": {"sector": ["tech", ""]},
        "meta": {"source": "test"},
    }
    return Panel.from_arrays(**(given | changes))


def test_shape_and_access() -> None:
    panel = make()
    assert panel.shape == (3, 2)
    assert panel["close"][2].tolist() == [5.0, 6.0]
    assert panel.universe.all()
    assert panel.meta["source"] == "test"
    assert panel.groups["sector"].tolist() == [["tech", ""]] * 3
    assert panel.group_codes("sector").tolist() == [[0, -1]] * 3


def test_arrays_are_copies_and_read_only() -> None:
    source = np.ones((3, 2))
    panel = make(fields={"close": source})
    source[0, 0] = 9.0
    assert panel["close"][0, 0] == 1.0
    for array in (panel["close"], panel.dates, panel.universe, panel.groups["sector"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(TypeError):
        panel.fields["x"] = source  # type: ignore[index]


def test_missing_field_names_what_is_there() -> None:
    with pytest.raises(FieldNotFound, match=r"no field 'clos'; it offers close; did you mean 'close'") as caught:
        make()["clos"]
    assert isinstance(caught.value, KeyError)
    with pytest.raises(FieldNotFound, match="no group 'industry'; it offers sector"):
        make().group_codes("industry")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fields": {}}, "at least one field"),
        ({"fields": {"close": [[1.0, 2.0]]}}, r"must have shape \(3, 2\), got \(1, 2\)"),
        ({"fields": {"close": [[1, 2], [3, np.inf], [5, 6]]}}, "got inf at 2020-01-02, B"),
        ({"fields": {"Close": np.ones((3, 2))}}, "word of the language"),
        ({"fields": {"not": np.ones((3, 2))}}, "word of the language"),
        ({"fields": {"__x": np.ones((3, 2))}}, "word of the language"),
        ({"fields": {"fwd_ret": np.ones((3, 2))}}, "named like a label"),
        ({"fields": {"target": np.ones((3, 2))}}, "named like a label"),
        ({"dates": ["2020-01-01", "2020-01-03", "2020-01-02"]}, "row 2"),
        ({"dates": ["2020-01-01", "2020-01-01", "2020-01-02"]}, "row 1"),
        ({"dates": ["NaT", "2020-01-01", "2020-01-02"]}, "row 0"),
        ({"dates": []}, "at least one date"),
        ({"symbols": ["A", "A"]}, "distinct"),
        ({"symbols": ["A", ""]}, "distinct"),
        ({"universe": [[True, True]]}, "universe must have shape"),
        ({"groups": {"sector": ["x"]}}, "group 'sector' must have shape"),
        ({"groups": {"Sector": ["x", "y"]}}, "group name"),
    ],
)
def test_refusals(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataInvalid, match=message):
        make(**changes)


def test_digest_is_the_content() -> None:
    panel = make()
    assert panel.digest == make(meta={"source": "elsewhere"}).digest
    payload_nan = np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0]
    same = make(fields={"close": [[1.0, 2.0], [3.0, payload_nan], [5.0, 6.0]]})
    assert same.digest == panel.digest
    for changes in (
        {"fields": {"close": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]}},
        {"fields": {"open": [[1.0, 2.0], [3.0, np.nan], [5.0, 6.0]]}},
        {"symbols": ["A", "C"]},
        {"dates": ["2020-01-01", "2020-01-02", "2020-01-04"]},
        {"universe": [[True, True], [True, False], [True, True]]},
        {"groups": {"sector": ["tech", "bank"]}},
        {"groups": {}},
    ):
        assert make(**changes).digest != panel.digest


@given(arrays(np.float64, (3, 2), elements=st.floats(-1e9, 1e9) | st.just(np.nan)))
def test_equal_content_equal_digest(values: np.ndarray) -> None:
    assert make(fields={"x": values}).digest == make(fields={"x": values + 0.0}).digest


def test_head_is_what_was_known_then() -> None:
    panel = make()
    known = panel.head(2)
    assert known.shape == (2, 2)
    assert known["close"].shape == known.universe.shape == known.groups["sector"].shape == (2, 2)
    assert known.digest != panel.digest
