from __future__ import annotations

import numpy as np
import pytest

from alphaswarm.dsl.context import Context
from alphaswarm.dsl.reference import REFERENCE


def everywhere(array):
    return Context(np.ones(array.shape, bool))


@pytest.fixture(scope="session")
def down():
    """`down(name, column, ..., literal, min_obs=k)`: an operator on lists that run down the time axis."""

    def run(name, *args, **options):
        series = [np.array(arg, float)[:, None] if isinstance(arg, list) else arg for arg in args]
        return REFERENCE[name](everywhere(series[0]), *series, **options)[:, 0]

    return run


@pytest.fixture(scope="session")
def across():
    """`across(name, row, ..., literal)`: an operator on lists that run across the symbols of one day."""

    def run(name, *args, universe=None, **options):
        series = [np.array([arg], float) if isinstance(arg, list) else arg for arg in args]
        series = [
            arg.astype(np.int32)[None] if isinstance(arg, np.ndarray) and arg.ndim == 1 else arg for arg in series
        ]
        ctx = everywhere(series[0]) if universe is None else Context(np.array([universe], bool))
        return REFERENCE[name](ctx, *series, **options)[0]

    return run
