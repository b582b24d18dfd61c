"""Rows of the table: slots, options and how they are written."""

from alphaswarm.dsl.operators import OPERATORS
from alphaswarm.dsl.signature import SlotKind


def test_signatures():
    assert OPERATORS["ts_mean"].signature == "ts_mean(x, d, min_obs=d)"
    assert OPERATORS["max"].signature == "max(x, y, ...)"
    assert OPERATORS["cs_scale"].signature == "cs_scale(x, a=1)"
    assert OPERATORS["group_backfill"].signature == "group_backfill(x, g, d)"


def test_slots_repeat_only_at_the_end():
    assert OPERATORS["cs_resid"].slot(0).name == "y"
    assert OPERATORS["cs_resid"].slot(1).name == OPERATORS["cs_resid"].slot(7).name == "x"


def test_kinds_of_slots():
    assert [kind for kind in SlotKind if kind.literal] == ["window", "lag", "integer", "number"]
    assert [kind for kind in SlotKind if kind.whole] == ["window", "lag", "integer"]


def test_windows_and_options():
    assert OPERATORS["ts_corr"].window == 2
    assert OPERATORS["delay"].window is None
    assert OPERATORS["ts_mean"].option("min_obs").default is None
    assert OPERATORS["ts_mean"].option("a") is None
