"""Copies of states that are plain values."""

from __future__ import annotations

from typing import Any, ClassVar, Self


class CopiedState:
    """A dataclass with slots whose copies share nothing that changes."""

    __slots__: ClassVar[tuple[str, ...]] = ()

    def copy(self) -> Self:
        """Return a copy."""
        found = object.__new__(type(self))
        for name in self.__slots__:
            setattr(found, name, _copied(getattr(self, name)))
        return found

    def __deepcopy__(self, _memo: Any) -> Self:
        """Return a copy, faster than by looking at every part."""
        return self.copy()


def _copied(value: Any) -> Any:
    """Return a part of a state that shares nothing with the part given."""
    if isinstance(value, dict):
        return value.copy()
    if not isinstance(value, list):
        return value
    return [*map(_copied, value)] if value and isinstance(value[0], list | dict) else value[:]
