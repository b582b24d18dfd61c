from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from alphaswarm.core import FixedClock
from alphaswarm.data import Catalog, synthetic_market
from alphaswarm.research import Workspace


@pytest.fixture(scope="session")
def market_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of panels that holds `small`: 300 days of 40 names without any signal."""
    home = tmp_path_factory.mktemp("home")
    Catalog(home).add("small", synthetic_market("null", seed=3, days=300, names=40))
    return home


@pytest.fixture
def clock() -> FixedClock:
    """A clock that stands still."""
    return FixedClock()


@pytest.fixture
def open_workspace(market_home: Path, tmp_path: Path, clock: FixedClock) -> Iterator[Callable[..., Workspace]]:
    """Opens the workspace of this test, as often as asked, and closes them all."""
    opened: list[Workspace] = []

    def make(name: str = "ws", **how) -> Workspace:
        given = {"catalog": Catalog(market_home), "clock": clock, **how}
        workspace = Workspace.open(tmp_path / name, **given)
        opened.append(workspace)
        return workspace

    yield make
    for workspace in opened:
        workspace.close()


@pytest.fixture
def workspace(open_workspace: Callable[..., Workspace]) -> Workspace:
    """A fresh project."""
    return open_workspace()
