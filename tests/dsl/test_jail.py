"""The inside of the box where it can be looked at from outside: limits as the child sees them."""

import sys

import pytest

from alphaswarm.dsl import jail
from alphaswarm.dsl.boxed import Box, run_boxed

WORKER = """
import os, resource, sys
HOSTILE = {hostile}
SOURCE = "<program>"
def prepare():
    pass
def place():
    return 0
def limit(name):
    return list(resource.getrlimit(getattr(resource, name)))
LIMITS = {{name: limit(name) for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_CORE", "RLIMIT_NPROC")}}
STATUS = open("/proc/self/status").read() if sys.platform == "linux" else "NoNewPrivs:\\t1"
def work(payload):
    return {{"limits": LIMITS, "status": STATUS, "path": sys.path, "modules": sorted(sys.modules)}}
"""


@pytest.fixture
def inside(tmp_path):
    def look(hostile):
        worker = tmp_path / "worker.py"
        worker.write_text(WORKER.format(hostile=hostile))
        return run_boxed(worker, {}, Box(memory=1 << 28, cpu=3, wall=20.0, output=1 << 16), []).answer

    return look


def test_limits_hold_from_the_start(inside):
    limits = inside(False)["limits"]
    assert limits["RLIMIT_CPU"] == [3, 4]
    assert limits["RLIMIT_FSIZE"] == limits["RLIMIT_CORE"] == limits["RLIMIT_NPROC"] == [0, 0]
    if sys.platform == "linux":
        assert limits["RLIMIT_AS"] == [1 << 28, 1 << 28]


def test_no_new_privileges(inside):
    assert "NoNewPrivs:\t1" in inside(False)["status"]


def test_a_hostile_worker_finds_no_way_to_import(inside):
    there = inside(True)
    assert there["path"] == []
    assert not {"ctypes", "_ctypes", "resource", "subprocess", "socket"} & set(there["modules"])
    assert not any(name.startswith("alphaswarm") for name in there["modules"])


def test_the_lists_are_short():
    assert len(jail.HARMLESS) <= 4
    assert len(jail.CALLS) <= 16
    assert not {"open", "openat", "read", "socket", "clone", "execve", "kill", "ptrace"} & set(jail.CALLS)
