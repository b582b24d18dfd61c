"""Statistics of samples, by hand and against exact sums."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from alphaswarm.dsl.torch_engine.sample import Sample, at, product, total, twice_ranks


def column(*values):
    x = torch.tensor(values, dtype=torch.float64).unsqueeze(1)
    return Sample.of(x, ~torch.isnan(x))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 100, 101])
def test_total_is_the_exact_sum_rounded_once(size):
    rng = np.random.default_rng(size)
    values = rng.normal(size=(size, 4)) * 10.0 ** rng.integers(-12, 12, (size, 4))
    values = np.concatenate([values, -values[: size // 2]])  # cancellation
    exact = [math.fsum(one) for one in values.T]
    np.testing.assert_array_equal(total(torch.from_numpy(values)).numpy(), exact)


def test_total_does_not_depend_on_order():
    values = np.random.default_rng(0).normal(size=(50, 20)) * 1e8
    turned = torch.from_numpy(values[::-1].copy())
    assert torch.equal(total(torch.from_numpy(values)), total(turned))


def test_product():
    assert product(torch.tensor([[2.0], [3.0], [5.0]])).item() == 30.0


def test_moments_by_hand():
    x = column(1, math.nan, 2, 6)
    assert x.count.item() == 3
    assert (x.low.item(), x.high.item(), x.mean.item()) == (1.0, 6.0, 3.0)
    assert x.std.item() == pytest.approx(math.sqrt(7), rel=1e-15)
    # deviations -2, -1, 3: shares of the largest
    assert x.deviations.reach.item() == 3.0
    assert x.deviations.powers(3).item() == pytest.approx((27 - 8 - 1) / 27, rel=1e-15)


def test_equal_values_deviate_by_nothing():
    x = column(0.1, 0.1, 0.1)
    assert x.constant.item()
    assert x.std.item() == 0.0
    assert x.mean.item() == 0.1


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_no_scale_is_too_small_or_too_large(scale):
    assert column(scale, 3 * scale).std.item() == pytest.approx(math.sqrt(2) * scale, rel=1e-14)


def test_a_value_far_from_zero_loses_no_digits():
    step = 2.0**-40
    assert column(100.0, 100.0 + step, 100.0 + 2 * step).std.item() == pytest.approx(step, rel=1e-12)


def test_order_statistics():
    x = column(4, 1, math.nan, 3)
    assert x.median.item() == 3.0
    assert x.median_distance.item() == 1.0
    assert x.quantile(0.25).item() == 2.0
    assert column(4, 1).median.item() == 2.5


def test_ranks_share_places():
    assert twice_ranks(torch.tensor([1.0, 2.0, 2.0, 4.0])).tolist() == [2, 5, 5, 8]
    assert twice_ranks(torch.tensor([7.0])).tolist() == [2]


def test_at_stays_inside():
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert at(values, torch.tensor([-1.0, 1.0])).tolist() == [1.0, 4.0]
