"""One file per panel: what is loaded is what was saved, or an error."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from alphaswarm.core import DataInvalid, Panel, UnsafeArtifact
from alphaswarm.data.panel_file import load_panel, read_header, save_panel

VALUES = st.floats(allow_infinity=False, width=64)
NAMES = st.from_regex(r"[a-eg-km-su-z][a-z0-9_]{0,8}", fullmatch=True)
LABELS = st.sampled_from(["", "Tech", "Énergie", "a b", "0"])


@st.composite
def panels(draw: st.DrawFn) -> Panel:
    shape = (draw(st.integers(1, 5)), draw(st.integers(1, 4)))
    names = draw(
        st.lists(st.from_regex(r"[a-eg-km-su-z][a-z0-9_]{0,8}", fullmatch=True), min_size=1, max_size=3, unique=True)
    )
    fields = {name: draw(hnp.arrays(np.float64, shape, elements=VALUES)) for name in names}
    days = draw(st.lists(st.integers(0, 40_000), min_size=shape[0], max_size=shape[0], unique=True))
    groups = {}
    if draw(st.booleans()):
        groups["fixed"] = np.array(draw(st.lists(LABELS, min_size=shape[1], max_size=shape[1])))
    if draw(st.booleans()):
        count = shape[0] * shape[1]
        groups["moving"] = np.array(draw(st.lists(LABELS, min_size=count, max_size=count))).reshape(shape)
    return Panel.from_arrays(
        fields,
        np.array(sorted(days), "datetime64[D]"),
        draw(st.lists(st.text(min_size=1, max_size=5), min_size=shape[1], max_size=shape[1], unique=True)),
        draw(hnp.arrays(np.bool_, shape)),
        groups,
        {"name": "x", "caveats": ["ä", "b"], "adjusted": None, "periods_per_year": 252},
    )


@settings(max_examples=60, deadline=None)
@given(panel=panels())
def test_round_trip(panel: Panel, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("panel") / "p.npz"
    save_panel(path, panel)
    loaded = load_panel(path)
    assert loaded.digest == panel.digest
    assert loaded.symbols == panel.symbols
    assert dict(loaded.meta) == dict(panel.meta)
    np.testing.assert_array_equal(loaded.dates, panel.dates)
    np.testing.assert_array_equal(loaded.universe, panel.universe)
    assert loaded.fields.keys() == panel.fields.keys()
    for name, values in panel.fields.items():
        np.testing.assert_array_equal(loaded[name], values)
    for name, labels in panel.groups.items():
        np.testing.assert_array_equal(loaded.groups[name], labels)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory, us500: Panel) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "us500.npz"
    save_panel(path, us500)
    return path.read_bytes()


@pytest.fixture
def saved(tmp_path: Path, sound: bytes) -> Path:
    path = tmp_path / "us500.npz"
    path.write_bytes(sound)
    return path


def test_header_tells_without_the_numbers(saved: Path, us500: Panel) -> None:
    header = read_header(saved)
    assert header["digest"] == us500.digest
    assert (header["start"], header["end"], header["shape"]) == ("2009-08-21", "2010-08-20", [245, 524])
    assert header["fields"] == list(us500.fields)


def test_fixed_groups_are_stored_once(saved: Path) -> None:
    with np.load(saved) as archive:
        assert archive["group.sector"].shape == (524,)


@pytest.mark.parametrize("where", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.9999])
def test_a_flipped_byte_is_noticed(saved: Path, where: float) -> None:
    data = bytearray(saved.read_bytes())
    data[int(where * len(data))] ^= 0xFF
    saved.write_bytes(bytes(data))
    with pytest.raises(DataInvalid, match=r"us500\.npz"):
        load_panel(saved)


@pytest.mark.parametrize("keep", [0, 10, 1000, 1_000_000])
def test_a_truncated_file_is_noticed(saved: Path, keep: int) -> None:
    saved.write_bytes(saved.read_bytes()[:keep])
    for read in (load_panel, read_header):
        with pytest.raises(DataInvalid, match="damaged"):
            read(saved)


def _rewritten(path: Path, change: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (members | change).items():
            archive.writestr(name, data)


def _npy(array: np.ndarray, *, pickled: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=pickled)
    return buffer.getvalue()


def test_changed_content_is_noticed_even_with_a_sound_archive(saved: Path, us500: Panel) -> None:
    close = us500["close"].copy()
    close[3, 3] += 0.01
    _rewritten(saved, {"field.close.npy": _npy(close)})
    with pytest.raises(DataInvalid, match="content digest"):
        load_panel(saved)


def test_pickles_are_refused(saved: Path) -> None:
    _rewritten(saved, {"header.npy": _npy(np.array([{"format": "x"}], dtype=object), pickled=True)})
    with pytest.raises(UnsafeArtifact, match="pickled objects"):
        load_panel(saved)


def test_foreign_archives_are_refused(saved: Path) -> None:
    _rewritten(saved, {"header.npy": _npy(np.frombuffer(b'{"format":"other"}', np.uint8))})
    with pytest.raises(DataInvalid, match="alphaswarm-panel-1"):
        read_header(saved)


def test_a_bomb_is_refused_before_it_unpacks(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.npy", bytes(50_000_000))
    with pytest.raises(DataInvalid, match="would unpack to 50000000 bytes"):
        load_panel(path)


def test_meta_must_be_plain(tmp_path: Path) -> None:
    panel = Panel.from_arrays({"close": [[1.0]]}, ["2012-01-03"], ["A"], meta={"x": object()})
    with pytest.raises(DataInvalid):
        save_panel(tmp_path / "p.npz", panel)
    assert list(tmp_path.iterdir()) == []
