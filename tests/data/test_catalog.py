"""Panels by name and by path."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core import DataInvalid, Panel, ProviderError, UnknownName
from alphaswarm.data import Catalog, PanelInfo, save_panel, synthetic

BUILT_IN = ["us431", "us500", "synthetic", "synthetic-planted", "synthetic-regimes"]


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    return Catalog(home=tmp_path / "home", imported=tmp_path / "panels")


@pytest.fixture
def tiny() -> Panel:
    return Panel.from_arrays(
        {"close": [[1.0, 2.0], [3.0, 4.0]]},
        ["2012-01-03", "2012-01-04"],
        ["A", "B"],
        groups={"sector": ["x", ""]},
        meta={"name": "file.csv", "source": "file file.csv", "caveats": ["small"]},
    )


def test_names(catalog: Catalog, tiny: Panel) -> None:
    assert catalog.names() == BUILT_IN
    catalog.add("mine", tiny)
    catalog.add("also-mine", tiny)
    assert catalog.names() == [*BUILT_IN, "also-mine", "mine"]


def test_default_and_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALPHASWARM_HOME", str(tmp_path / "elsewhere"))
    catalog = Catalog()
    assert catalog.home == tmp_path / "elsewhere"
    assert catalog.imported == tmp_path / "elsewhere" / "imported"
    assert catalog.default() == "us500"
    monkeypatch.delenv("ALPHASWARM_HOME")
    assert Catalog().home.name == "alphaswarm"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("name", BUILT_IN[1:])
def test_a_description_is_true(
    catalog: Catalog, name: str, markets: Callable[[str], Panel], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic, "synthetic_market", markets)
    info, panel = catalog.describe(name), catalog.open(name)
    assert info.available
    assert (info.rows, info.symbols) == panel.shape
    assert (info.start, info.end) == (str(panel.dates[0])[:10], str(panel.dates[-1])[:10])
    assert info.fields == tuple(panel.fields)
    assert info.groups == tuple(panel.groups)
    assert info.caveats == tuple(panel.meta["caveats"])
    assert (info.source, info.licence) == (panel.meta["source"], panel.meta["licence"])
    for key in ("adjusted", "survivorship_biased", "periods_per_year"):
        assert getattr(info, key) == panel.meta[key]
    assert panel.meta["name"] == name


def test_describing_builds_nothing(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object, **_options: object) -> Panel:
        raise AssertionError("a panel was built")

    monkeypatch.setattr(Panel, "from_arrays", refuse)
    assert [catalog.describe(name).name for name in catalog.names()] == BUILT_IN


def test_add_open_describe(catalog: Catalog, tiny: Panel) -> None:
    catalog.add("mine", tiny)
    opened = catalog.open("mine")
    assert opened.digest == tiny.digest
    assert opened.meta["name"] == "mine"
    info = catalog.describe("mine")
    assert asdict(info) == asdict(
        PanelInfo(
            name="mine",
            available=True,
            source="file file.csv",
            licence="not stated",
            caveats=("small",),
            rows=2,
            symbols=2,
            start="2012-01-03",
            end="2012-01-04",
            fields=("close",),
            groups=("sector",),
            adjusted=None,
            survivorship_biased=None,
            periods_per_year=None,
            digest=tiny.digest,
        )
    )


def test_the_same_again_is_fine_and_another_is_not(catalog: Catalog, tiny: Panel, us500: Panel) -> None:
    catalog.add("mine", tiny)
    catalog.add("mine", tiny)
    with pytest.raises(DataInvalid, match="other content"):
        catalog.add("mine", us500)
    assert catalog.open("mine").digest == tiny.digest


@pytest.mark.parametrize("name", ["", "../up", "Upper", "-x", "a b", "x" * 65, ".hidden", "a/b", "p.csv"])
def test_names_that_are_not_allowed(catalog: Catalog, tiny: Panel, name: str) -> None:
    with pytest.raises(DataInvalid, match="a panel's name must be"):
        catalog.add(name, tiny)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_names_are_taken(catalog: Catalog, tiny: Panel, name: str) -> None:
    with pytest.raises(DataInvalid, match="built-in"):
        catalog.add(name, tiny)


def test_a_planted_file_can_not_shadow_a_built_in(catalog: Catalog, tiny: Panel) -> None:
    save_panel(catalog.imported / "us500.npz", tiny)
    assert catalog.names() == BUILT_IN
    assert catalog.open("us500").shape == (245, 524)


def test_unknown(catalog: Catalog) -> None:
    for ask in (catalog.open, catalog.describe):
        with pytest.raises(UnknownName, match=r"unknown panel 'us50'; valid: .*us500.*did you mean 'us500'.*path"):
            ask("us50")
    with pytest.raises(DataInvalid, match="there is no such file"):
        catalog.open("no/such/file.csv")


def test_fetch_is_for_us431_only(catalog: Catalog) -> None:
    with pytest.raises(UnknownName, match="at hand without a download"):
        catalog.fetch("us500")
    with pytest.raises(UnknownName, match="valid: us431"):
        catalog.fetch("us432")
    with pytest.raises(ProviderError, match="data fetch us431"):
        catalog.open("us431")


def test_a_path_opens_directly(catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "prices.csv"
    path.write_text("date,symbol,close\n2012-01-03,A,1\n2012-01-04,A,2\n")
    monkeypatch.chdir(tmp_path)
    for name in (path, str(path), "prices.csv"):
        panel = catalog.open(name)
        np.testing.assert_array_equal(panel["close"], [[1], [2]])
        assert catalog.describe(name).name == "prices.csv"
    assert catalog.describe(path).digest == panel.digest


@pytest.mark.parametrize("name", ["mine", "us431"])
def test_a_damaged_file_is_told_and_not_opened(catalog: Catalog, tiny: Panel, name: str) -> None:
    path = catalog.imported / "mine.npz" if name == "mine" else catalog.home / "panels" / "us431-1.npz"
    save_panel(path, tiny)
    assert catalog.describe(name).available
    path.write_bytes(path.read_bytes()[:-40])
    info = catalog.describe(name)
    assert not info.available
    assert "is damaged" in info.caveats[0]
    assert info.rows == (0 if name == "mine" else 2518)
    with pytest.raises(DataInvalid, match=rf"{path.name} is damaged"):
        catalog.open(name)


def test_a_fetched_file_with_a_bad_number_is_not_at_hand(catalog: Catalog, tiny: Panel) -> None:
    path = catalog.home / "panels" / "us431-1.npz"
    save_panel(path, tiny)
    content = bytearray(path.read_bytes())
    place = content.index(tiny["close"].tobytes())
    content[place + 3] ^= 1
    path.write_bytes(content)
    info = catalog.describe("us431")
    assert not info.available
    assert "is damaged" in info.caveats[0]


def test_a_file_is_adopted_under_its_stem(tmp_path: Path) -> None:
    catalog = Catalog(home=tmp_path / "home", imported=tmp_path / "imported")
    path = tmp_path / "My.prices.csv"
    path.write_text("date,symbol,close\n2020-01-02,A,1\n2020-01-03,A,2\n")
    assert catalog.adopt(str(path)) == "my"
    assert catalog.adopt("my") == "my"
    assert catalog.adopt(path) == "my"
    assert catalog.open("my")["close"].ravel().tolist() == [1.0, 2.0]
    path.write_text("date,symbol,close\n2020-01-02,A,1\n2020-01-03,A,3\n")
    with pytest.raises(DataInvalid, match="other content"):
        catalog.adopt(path)
    with pytest.raises(UnknownName):
        catalog.adopt("nope")
