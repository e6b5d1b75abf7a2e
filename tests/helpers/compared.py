"""Numbers that count how often they are compared: what looks through all of them is found out."""

from __future__ import annotations


class Compared(int):
    """A number; all count together."""

    times = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        """Count, and compare."""
        Compared.times += 1
        return int.__eq__(self, other) is True
