"""Runs of element-wise work are cut into rows without a seam; threads take turns."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from alphaswarm.core import Panel
from alphaswarm.dsl.evaluate import evaluate
from alphaswarm.dsl.kernels.interpreter import CHUNK


def panel_of(rows, names=3):
    x = np.random.default_rng(0).normal(size=(rows, names))
    return Panel.from_arrays({"x": x}, np.datetime64("1970-01-01") + np.arange(rows), [f"s{n}" for n in range(names)])


def test_longer_than_a_chunk():
    for rows in (CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK + 3):
        panel = panel_of(rows)
        x = panel["x"]
        np.testing.assert_array_equal(evaluate("(x + 1) * (x - 1) / abs(x)", panel), (x + 1) * (x - 1) / np.abs(x))


def test_python_threads_may_share_the_engine():
    panel = panel_of(60, 40)
    expected = evaluate("cs_rank(ts_mean(x, 5))", panel)
    with ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: evaluate("cs_rank(ts_mean(x, 5))", panel, threads=2), range(20)):
            np.testing.assert_array_equal(got, expected)
