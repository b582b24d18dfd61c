"""Members of groups as samples: in and out again."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from alphaswarm.dsl.torch_engine.base import Context
from alphaswarm.dsl.torch_engine.groups import across, group_backfill
from alphaswarm.dsl.torch_engine.sample import total

NAN = math.nan


def context(universe, scratch=10**6):
    return Context(torch.tensor(universe), torch.float64, scratch)


X = torch.tensor([[5.0, 1.0, NAN, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0]], dtype=torch.float64)
CODES = torch.tensor([[0, 1, 1, 0, -1], [2, 2, 0, 0, 2]], dtype=torch.int32)
UNIVERSE = [[True] * 5, [True, True, True, True, False]]


@pytest.mark.parametrize("scratch", [1, 10**6])
def test_values_return_to_their_members(scratch):
    got = across(context(UNIVERSE, scratch), lambda sample: sample.values, X, CODES)
    np.testing.assert_array_equal(got.numpy(), [[5, 1, NAN, 3, NAN], [1, 2, 3, 4, NAN]])


@pytest.mark.parametrize("scratch", [1, 10**6])
def test_a_number_goes_to_every_member(scratch):
    got = across(context(UNIVERSE, scratch), lambda sample: total(sample.values), X, CODES)
    np.testing.assert_array_equal(got.numpy(), [[8, 1, NAN, 8, NAN], [3, 3, 7, 7, NAN]])


def test_without_codes_the_market_is_one_group():
    got = across(context(UNIVERSE), lambda sample: sample.count, X)
    np.testing.assert_array_equal(got.numpy(), [[4, 4, NAN, 4, 4], [4, 4, 4, 4, NAN]])


def test_members_are_in_ascending_order():
    seen = []
    across(context(UNIVERSE), lambda sample: seen.append(sample.values[:, 0, 0].tolist()) or sample.count, X)
    assert seen == [[1.0, 2.0, 3.0, 5.0]]


def test_nobody_is_there():
    nothing = torch.full((2, 3), torch.nan, dtype=torch.float64)
    codes = torch.full((2, 3), -1, dtype=torch.int32)
    ctx = context([[False] * 3, [True] * 3])
    assert torch.isnan(across(ctx, lambda sample: sample.mean, nothing, codes)).all()


def test_backfill_takes_the_mean_of_the_group_over_days():
    x = torch.tensor([[1.0, 5.0, 9.0], [2.0, NAN, NAN]], dtype=torch.float64)
    codes = torch.tensor([[0, 0, 1], [0, 0, 1]], dtype=torch.int32)
    ctx = context([[True, True, False], [True, True, True]])
    np.testing.assert_array_equal(group_backfill(ctx, x, codes, 1).numpy(), [[1, 5, NAN], [2, 2, NAN]])
    got = group_backfill(ctx, x, codes, 2).numpy()
    # what stood outside the universe does not count
    np.testing.assert_allclose(got, [[1, 5, NAN], [2, 8 / 3, NAN]], rtol=1e-15)
