"""A process with limits: what goes in, what comes out, how each end is told. The walls: tests/hostile."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from alphaswarm.core import ProviderError
from alphaswarm.dsl.boxed import Box, run_boxed

WORKER = """
import os, sys, time
HOSTILE = {hostile}
SOURCE = "<program>"
def prepare():
    {prepare}
def place():
    return 3
def work(payload):
    {work}
"""
BOX = Box(memory=256 << 20, cpu=1, wall=20.0, output=1 << 12)


@pytest.fixture
def boxed(tmp_path):
    def run(work, *, prepare="pass", hostile=False, box=BOX, packages=(), payload=None):
        worker = tmp_path / "worker.py"
        worker.write_text(WORKER.format(work=work, prepare=prepare, hostile=hostile))
        return run_boxed(worker, payload or {}, box, packages)

    return run


@pytest.mark.parametrize("hostile", [False, True])
def test_the_payload_comes_back(boxed, hostile):
    payload = {"a": [1, 2.5, "x", None, {"b": True}], "long": "y" * 200_000}
    outcome = boxed("return {'n': len(payload['long']), 'a': payload['a']}", payload=payload, hostile=hostile)
    assert outcome.answer == {"n": 200_000, "a": payload["a"]}
    assert (outcome.fault, outcome.limit) == ("", False)


def test_it_sees_neither_environment_nor_files(boxed, monkeypatch):
    monkeypatch.setenv("SECRET", "x")
    outcome = boxed("return {'env': sorted(os.environ), 'cwd': os.listdir('.'), 'flags': list(sys.flags)}")
    assert set(outcome.answer["env"]) <= {"LC_CTYPE"}
    assert outcome.answer["cwd"] == []


def test_packages_are_found(boxed):
    outcome = boxed(
        "return {'name': pydantic.__name__}", prepare="global pydantic; import pydantic", packages=["pydantic"]
    )
    assert outcome.answer == {"name": "pydantic"}


def test_a_missing_package_is_said(boxed):
    with pytest.raises(ProviderError, match="no_such_package"):
        boxed("return {}", packages=["no_such_package"])


@pytest.mark.parametrize(
    ("work", "limit", "words"),
    [
        ("while True: pass", True, "1 seconds of processor"),
        ("x = ' ' * 10**9; return {}", True, "256 MB of memory"),
        ("return {'x': 'y' * 5000}", True, "4096 bytes"),
        ("return [1]", False, "can't be read"),
        ("return {'x': {1}}", False, "status 1"),
        ("os._exit(9)", False, "status 9"),
        ("os.abort()", False, "SIGABRT"),
    ],
)
def test_every_end_has_its_words(boxed, work, limit, words):
    outcome = boxed(work)
    assert outcome.answer is None
    assert outcome.limit is limit
    assert words in outcome.fault


def test_waiting_ends(boxed):
    outcome = boxed("time.sleep(60)", box=Box(memory=256 << 20, cpu=5, wall=1.0, output=4096))
    assert outcome.limit
    assert "more than 1 seconds" in outcome.fault


def test_a_child_that_reads_nothing_is_no_trouble(boxed):
    outcome = boxed("return {}", prepare="os._exit(4)", payload={"x": "y" * 900_000})
    assert "status 4" in outcome.fault


def test_the_line_of_an_endless_loop_is_told(boxed):
    work = "exec(compile('x = 1\\nwhile 1: x = 2', '<program>', 'exec'))"
    outcome = boxed(work)
    assert (outcome.limit, outcome.line) == (True, 2)


def test_the_line_of_what_is_forbidden_is_told(boxed):
    outcome = boxed("open('/etc/passwd')", hostile=True)
    assert (outcome.fault, outcome.line) == ("it tried what is forbidden (open)", 3)


def test_no_system_no_box(boxed, monkeypatch):
    monkeypatch.setattr("alphaswarm.dsl.boxed.os", SimpleNamespace(name="nt"))
    with pytest.raises(ProviderError, match="POSIX"):
        run_boxed(Path("x"), {}, BOX, [])


def test_no_interpreter_is_a_provider_error(boxed, monkeypatch):
    monkeypatch.setattr("alphaswarm.dsl.boxed.sys.executable", "/no/such/python")
    with pytest.raises(ProviderError, match="could be started"):
        boxed("return {}")
