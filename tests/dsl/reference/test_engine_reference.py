"""The definitions on batches."""

from __future__ import annotations

import numpy as np

from alphaswarm.core import Panel
from alphaswarm.dsl import parse
from alphaswarm.dsl.reference.engine import evaluate_batch


def test_shared_parts_and_repeated_roots():
    x = np.arange(12.0).reshape(4, 3)
    panel = Panel.from_arrays({"x": x}, np.datetime64("2020-01-01") + np.arange(4), ["a", "b", "c"])
    first, second, third = evaluate_batch(
        [parse("ts_sum(x, 2)"), parse("ts_sum(x, 2) + 1"), parse("ts_sum(x, 2)")], panel, "float32", None
    )
    np.testing.assert_array_equal(second, first + 1)
    np.testing.assert_array_equal(first, third)
    assert first.dtype == np.float32
    assert not np.shares_memory(first, third)
