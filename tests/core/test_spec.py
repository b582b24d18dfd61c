"""Specs: plain values only, and classes of this package only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from alphaswarm.core import Reason, SpecInvalid, TargetWeights, load_spec, resolve_class

BOMB = "a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]\n"


def test_yaml_and_json(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("a: 1\nb: [x, 2.5, null]\n")
    assert load_spec(path) == {"a": 1, "b": ["x", 2.5, None]}
    assert load_spec('{"a": {"b": true}}') == {"a": {"b": True}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, Reason.SPEC_NOT_ALLOWED),
        ("a: !!python/object/apply:os.system [id]", Reason.SPEC_NOT_ALLOWED),
        ("a: !!python/name:os.system", Reason.SPEC_NOT_ALLOWED),
        ("a: " + "[" * 60 + "]" * 60, Reason.SPEC_NOT_ALLOWED),
        ("a: " + "x" * 300_000, Reason.SPEC_NOT_ALLOWED),
        ("[1, 2]", Reason.SPEC_INVALID),
        ("1: 2", Reason.SPEC_INVALID),
        ("a: [1", Reason.SPEC_INVALID),
        ("", Reason.SPEC_INVALID),
        ("a: 1\n---\nb: 2", Reason.SPEC_INVALID),
    ],
)
def test_hostile_text_is_refused(text: str, reason: Reason) -> None:
    with pytest.raises(SpecInvalid) as caught:
        load_spec(text)
    assert caught.value.reason is reason


def test_unreadable_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecInvalid, match="can't be read"):
        load_spec(tmp_path / "absent.yaml")
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"a: " + b"x" * 10_000_000)
    with pytest.raises(SpecInvalid, match="at most"):
        load_spec(huge)


def test_a_class_of_the_package() -> None:
    spec = {"class": "TargetWeights", "module_path": "alphaswarm.core.weights"}
    assert resolve_class(spec) is TargetWeights


@pytest.mark.parametrize(
    ("module_path", "name"),
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("subprocess", "Popen"),
        ("alphaswarm", "TargetWeights"),
        ("alphaswarm.core.spec", "Path"),
        ("alphaswarm.core.spec.yaml", "SafeLoader"),
        ("alphaswarm..core", "X"),
        (".core", "X"),
        ("alphaswarm.core.__init__", "X"),
        ("alphaswarm.core.weights", "__class__"),
        ("alphaswarmx.evil", "X"),
        ("xmlrpc.server", "SimpleXMLRPCServer"),
    ],
)
def test_everything_else_is_refused_before_any_import(module_path: str, name: str) -> None:
    before = {module for module in sys.modules if not module.startswith("alphaswarm")}
    with pytest.raises(SpecInvalid):
        resolve_class({"class": name, "module_path": module_path})
    assert {module for module in sys.modules if not module.startswith("alphaswarm")} == before


@pytest.mark.parametrize("spec", [{}, {"class": "X"}, {"class": 1, "module_path": "alphaswarm.core.weights"}])
def test_both_texts_are_needed(spec: dict[str, object]) -> None:
    with pytest.raises(SpecInvalid, match="'class' and 'module_path'"):
        resolve_class(spec)
