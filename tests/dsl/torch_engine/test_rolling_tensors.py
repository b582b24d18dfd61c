"""Windows of tensors, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from alphaswarm.dsl.torch_engine.base import Context
from alphaswarm.dsl.torch_engine.rolling import ROLLING, over_windows
from alphaswarm.dsl.torch_engine.sample import total

NAN = math.nan


def on(name, x, *parameters, **options):
    values = torch.tensor(x, dtype=torch.float64).unsqueeze(1)
    ctx = Context(torch.ones_like(values, dtype=torch.bool), torch.float64, 10**6)
    return ROLLING[name](ctx, values, *parameters, **options)[:, 0].tolist()


def test_windows_hold_the_last_rows_oldest_first():
    seen = []

    def watch(sample):
        seen.append(sample.values[:, :, 0].tolist())
        return total(sample.values)

    x = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    ctx = Context(torch.ones(3, 1, dtype=torch.bool), torch.float64, 10**6)
    got = over_windows(ctx, watch, 2, 1, x)
    assert seen == [[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]]
    assert got[:, 0].tolist() == [1.0, 3.0, 5.0]


def test_missing_rows():
    np.testing.assert_array_equal(on("ts_sum", [1, NAN, 3, 4], 2), [NAN, NAN, NAN, 7])
    np.testing.assert_array_equal(on("ts_sum", [1, NAN, 3, 4], 2, min_obs=1), [1, 1, 3, 7])
    # who speaks about today is silent where today is missing
    np.testing.assert_array_equal(on("ts_rank", [1, NAN, 3, 4], 2, min_obs=1), [1, NAN, 1, 1])


def test_a_window_longer_than_the_panel():
    assert all(map(math.isnan, on("ts_mean", [1.0, 2.0], 504)))
    assert on("ts_mean", [1.0, 2.0], 504, min_obs=1) == [1.0, 1.5]


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("decay_linear", (), 13.2),
        ("ts_argmax", (), 0.0),
        ("ts_argmin", (), 2.0),
        ("ts_rank", (), 1.0),
        ("ts_median", (), 5.0),
        ("ts_quantile", (0.25,), 5.0),
        ("ts_moment", (1,), 0.0),
        ("ts_max_diff", (), 0.0),
        ("ts_min_diff", (), 26.0),
        ("ts_product", (), 18000.0),
        ("ts_count", (), 5.0),
        ("decay_exp", (0.5,), (30 + 2.5 + 1 + 5 / 8 + 6 / 16) / (31 / 16)),
    ],
)
def test_statistics(name, parameters, expected):
    assert on(name, [6.0, 5.0, 4.0, 5.0, 30.0], 5, *parameters)[-1] == pytest.approx(expected, rel=1e-15)


def test_the_most_recent_of_equals():
    assert on("ts_argmax", [2.0, 1.0, 2.0, 1.0], 4)[-1] == 1.0
