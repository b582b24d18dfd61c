"""us431: the fetch and the build on a tiny sdist, and the real thing where there is a network."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from alphaswarm.core import DataInvalid, FieldNotFound, Panel, ProviderError
from alphaswarm.data import Catalog, load_panel
from alphaswarm.data import us431 as module
from alphaswarm.data.us431 import build_us431, fetch_us431

RETURNS = """Date,AAA,BBB,USDOLLAR
2007-01-04,1.000e-02,-2.000e-02,1e-4
2007-01-05,0.000e+00,5.000e-01,1e-4
2007-01-08,-1.000e-01,3.000e-03,1e-4
"""
VOLUMES = """Date,AAA,BBB
2007-01-03,100,200
2007-01-04,110,0
2007-01-05,120,220
2007-01-08,130,230
"""
SIGMAS = """Date,AAA,BBB
2007-01-03,1.0e-02,2.0e-02
2007-01-04,0.0,2.1e-02
2007-01-05,1.2e-02,2.2e-02
2007-01-08,1.3e-02,0.000e+00
"""


def _sdist(path: Path) -> tuple[str, dict[str, str]]:
    """A source package with the three tables; returns its sha256 and theirs."""
    tables = {"returns.csv.gz": RETURNS, "volumes.csv.gz": VOLUMES, "sigmas.csv.gz": SIGMAS}
    packed = {name: gzip.compress(text.encode()) for name, text in tables.items()}
    with tarfile.open(path, "w:gz") as archive:
        for name, data in packed.items():
            member = tarfile.TarInfo(f"{module.DIRECTORY}/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return hashlib.sha256(path.read_bytes()).hexdigest(), {
        name: hashlib.sha256(data).hexdigest() for name, data in packed.items()
    }


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny sdist that passes for the pinned one."""
    path = tmp_path / "source" / module.SDIST
    path.parent.mkdir()
    sha256, members = _sdist(path)
    monkeypatch.setattr(module, "SDIST_SHA256", sha256)
    monkeypatch.setattr(module, "MEMBERS", members)
    return path


@pytest.fixture
def downloads(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where each download went; the tiny sdist stands for what pip brings."""
    made: list[Path] = []

    def download(directory: Path, progress: module.Progress) -> Path:
        made.append(directory)
        progress("downloading")
        return directory.joinpath(module.SDIST).absolute() if not tiny.exists() else _copied(tiny, directory)

    monkeypatch.setattr(module, "download_sdist", download)
    return made


def _copied(source: Path, directory: Path) -> Path:
    target = directory / module.SDIST
    target.write_bytes(source.read_bytes())
    return target


def test_build(tiny: Path) -> None:
    panel = build_us431(tiny)
    assert panel.symbols == ("AAA", "BBB")
    assert sorted(panel.fields) == ["close", "dollar_volume", "returns", "sigma"]
    nan = np.nan
    np.testing.assert_array_equal(panel["returns"], [[nan, nan], [0.01, -0.02], [0.0, 0.5], [-0.1, 0.003]])
    np.testing.assert_array_equal(
        panel["close"], [[1, 1], [1.01, 0.98], [1.01, 0.98 * 1.5], [1.01 * 0.9, 0.98 * 1.5 * 1.003]]
    )
    np.testing.assert_array_equal(panel["dollar_volume"], [[100, 200], [110, nan], [120, 220], [130, 230]])
    np.testing.assert_array_equal(panel["sigma"], [[0.01, 0.02], [nan, 0.021], [0.012, 0.022], [0.013, nan]])
    assert [str(day)[:10] for day in panel.dates] == ["2007-01-03", "2007-01-04", "2007-01-05", "2007-01-08"]


def test_a_changed_sdist_is_refused(tiny: Path) -> None:
    tiny.write_bytes(tiny.read_bytes() + b"x")
    with pytest.raises(DataInvalid, match=r"cvxportfolio-1\.5\.1\.tar\.gz must have sha256"):
        build_us431(tiny)


def test_a_changed_member_is_refused(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEMBERS", {**module.MEMBERS, "sigmas.csv.gz": "0" * 64})
    with pytest.raises(DataInvalid, match=r"sigmas\.csv\.gz must have sha256"):
        build_us431(tiny)


def test_fetch_builds_once(tmp_path: Path, tiny: Path, downloads: list[Path]) -> None:
    target, said = tmp_path / "home" / "us431.npz", []
    assert fetch_us431(target, said.append) == target
    assert load_panel(target).digest == build_us431(tiny).digest
    assert said
    fetch_us431(target)
    assert len(downloads) == 1
    assert sorted(path.name for path in target.parent.iterdir()) == ["us431.lock", "us431.npz"]


def test_a_damaged_cache_is_refused_and_fetched_again(tmp_path: Path, downloads: list[Path]) -> None:
    catalog = Catalog(home=tmp_path / "home")
    path = catalog.fetch("us431")
    sound = path.read_bytes()
    path.write_bytes(sound[: len(sound) // 2])
    with pytest.raises(DataInvalid, match="fetch or import it again"):
        catalog.open("us431")
    said: list[str] = []
    catalog.fetch("us431", said.append)
    assert any("damaged" in line for line in said)
    assert path.read_bytes() == sound
    assert len(downloads) == 2


def test_a_failed_download_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(directory: Path, progress: module.Progress) -> Path:
        raise ProviderError("no network")

    monkeypatch.setattr(module, "download_sdist", refuse)
    target = tmp_path / "home" / "us431.npz"
    with pytest.raises(ProviderError, match="no network"):
        fetch_us431(target)
    assert [path.name for path in target.parent.iterdir()] == ["us431.lock"]


def test_wrong_download_leaves_nothing(tmp_path: Path, tiny: Path, downloads: list[Path]) -> None:
    tiny.write_bytes(b"not the release")
    target = tmp_path / "home" / "us431.npz"
    with pytest.raises(DataInvalid, match="sha256"):
        fetch_us431(target)
    assert [path.name for path in target.parent.iterdir()] == ["us431.lock"]


def test_a_sdist_beside_the_cache_is_used(tmp_path: Path, tiny: Path, downloads: list[Path]) -> None:
    target = tmp_path / "home" / "us431.npz"
    target.parent.mkdir()
    _copied(tiny, target.parent)
    fetch_us431(target)
    assert downloads == []
    assert load_panel(target).shape == (4, 2)


def test_concurrent_fetches_download_once(tmp_path: Path, downloads: list[Path]) -> None:
    target, faults = tmp_path / "home" / "us431.npz", []

    def fetch() -> None:
        try:
            fetch_us431(target)
        except (ProviderError, DataInvalid) as error:
            faults.append(error)

    threads = [threading.Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(downloads) == 1


def test_a_held_lock_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "home" / "us431.npz"
    target.parent.mkdir()
    monkeypatch.setattr(module, "LOCK_WAIT_SECONDS", 0.05)
    with module.FileLock(target.with_suffix(".lock")), pytest.raises(ProviderError, match="another process"):
        fetch_us431(target)


def test_an_unwritable_home_is_named(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, not a directory")
    with pytest.raises((ProviderError, OSError), match="home"):
        fetch_us431(tmp_path / "home" / "us431.npz")


def _pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> None:
    """Let `body` stand for the interpreter that runs pip."""
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    monkeypatch.setattr(module.sys, "executable", str(script))


def test_pip_is_asked_for_the_pinned_hash(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _pip(monkeypatch, tmp_path, f'echo "$@" > {tmp_path}/asked; echo "  Downloading it"; cp {tiny} {tmp_path}/to/')
    (tmp_path / "to").mkdir()
    said: list[str] = []
    path = module.download_sdist(tmp_path / "to", said.append)
    assert path.read_bytes() == tiny.read_bytes()
    asked = (tmp_path / "asked").read_text()
    assert asked.startswith("-P -m pip download")
    assert "--require-hashes" in asked
    assert "--no-deps --no-binary cvxportfolio" in asked
    wanted = (tmp_path / "to" / "requirement.txt").read_text()
    assert wanted == f"cvxportfolio==1.5.1 --hash=sha256:{module.SDIST_SHA256}\n"
    assert "Downloading it" in said


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("echo 'ERROR: Could not find a version'; exit 1", "Could not find a version"),
        ("echo 'No module named pip' >&2; exit 1", "No module named pip"),
        ("exit 0", "exit status 0"),
    ],
)
def test_pip_faults_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, told: str) -> None:
    _pip(monkeypatch, tmp_path, body)
    with pytest.raises(ProviderError, match=told):
        module.download_sdist(tmp_path, lambda _line: None)


def test_no_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys, "executable", str(tmp_path / "absent"))
    with pytest.raises(ProviderError, match="can't be run"):
        module.download_sdist(tmp_path, lambda _line: None)


def test_not_at_hand(tmp_path: Path) -> None:
    catalog = Catalog(home=tmp_path)
    info = catalog.describe("us431")
    assert not info.available
    assert (info.rows, info.symbols) == (2518, 431)
    with pytest.raises(ProviderError, match="alphaswarm data fetch us431"):
        catalog.open("us431")
    assert catalog.default() == "us500"


@pytest.mark.net
def test_the_real_panel(us431: Panel, us431_catalog: Catalog) -> None:
    assert us431.shape == (2518, 431)
    assert np.isnan(us431["returns"][0]).all()
    assert np.isfinite(us431["returns"][1:]).all()
    assert (us431["close"][0] == 1).all()
    grown = us431["close"][1:] / us431["close"][:-1] - 1
    np.testing.assert_allclose(grown, us431["returns"][1:], atol=1e-12)
    assert int(np.isnan(us431["sigma"]).sum()) == 9063
    assert int(np.isnan(us431["dollar_volume"]).sum()) == 2
    assert "USDOLLAR" not in us431.symbols
    assert us431.meta["survivorship_biased"] is True
    for name in ("volume", "open", "high", "low", "vwap"):
        with pytest.raises(FieldNotFound, match="dollar_volume"):
            us431[name]
    assert us431_catalog.default() == "us431"
    described = us431_catalog.describe("us431")
    assert described.digest == us431.digest
    assert described.fields == tuple(us431.fields)


@pytest.mark.net
def test_five_day_reversal_as_published_here(us431: Panel) -> None:
    """The rank IC of -ts_sum(returns, 5), one day ahead, filled one close later, on 2007-2012: 0.01217."""
    returns = pd.DataFrame(us431["returns"])
    factor = (-returns.rolling(5).sum()).round(12)
    label = (pd.DataFrame(us431["close"]).shift(-2) / pd.DataFrame(us431["close"]).shift(-1) - 1).round(12)
    end = int(np.searchsorted(us431.dates, np.datetime64("2013-01-01")))
    ic = factor.iloc[: end - 2].corrwith(label.iloc[: end - 2], axis=1, method="spearman").dropna()
    assert float(ic.mean()) == pytest.approx(0.012174, abs=2e-6)
