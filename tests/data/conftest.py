"""Panels and files that several tests of this floor use."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.data.us500 import load_us500

# Read before any test isolates it: net tests share one download.
SHARED_HOME = os.environ.get("ALPHASWARM_HOME")


@pytest.fixture(scope="session")
def us500() -> Panel:
    return load_us500()


@pytest.fixture(scope="session")
def markets() -> Callable[[str], Panel]:
    """The synthetic market of a kind at its full size, made once: planting takes a moment."""
    return cache(synthetic_market)


@pytest.fixture(scope="session")
def us431_catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """A catalog that holds us431, downloaded once per session (net tests only)."""
    home = Path(SHARED_HOME) if SHARED_HOME else tmp_path_factory.mktemp("home")
    catalog = Catalog(home=home)
    catalog.fetch("us431")
    return catalog


@pytest.fixture(scope="session")
def us431(us431_catalog: Catalog) -> Panel:
    return us431_catalog.open("us431")


@pytest.fixture
def small_panel() -> Callable[..., Panel]:
    """A sound panel of random prices on consecutive business days, to be broken by the test."""

    def make(rows: int = 80, names: int = 12, start: str = "2013-01-02", **changes: np.ndarray) -> Panel:
        rng = np.random.default_rng(5)
        close = 50 * np.exp(np.cumsum(0.01 * rng.standard_normal((rows, names)), axis=0))
        fields = {
            "open": close * 1.001,
            "high": close * 1.01,
            "low": close * 0.99,
            "close": close,
            "volume": np.full(close.shape, 1000.0),
        }
        dates = np.busday_offset(start, np.arange(rows), roll="forward")
        fields |= changes
        return Panel.from_arrays(fields, dates, [f"N{number:02d}" for number in range(names)], meta={"name": "small"})

    return make
