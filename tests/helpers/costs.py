"""Numbers and lists that show where more is looked at than has to be, without a clock."""

from __future__ import annotations

from typing import Any


class Compared(int):
    """A number that counts how often any of its kind is compared."""

    times = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        """Count, and compare."""
        Compared.times += 1
        return int.__eq__(self, other) is True


class Unread(list[Any]):
    """A list that has a length and ends, but may not be gone through."""

    def __iter__(self) -> Any:
        """Fail."""
        raise AssertionError("the whole list is read")
