"""A panel as one file: npz without pickle, a JSON header inside it, a digest checked at every load."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alphaswarm.core import DataInvalid, Panel, UnsafeArtifact, atomic_write, canonical_json

__all__ = ["load_panel", "read_header", "save_panel"]

FORMAT = "alphaswarm-panel-1"
HEADER = "header"
# Members are stored, not compressed, so what the archive unpacks to is about its size on disk.
MAX_UNPACKED_RATIO = 2
_DAMAGED = (zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError, EOFError, OSError, MemoryError)


def save_panel(path: Path, panel: Panel) -> None:
    """Write `panel` to `path`, whole or not at all.

    Raises:
        DataInvalid: `panel.meta` holds something JSON has not.
        OSError: the system refused; `path` is unchanged.
    """
    groups = {name: _labels_and_codes(panel, name) for name in panel.groups}
    header = {
        "format": FORMAT,
        "digest": panel.digest,
        "shape": list(panel.shape),
        "start": str(panel.dates[0].astype("datetime64[D]")),
        "end": str(panel.dates[-1].astype("datetime64[D]")),
        "symbols": list(panel.symbols),
        "fields": list(panel.fields),
        "groups": {name: labels for name, (labels, _) in groups.items()},
        "meta": dict(panel.meta),
    }
    arrays: dict[str, NDArray[Any]] = {
        HEADER: np.frombuffer(canonical_json(header), np.uint8),
        "dates": panel.dates.astype(np.int64),
        "universe": np.packbits(panel.universe),
    }
    arrays |= {f"field.{name}": values for name, values in panel.fields.items()}
    arrays |= {f"group.{name}": codes for name, (_, codes) in groups.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]  # the stub reads the mapping as `allow_pickle`
    atomic_write(path, buffer.getvalue())


def load_panel(path: Path) -> Panel:
    """Read what `save_panel` wrote.

    Raises:
        DataInvalid: damaged, foreign, or its content is not what its digest says.
        UnsafeArtifact: it holds pickled objects.
    """
    try:
        with _archive(path) as archive:
            header = _header(archive, path)
            shape = (int(header["shape"][0]), int(header["shape"][1]))
            packed = archive["universe"]
            panel = Panel.from_arrays(
                {name: archive[f"field.{name}"] for name in header["fields"]},
                archive["dates"].view("datetime64[ns]"),
                header["symbols"],
                np.unpackbits(packed, count=shape[0] * shape[1]).reshape(shape).astype(np.bool_),
                {
                    name: np.array([*labels, ""])[archive[f"group.{name}"]]  # code -1 is the "" at the end
                    for name, labels in header["groups"].items()
                },
                header["meta"],
            )
    except DataInvalid:
        raise
    except _DAMAGED as error:
        raise _damaged(path, error) from None
    if panel.digest != header["digest"]:
        raise _damaged(path, f"content digest {panel.digest[:12]} is not {str(header['digest'])[:12]}")
    return panel


def read_header(path: Path, *, whole: bool = False) -> Mapping[str, Any]:
    """Everything but the numbers: digest, shape, start, end, symbols, fields, groups, meta.

    Args:
        path: the file.
        whole: hold the numbers against their checksums too, which takes 2 ms a MB.

    Raises:
        DataInvalid: damaged or foreign.
    """
    try:
        with _archive(path) as archive:
            header = _header(archive, path)
            bad = archive.zip.testzip() if whole and archive.zip else None
    except DataInvalid:
        raise
    except _DAMAGED as error:
        raise _damaged(path, error) from None
    if bad is not None:
        raise _damaged(path, f"bad checksum of {bad.removesuffix('.npy')}")
    return header


def _archive(path: Path) -> np.lib.npyio.NpzFile:
    with zipfile.ZipFile(path) as listing:
        unpacked = sum(member.file_size for member in listing.infolist())
    if unpacked > MAX_UNPACKED_RATIO * path.stat().st_size:
        raise DataInvalid(
            f"panel file {path.name} would unpack to {unpacked} bytes: it was not written by this program"
        )
    archive = np.load(path, allow_pickle=False)
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise DataInvalid(f"panel file {path.name} is no npz archive")
    return archive


def _header(archive: np.lib.npyio.NpzFile, path: Path) -> dict[str, Any]:
    header = json.loads(archive[HEADER].tobytes())
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else type(header).__name__
        raise DataInvalid(f"panel file {path.name} must be of format {FORMAT}, got {found!r}")
    return header


def _labels_and_codes(panel: Panel, name: str) -> tuple[list[str], NDArray[np.int32]]:
    labels = [label for label in np.unique(panel.groups[name]).tolist() if label]
    codes = panel.group_codes(name)
    fixed = (codes == codes[0]).all()
    return labels, codes[0] if fixed else codes


def _damaged(path: Path, why: object) -> DataInvalid | UnsafeArtifact:
    if "Object arrays" in str(why):  # so numpy refuses them
        return UnsafeArtifact(f"panel file {path.name} holds pickled objects, and reading those runs code from it")
    return DataInvalid(f"panel file {path.name} is damaged ({why}); fetch or import it again")
