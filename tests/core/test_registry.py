"""Registry: duplicates are errors, unknown names list the valid."""

from __future__ import annotations

import pytest

from alphaswarm.core import Registry, UnknownName


def test_register_and_find() -> None:
    engines: Registry[type] = Registry("engine")

    @engines.register("vector")
    class Vector:
        pass

    assert engines["vector"] is Vector
    assert "vector" in engines
    assert list(engines) == ["vector"]
    with pytest.raises(ValueError, match="registered already"):
        engines.register("vector")(Vector)
    with pytest.raises(UnknownName, match=r"unknown engine 'vectr'; valid: vector; did you mean 'vector'\?"):
        engines["vectr"]
