"""The slow, obvious meaning of every operator; the compiled kernels are held to it."""

from __future__ import annotations

from collections.abc import Callable

from alphaswarm.dsl.reference.base import Series as _Series
from alphaswarm.dsl.reference.cross import CROSS as _CROSS
from alphaswarm.dsl.reference.elementwise import ELEMENTWISE as _ELEMENTWISE
from alphaswarm.dsl.reference.pairs import PAIRS as _PAIRS
from alphaswarm.dsl.reference.recursive import RECURSIVE as _RECURSIVE
from alphaswarm.dsl.reference.rolling import ROLLING as _ROLLING
from alphaswarm.dsl.reference.shift import SHIFT as _SHIFT

__all__ = ["REFERENCE"]

REFERENCE: dict[str, Callable[..., _Series]] = {
    **_ELEMENTWISE,
    **_SHIFT,
    **_ROLLING,
    **_PAIRS,
    **_RECURSIVE,
    **_CROSS,
}
