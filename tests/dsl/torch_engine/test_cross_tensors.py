"""Cross-sections of tensors, by hand."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
import torch

from alphaswarm.dsl.torch_engine.base import Context
from alphaswarm.dsl.torch_engine.cross import CROSS

NAN = math.nan


def on(name, *rows, **options):
    series = [torch.tensor([one], dtype=torch.float64) for one in rows if isinstance(one, list)]
    literals = [one for one in rows if not isinstance(one, list)]
    ctx = Context(torch.ones_like(series[0], dtype=torch.bool), torch.float64, 10**6)
    return CROSS[name](ctx, *series, *literals, **options)[0].tolist()


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("cs_rank", ([10.0, 20.0, 20.0, NAN, 40.0],), [0.25, 0.625, 0.625, NAN, 1.0]),
        ("cs_rank01", ([10.0, 20.0, 20.0, 40.0],), [0.0, 0.5, 0.5, 1.0]),
        ("cs_rank01", ([10.0],), [NAN]),
        ("cs_bucket", ([1.0, 2.0, 2.0, 3.0], 2), [0.0, 1.0, 1.0, 1.0]),
        ("cs_demean", ([1.0, NAN, 4.0],), [-1.5, NAN, 1.5]),
        ("cs_zscore", ([7.0, 7.0],), [NAN, NAN]),
        ("cs_scale", ([1.0, -3.0, 0.0],), [0.25, -0.75, 0.0]),
        ("cs_scale", ([0.0, 0.0],), [NAN, NAN]),
        ("cs_mad_clip", ([0.0, 1.0, 2.0, 99.0], 1.0), [0.0174, 1.0, 2.0, 2.9826]),
        ("cs_quantile_clip", ([0.0, 1.0, 2.0, 3.0, 40.0], 0.25), [1.0, 1.0, 2.0, 3.0, 3.0]),
        ("cs_winsorize", ([5.0], 1.0), [5.0]),
        ("cs_resid", ([1.0, 2.0, 4.0], [0.0, 1.0, 2.0]), [1 / 6, -1 / 3, 1 / 6]),
        ("cs_resid", ([1.0, 2.0, 4.0], [3.0, 3.0, 3.0]), [NAN] * 3),
        ("cs_resid", ([1.0, 3.0, 5.0], [0.0, 1.0, 2.0]), [0.0] * 3),
    ],
)
def test_by_hand(name, arguments, expected):
    np.testing.assert_allclose(on(name, *arguments), expected, rtol=1e-14, atol=1e-15)


def test_scale_takes_its_sum():
    assert on("cs_scale", [1.0, 3.0], a=2) == [0.5, 1.5]


def test_quantiles_of_the_normal():
    got = on("cs_quantile_transform", [30.0, 10.0, 20.0])
    np.testing.assert_allclose(got, [NormalDist().inv_cdf(p) for p in (5 / 6, 1 / 6, 0.5)], rtol=1e-14, atol=1e-16)
