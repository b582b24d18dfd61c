"""Blocks of rows, and values that are finite."""

from __future__ import annotations

import numpy as np
import torch

from alphaswarm.dsl.torch_engine.base import Context, by_rows, finite, row_blocks


def context(rows=7, columns=3, scratch=10**6, dtype=torch.float64):
    return Context(torch.ones(rows, columns, dtype=torch.bool), dtype, scratch)


def test_blocks_cover_every_row_once():
    ctx = context(scratch=8 * 3 * 2 * 2)  # two copies of two rows of three cells
    assert [(rows.start, rows.stop) for rows in row_blocks(ctx, 2)] == [(0, 2), (2, 4), (4, 6), (6, 7)]
    assert len(list(row_blocks(context(scratch=1), 2))) == 7
    assert len(list(row_blocks(context(), 2))) == 1


def test_blocks_change_no_value():
    x = torch.arange(21.0, dtype=torch.float64).reshape(7, 3)
    two = torch.tensor(2.0, dtype=torch.float64)
    for scratch in (1, 100, 10**6):
        torch.testing.assert_close(by_rows(context(scratch=scratch), 2, torch.mul, x, two), 2 * x, rtol=0, atol=0)


def test_infinity_is_undefined():
    got = finite(torch.tensor([1.0, torch.inf, -torch.inf, torch.nan]))
    np.testing.assert_array_equal(got.numpy(), np.array([1, np.nan, np.nan, np.nan], np.float32))


def test_what_a_narrow_float_can_not_hold_is_undefined():
    got = by_rows(context(1, 2, dtype=torch.float32), 2, torch.exp, torch.tensor([[1.0, 100.0]], dtype=torch.float64))
    assert got.dtype == torch.float32
    assert torch.isnan(got).tolist() == [[False, True]]
