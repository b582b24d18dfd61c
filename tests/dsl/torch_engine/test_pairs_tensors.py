"""Co-movement of two series, by hand."""

from __future__ import annotations

import math

import pytest
import torch

from alphaswarm.dsl.torch_engine.base import Context
from alphaswarm.dsl.torch_engine.pairs import PAIRS


def last(name, *series, **options):
    *columns, parameters = series
    values = [torch.tensor(x, dtype=torch.float64).unsqueeze(1) for x in columns]
    ctx = Context(torch.ones_like(values[0], dtype=torch.bool), torch.float64, 10**6)
    return PAIRS[name](ctx, *values, *parameters, **options)[-1, 0].item()


def test_a_perfect_fit():
    x, y = [1.0, 3.0, 2.0, 5.0, 4.0], [3.0, 7.0, 5.0, 11.0, 9.0]  # y = 2 x + 1
    assert last("ts_corr", x, y, (5,)) == 1.0
    assert last("ts_rsq", y, x, (5,)) == 1.0
    assert last("ts_resid", y, x, (5,)) == 0.0
    assert last("ts_beta", y, x, (5,)) == pytest.approx(2.0, rel=1e-15)
    assert last("ts_cov", x, y, (5,)) == pytest.approx(5.0, rel=1e-15)
    assert last("ts_slope", y, (5,)) == pytest.approx(1.6, rel=1e-15)


def test_ranks_ignore_the_distance():
    assert last("ts_rank_corr", [1.0, 2.0, 3.0, 4.0], [1.0, 10.0, 100.0, 1e9], (4,)) == 1.0
    assert last("ts_rank_corr", [1.0, 2.0, 2.0, 4.0], [4.0, 2.0, 2.0, 1.0], (4,)) == -1.0


def test_only_rows_that_are_valid_in_both_count():
    x, y = [1.0, math.nan, 2.0, 3.0], [2.0, 9.0, math.nan, 6.0]
    assert last("ts_corr", x, y, (4,), min_obs=2) == 1.0
    assert math.isnan(last("ts_corr", x, y, (4,), min_obs=3))


def test_constant_windows():
    flat, x = [0.1] * 4, [1.0, 2.0, 3.0, 5.0]
    assert math.isnan(last("ts_corr", flat, x, (4,)))
    assert math.isnan(last("ts_beta", x, flat, (4,)))
    assert last("ts_cov", flat, x, (4,)) == 0.0


def test_autocorrelation_looks_back_by_its_lag():
    x = [1.0, -1.0, 1.0, -1.0, 1.0, -1.0]
    assert last("ts_autocorr", x, (4, 1)) == -1.0
    assert last("ts_autocorr", x, (4, 2)) == 1.0
