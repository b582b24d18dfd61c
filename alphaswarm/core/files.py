"""Files that are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from alphaswarm.core.errors import StoreError

__all__ = ["atomic_write"]


def atomic_write(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: readers see the old or the new file, never a part.

    Temporary file in the same directory, fsync, rename, fsync of the directory.

    Raises:
        StoreError: the system refused (disk full, no right to write, ...); `path` holds the old or the new file.
    """
    try:
        _replace(path, data)
    except OSError as error:
        raise StoreError(f"{path} can't be written: {error.strerror or error}") from error


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):  # the error that is under way says more
            temporary.unlink(missing_ok=True)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
