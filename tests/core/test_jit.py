import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from alphaswarm.core.jit import cache_directory, jit

HEAD = "from alphaswarm.core.jit import jit\n"
CALLEE = HEAD + "@jit\ndef inner(x):\n    return x + {step}\n"
CALLER = HEAD + "from inner_kernel import inner\n@jit\ndef outer(x):\n    return 10 * inner(x)\n"
MAIN = "from outer_kernel import outer\nprint(outer(1.0), sum(outer.stats.cache_hits.values()))\n"


@pytest.fixture
def run(tmp_path):
    """Run MAIN in a process of its own: each one starts with what the cache holds."""
    (tmp_path / "outer_kernel.py").write_text(CALLER)
    (tmp_path / "main.py").write_text(MAIN)

    def call(step, cache):
        (tmp_path / "inner_kernel.py").write_text(CALLEE.format(step=step))
        done = subprocess.run(
            [sys.executable, "-B", "main.py"],
            cwd=tmp_path,
            env={"NUMBA_CACHE_DIR": str(cache), "PATH": "", "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        value, hits = done.stdout.split()
        return float(value), int(hits)

    return call


def test_a_kernel_is_compiled_once_and_again_when_a_callee_in_another_file_changes(run, tmp_path):
    cache = tmp_path / "cache"
    assert run(1.0, cache) == (20.0, 0)
    assert run(1.0, cache) == (20.0, 1)
    assert run(2.0, cache) == (30.0, 0)
    assert list(cache.rglob("*.nbi"))


def test_an_unwritable_cache_still_compiles(run, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    assert run(1.0, blocked / "sub")[0] == 20.0


def test_division_follows_numpy(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @jit
    def divide(a, b):
        return a / b

    assert divide(1.0, 0.0) == np.inf
    assert np.isnan(divide(0.0, 0.0))


def test_the_place_is_keyed_by_versions(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert cache_directory().parent == tmp_path
    assert "numba-" in cache_directory().name
    monkeypatch.delenv("NUMBA_CACHE_DIR")
    assert Path(cache_directory()).is_absolute()


def test_core_does_not_load_numba():
    assert importlib.util.find_spec("numba") is not None
    code = "import sys, alphaswarm.core; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
