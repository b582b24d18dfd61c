"""Specifications: YAML or JSON to plain data, and from names to classes of this package only."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import yaml

from alphaswarm.core.errors import Reason, SpecInvalid

__all__ = ["load_spec", "resolve_class"]

MAX_BYTES = 256 * 1024
MAX_DEPTH = 24
ENTRY_POINT_GROUP = "alphaswarm.components"
_MODULE = re.compile(r"alphaswarm(\.[a-z][a-z0-9_]*)+")
_CLASS = re.compile(r"[A-Z][A-Za-z0-9]*")


class _PlainLoader(yaml.SafeLoader):
    """Safe YAML without aliases (they multiply) and with a cap on depth."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise SpecInvalid("a spec must not use YAML aliases; write the value out", Reason.SPEC_NOT_ALLOWED)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise SpecInvalid(f"a spec must nest at most {MAX_DEPTH} deep", Reason.SPEC_NOT_ALLOWED)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def load_spec(source: Path | str) -> dict[str, Any]:
    """Read a spec (a path, or the text itself) as a mapping of plain values.

    Raises:
        SpecInvalid: unreadable, too large, too deep, aliases, Python tags, or no mapping.
    """
    try:
        text = source.read_text("utf-8") if isinstance(source, Path) and source.stat().st_size <= MAX_BYTES else source
    except (OSError, UnicodeDecodeError) as error:
        raise SpecInvalid(f"the spec can't be read: {error}") from None
    if isinstance(text, Path) or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise SpecInvalid(f"a spec must be at most {MAX_BYTES} bytes", Reason.SPEC_NOT_ALLOWED)
    try:
        loaded = yaml.load(text, Loader=_PlainLoader)  # noqa: S506 - a SafeLoader, narrowed
    except yaml.constructor.ConstructorError as error:
        raise SpecInvalid(f"a spec holds plain values only: {error.problem}", Reason.SPEC_NOT_ALLOWED) from None
    except yaml.YAMLError as error:
        raise SpecInvalid(f"the spec is no valid YAML or JSON: {error}") from None
    if not isinstance(loaded, dict) or not all(isinstance(key, str) for key in loaded):
        raise SpecInvalid(f"a spec must be a mapping with text keys, got {type(loaded).__name__}")
    return loaded


def resolve_class(spec: Mapping[str, Any]) -> type:
    """The class that ``{class: Name, module_path: alphaswarm.x.y}`` names.

    Only modules of this package, or ``package:Class`` declared under the entry point group
    ``alphaswarm.components``, are considered; anything else is refused before any import.

    Raises:
        SpecInvalid: not allowed, or there is no such class.
    """
    name, module_path = spec.get("class"), spec.get("module_path")
    if not isinstance(name, str) or not isinstance(module_path, str):
        raise SpecInvalid("a component needs the texts 'class' and 'module_path'")
    declared = {f"{point.value}": point for point in entry_points(group=ENTRY_POINT_GROUP)}
    point = declared.get(f"{module_path}:{name}")
    if point is not None:
        found = point.load()
    elif _MODULE.fullmatch(module_path) and _CLASS.fullmatch(name):
        try:
            module = importlib.import_module(module_path)
        except ModuleNotFoundError as error:
            raise SpecInvalid(f"there is no module {module_path!r}: {error}") from None
        found = getattr(module, name, None) if name in getattr(module, "__all__", ()) else None
    else:
        raise SpecInvalid(
            f"a component must lie inside 'alphaswarm.' or be a declared entry point, got {module_path!r} {name!r}",
            Reason.SPEC_NOT_ALLOWED,
        )
    if not isinstance(found, type):
        raise SpecInvalid(f"{module_path!r} exports no class {name!r}", Reason.SPEC_NOT_ALLOWED)
    return found
