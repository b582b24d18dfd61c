import gc
import weakref

import numpy as np
import pytest

from alphaswarm.core import Panel
from alphaswarm.dsl.kernels.inputs import Inputs


@pytest.fixture
def panel():
    """Five rows of 19 names, more than one block; one is no member, one belongs to no sector."""
    values = np.arange(5.0 * 19).reshape(5, 19)
    universe = np.ones((5, 19), bool)
    universe[2, 3] = False
    sector = ["b", "a"] * 9 + [""]
    return Panel.from_arrays(
        {"close": values},
        np.datetime64("2024-01-01") + np.arange(5),
        [f"S{k}" for k in range(19)],
        universe=universe,
        groups={"sector": sector},
    )


def test_made_once_for_each_panel_and_type(panel):
    assert Inputs.of(panel, "float64") is Inputs.of(panel, "float64")
    assert Inputs.of(panel, "float32") is not Inputs.of(panel, "float64")
    assert Inputs.of(panel, "float32").field("close", panel).dtype == np.float32
    assert Inputs.of(panel, "float32").field("close", panel) is Inputs.of(panel, "float32").field("close", panel)


def test_forgotten_with_its_panel(panel):
    other = panel.head(4)
    kept = weakref.ref(Inputs.of(other, "float64"))
    del other
    gc.collect()
    assert kept() is None


def test_members_are_padded_with_none(panel):
    inputs = Inputs.of(panel, "float64")
    assert inputs.members[:, :19].tolist() == panel.universe.astype(int).tolist()
    assert not inputs.members[:, 19:].any()


def test_groups_are_codes_in_order_of_their_labels(panel):
    codes, count = Inputs.of(panel, "float64").group("sector", panel)
    assert count == 2
    assert codes[0, :19].tolist() == [1, 0] * 9 + [-1]
    assert (codes[:, 19:] == -1).all()
