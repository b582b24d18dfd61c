"""The dialects by name."""

from __future__ import annotations

from alphaswarm.core.errors import UnknownName
from alphaswarm.dsl.dialects.dialect import NATIVE, Dialect
from alphaswarm.dsl.dialects.qlib import QLIB
from alphaswarm.dsl.dialects.worldquant import WORLDQUANT

__all__ = ["DIALECTS", "dialect_of"]

DIALECTS: dict[str, Dialect] = {dialect.name: dialect for dialect in (NATIVE, QLIB, WORLDQUANT)}


def dialect_of(name: str) -> Dialect:
    """The dialect of this name.

    Raises:
        UnknownName: there is none; the message lists those there are.
    """
    if name not in DIALECTS:
        raise UnknownName.of("dialect", name, DIALECTS)
    return DIALECTS[name]
