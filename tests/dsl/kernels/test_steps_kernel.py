"""From operators to steps."""

from __future__ import annotations

import pytest

from alphaswarm.dsl import parse
from alphaswarm.dsl.kernels.steps import KERNELS, Lowering, with_care
from alphaswarm.dsl.operators import operators


def lowered(text):
    return Lowering()(parse(text))


def test_every_operator_has_a_kernel(apply_operator):
    for name, operator in operators().items():
        if operator.expands is None:
            assert Lowering()(apply_operator(name, 5)).kernel


def test_equal_steps_are_one():
    lowering = Lowering()
    assert lowering(parse("ts_count(x > 0, 5)")) is lowering(parse("ts_count(x > 0, 5)"))
    assert lowering(parse("x + 1")).args[0] is lowering(parse("x * 2")).args[0]


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("ts_mean(x, 5)", "block_sums"),
        ("ts_mean(x, 5, min_obs=2)", "rolling"),
        ("ts_corr(x, y, 5)", "block_pairs"),
        ("ts_corr(x, y, 5, min_obs=2)", "pair_windows"),
        ("ts_count(x > 0, 5)", "block_sums"),
        ("ts_slope(x, 5)", "block_pairs"),
        ("max(x, y, 1)", "binary"),
    ],
)
def test_which_kernel(text, kernel):
    assert lowered(text).kernel == kernel


def test_care():
    assert with_care(lowered("ts_std(x, 5)"))[0] == "rolling"
    assert with_care(lowered("ts_beta(x, y, 5)"))[0] == "pair_windows"


def test_codes_are_distinct_within_a_kernel():
    assert len(set(KERNELS.values())) >= len(KERNELS) - 5  # group operators share those of the market
