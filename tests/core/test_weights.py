"""TargetWeights: canonical bytes, refusals, invariances."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alphaswarm.core import Reason, TargetWeights, WeightsInvalid
from alphaswarm.core.weights import MAX_GROSS, decisions_digest

weights = st.dictionaries(st.text("ABCDEFG", min_size=1, max_size=4), st.floats(-2, 2), min_size=1, max_size=8)


def test_cash_is_explicit() -> None:
    target = TargetWeights("2020-01-01", ["A", "B"], [0.5, -0.2])
    assert target.cash == pytest.approx(0.7)
    assert target.gross == pytest.approx(0.7)
    assert target["B"] == -0.2
    with pytest.raises(KeyError):
        target["C"]


@given(weights, st.randoms(use_true_random=False))
def test_order_and_zero_weights_change_nothing(held: dict[str, float], shuffle: Random) -> None:
    target = TargetWeights.from_mapping("2020-01-01", held)
    names = [*held, "ZZZZZ"]
    shuffle.shuffle(names)
    shuffled = TargetWeights.from_mapping("2020-01-01", {name: held.get(name, -0.0) for name in names})
    assert shuffled.to_bytes() == target.to_bytes()
    assert shuffled.digest == target.digest
    assert shuffled == target
    assert hash(shuffled) == hash(target)
    assert (shuffled.cash, shuffled.gross) == (target.cash, target.gross), "to the last bit"
    assert {name: shuffled[name] for name in held} == held


@given(st.lists(st.floats(-MAX_GROSS, MAX_GROSS, allow_nan=False), max_size=40))
def test_weights_and_cash_make_one(values: list[float]) -> None:
    names = [f"S{place}" for place in range(len(values))]
    if math.fsum(map(abs, values)) > MAX_GROSS:
        with pytest.raises(WeightsInvalid, match="at most 1000 times the equity"):
            TargetWeights("2020-01-01", names, values)
        return
    target = TargetWeights("2020-01-01", names, values)
    assert abs(math.fsum([*target.weights.tolist(), target.cash]) - 1.0) <= 1e-12
    assert math.isfinite(target.cash)
    assert math.isfinite(target.gross)


@given(weights, weights)
def test_equal_means_the_same_book(one: dict[str, float], other: dict[str, float]) -> None:
    def book(held: dict[str, float]) -> dict[str, float]:
        return {name: weight for name, weight in held.items() if weight}

    first, second = (TargetWeights.from_mapping("2020-01-01", held) for held in (one, other))
    assert (first == second) == (book(one) == book(other))
    assert (first == one) is False


@given(weights)
def test_its_bytes_hold_all_of_it(held: dict[str, float]) -> None:
    target = TargetWeights.from_mapping("2020-01-01", held, {"panel": "x"})
    told = json.loads(target.to_bytes())
    assert TargetWeights.from_mapping(told["as_of"], told["weights"], told["provenance"]) == target


def test_another_process_makes_the_same_bytes() -> None:
    text = (
        "from alphaswarm.core import TargetWeights;"
        "print(TargetWeights('2020-01-01', ['B', 'A'], [0.1, 1 / 3], {'seed': '1'}).digest)"
    )
    told = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout
    assert told.strip() == TargetWeights.from_mapping("2020-01-01", {"A": 1 / 3, "B": 0.1}, {"seed": "1"}).digest


def test_nothing_of_the_caller_is_shared() -> None:
    values, provenance = np.array([0.5, 0.5]), {"panel": "x"}
    target = TargetWeights("2020-01-01", ["A", "B"], values, provenance)
    before = target.digest
    values[:] = 9.0
    provenance["panel"] = "y"
    assert TargetWeights("2020-01-01", ["A", "B"], target.weights, target.provenance).digest == before
    with pytest.raises(TypeError):
        target.provenance["panel"] = "z"  # type: ignore[index]


def test_a_log_of_decisions_has_a_digest() -> None:
    one, two = (TargetWeights(day, ["A", "B"], [0.5, 0.0]) for day in ("2020-01-01", "2020-01-02"))
    told = hashlib.sha256(f"{one.digest}\nhold\n{two.digest}\n".encode()).hexdigest()
    assert decisions_digest([one, None, two]) == told
    assert decisions_digest(iter([TargetWeights("2020-01-01", ["A"], [0.5]), None, two])) == told
    assert len({decisions_digest(log) for log in ([], [None], [one], [one, two], [two, one], [one, None])}) == 6


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
        (["A", ""], [0.5, 0.5], "none may be empty"),
        (["A"], [[0.5]], "one value for each of 1 symbols"),
        (["A"], ["much"], "must be numbers"),
        (["A", "B"], [1e308, 1e308], "at most 1000 times the equity"),
    ],
)
def test_refusals(symbols: list[str], values: list[float], message: str) -> None:
    with pytest.raises(WeightsInvalid, match=message) as caught:
        TargetWeights("2020-01-01", symbols, values)
    assert caught.value.reason is Reason.WEIGHTS_INVALID
    assert isinstance(caught.value, ValueError)
    with pytest.raises(WeightsInvalid, match="text to text"):
        TargetWeights("2020-01-01", ["A"], [0.5], {"seed": 1})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "when",
    [
        "NaT",
        "",
        "now",
        "today",
        "2020",
        "2020-01",
        "2020-06-31",
        "9999-01-01",
        "2020-01-01T10:00Z",
        "2020-01-01T10+02:00",
    ],
)
def test_what_is_no_moment_is_refused(when: str) -> None:
    with pytest.raises(WeightsInvalid, match="as_of must be a date"):
        TargetWeights(when, ["A"], [0.5])


def test_a_moment_has_one_spelling() -> None:
    spelled = ["2020-01-01", "2020-01-01T00:00", "2020-01-01 00:00:00.000", np.datetime64("2020-01-01", "D")]
    assert len({TargetWeights(when, ["A"], [0.5]).digest for when in spelled}) == 1


def test_it_is_frozen() -> None:
    target = TargetWeights("2020-01-01", ["A"], [0.5])
    with pytest.raises(ValueError, match="read-only"):
        target.weights[0] = 1.0
    with pytest.raises(AttributeError):
        target.symbols = ("B",)  # type: ignore[misc]
