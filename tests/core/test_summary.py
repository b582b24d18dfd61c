"""Summary: canonical JSON under its own hash."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphaswarm.core import DataInvalid, Summary, canonical_json, content_key

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_round_trip(value: object) -> None:
    assert json.loads(canonical_json(value)) == value


@given(st.dictionaries(st.text(), values))
def test_key_order_changes_nothing(body: dict[str, object]) -> None:
    turned = dict(reversed(body.items()))
    assert Summary("run", body).digest == Summary("run", turned).digest


def test_digest_is_the_hash_of_the_bytes() -> None:
    summary = Summary("trial", {"b": 1, "a": 0.1})
    assert summary.to_bytes() == b'{"body":{"a":0.1,"b":1},"kind":"trial"}'
    assert summary.digest == hashlib.sha256(summary.to_bytes()).hexdigest()
    assert summary.digest != Summary("run", {"b": 1, "a": 0.1}).digest


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_json_can_not_hold_is_refused(value: object) -> None:
    with pytest.raises(DataInvalid, match="finite plain JSON"):
        canonical_json({"x": value})


def test_equal_values_have_equal_keys() -> None:
    assert content_key({"b": 1, "a": [1.5, None]}) == content_key({"a": [1.5, None], "b": 1})
    assert content_key({"a": 1}) != content_key({"a": 2})
    assert content_key([]) == hashlib.sha256(b"[]").hexdigest()
