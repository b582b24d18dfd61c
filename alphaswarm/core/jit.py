"""`jit`: compile a kernel to machine code once, and keep the result between processes.

Import from here, not from `alphaswarm.core`: numba takes a moment to load.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import types
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic
from platformdirs import user_cache_path

import alphaswarm

__all__ = ["cache_directory", "entry", "jit", "parallel", "part", "sums"]

REORDERED = {"reassoc", "contract", "nsz"}

P = ParamSpec("P")
R = TypeVar("R")


def jit(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba in nopython mode, at its first call for each set of types.

    Divisions follow numpy (no exception on zero), the interpreter lock is released, and floats
    keep their strict order, so that results are the same on every run. Compiled code is kept in
    `cache_directory()`; where nothing is writable it is compiled anew in each process.

    numba looks only at the file of `function` when it asks whether kept code is still valid. So a
    kernel that calls kernels of other files must import them by name: their text is then part
    of the key.
    """
    return _kept(function)


def parallel(function: Callable[P, R]) -> Callable[P, R]:
    """As `jit`, with ``numba.prange`` spread over threads.

    numba's key of kept code does not tell parallel from serial code: give the function a name of its own.
    """
    return _kept(function, parallel=True)


def _kept(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    compile_: Any = numba.njit
    try:
        with _cache_in(cache_directory() / _foreign_key(function)):
            compiled = compile_(function, cache=True, error_model="numpy", nogil=True, **options)
    except RuntimeError:  # numba found no place to write
        compiled = compile_(function, error_model="numpy", nogil=True, **options)
    return cast("Callable[P, R]", compiled)


def part(function: Callable[P, R]) -> Callable[P, R]:
    """A piece of kernels: compiled into each `entry` or `jit` that calls it, and kept only there."""
    return cast("Callable[P, R]", numba.njit(function, error_model="numpy", nogil=True))


def sums(function: Callable[P, R]) -> Callable[P, R]:
    """As `part`, with sums added in whatever order fits vector registers: the last bits hang on the processor."""
    return cast("Callable[P, R]", numba.njit(function, error_model="numpy", nogil=True, fastmath=REORDERED))


def entry(function: Callable[..., None], *pointers: str) -> int:
    """The address of `function` compiled as a C function of typed pointers that returns nothing.

    Compiled at the first call for these types and kept, as `jit` does; other compiled code may call the
    address, knowing no more than the number of arguments.

    Args:
        function: what to compile.
        pointers: what each argument points to, such as "float32" or "int64".
    """
    key = (function, pointers)
    if key not in _ENTRIES:
        arguments = [types.CPointer(getattr(types, name)) for name in pointers]
        kind = types.void(*arguments)
        try:
            with _cache_in(cache_directory() / _foreign_key(function)):
                compiled = numba.cfunc(kind, cache=True, error_model="numpy")(function)
        except RuntimeError:  # numba found no place to write
            compiled = numba.cfunc(kind, error_model="numpy")(function)
        _ENTRIES[key] = compiled
    return int(_ENTRIES[key].address)


# Compiled code lives as long as the object that made it.
_ENTRIES: dict[tuple[Callable[..., None], tuple[str, ...]], Any] = {}


def cache_directory() -> Path:
    """Where compiled kernels lie: under ``NUMBA_CACHE_DIR``, else in the user's cache, by version."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    root = Path(chosen) if chosen else user_cache_path("alphaswarm") / "kernels"
    return root / f"alphaswarm-{alphaswarm.__version__}-numba-{numba.__version__}"


@contextmanager
def _cache_in(directory: Path) -> Iterator[None]:
    # numba reads this setting while it decorates; other packages' kernels keep their own place.
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(directory)
    try:
        yield
    finally:
        settings.CACHE_DIR = before


def _foreign_key(function: Callable[..., object]) -> str:
    """A key made of the source files of the kernels that `function` can reach in other files."""
    own = inspect.getfile(function)
    files: set[str] = set()
    waiting: list[Callable[..., object]] = [function]
    seen: set[int] = set()
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        files.add(inspect.getfile(current))
        reachable = inspect.getclosurevars(current)
        for value in (*reachable.globals.values(), *reachable.nonlocals.values()):
            if isinstance(value, Dispatcher):
                waiting.append(value.py_func)
            elif isinstance(value, _Intrinsic):
                files.add(inspect.getfile(value._defn))
    key = hashlib.sha256()
    for file in sorted(files - {own}):
        key.update(Path(file).read_bytes())
    return key.hexdigest()[:12] if len(files) > 1 else "own"
