"""A registry: one dict per kind, filled by a decorator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from alphaswarm.core.errors import UnknownName

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Name to object. A duplicate is an error; an unknown name lists the valid ones."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator: put the object under `name`."""

        def add(item: T) -> T:
            if name in self._items:
                raise ValueError(f"{self.kind} {name!r} is registered already")
            self._items[name] = item
            return item

        return add

    def __getitem__(self, name: str) -> T:
        """The object called `name`, or `UnknownName`."""
        if name not in self._items:
            raise UnknownName.of(self.kind, name, self._items)
        return self._items[name]

    def __contains__(self, name: object) -> bool:
        return name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._items))
