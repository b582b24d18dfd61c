"""TargetWeights: canonical bytes, refusals, invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphaswarm.core import Reason, TargetWeights, WeightsInvalid

weights = st.dictionaries(st.text("ABCDEFG", min_size=1, max_size=4), st.floats(-2, 2), min_size=1, max_size=8)


def test_cash_is_explicit() -> None:
    target = TargetWeights("2020-01-01", ["A", "B"], [0.5, -0.2])
    assert target.cash == pytest.approx(0.7)
    assert target.gross == pytest.approx(0.7)
    assert target["B"] == -0.2
    with pytest.raises(KeyError):
        target["C"]


@given(weights, st.randoms(use_true_random=False))
def test_order_and_zero_weights_change_nothing(held: dict[str, float], shuffle: object) -> None:
    target = TargetWeights.from_mapping("2020-01-01", held)
    names = sorted(held, reverse=True)
    shuffled = TargetWeights.from_mapping("2020-01-01", {name: held[name] for name in names} | {"ZZZZZ": 0.0})
    assert shuffled.to_bytes() == target.to_bytes()
    assert shuffled.digest == target.digest


@given(weights)
def test_weights_and_cash_make_one(held: dict[str, float]) -> None:
    target = TargetWeights.from_mapping("2020-01-01", held)
    assert target.weights.sum() + target.cash == pytest.approx(1.0, abs=1e-12)


def test_digest_sees_date_weights_and_provenance() -> None:
    one = TargetWeights("2020-01-01", ["A"], [0.5], {"panel": "x"})
    assert one.digest == "80b08478d3633c521d0399b31390bda357a25bc16f82c4bf29b3ed732248ddc0"
    for other in (
        TargetWeights("2020-01-02", ["A"], [0.5], {"panel": "x"}),
        TargetWeights("2020-01-01", ["A"], [0.25], {"panel": "x"}),
        TargetWeights("2020-01-01", ["A"], [0.5], {"panel": "y"}),
    ):
        assert other.digest != one.digest


@pytest.mark.parametrize(
    ("symbols", "values", "message"),
    [
        (["A", "B"], [0.5, np.nan], "got nan for B"),
        (["A", "B"], [np.inf, 0.0], "got inf for A"),
        (["A", "B"], [0.5], "one value for each of 2 symbols"),
        (["A", "A"], [0.5, 0.5], "distinct"),
    ],
)
def test_refusals(symbols: list[str], values: list[float], message: str) -> None:
    with pytest.raises(WeightsInvalid, match=message) as caught:
        TargetWeights("2020-01-01", symbols, values)
    assert caught.value.reason is Reason.WEIGHTS_INVALID
    assert isinstance(caught.value, ValueError)


def test_no_date_is_refused() -> None:
    with pytest.raises(WeightsInvalid, match="NaT"):
        TargetWeights("NaT", ["A"], [0.5])


def test_it_is_frozen() -> None:
    target = TargetWeights("2020-01-01", ["A"], [0.5])
    with pytest.raises(ValueError, match="read-only"):
        target.weights[0] = 1.0
    with pytest.raises(AttributeError):
        target.symbols = ("B",)  # type: ignore[misc]
